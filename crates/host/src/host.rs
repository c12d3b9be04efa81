//! A [`Host`], and the [`Process`]es on it.

use crate::{
    AttachSpec, Cpus, ExitReport, HostError, MachineUsage, PageCacheReport, PageCacheRequest, ProcessSpec,
    Topology, Usage,
};
use prony_records::{Environment, Footprint, Warning};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A place where processes run.
pub trait Host: Send + Sync {
    fn topology(&self) -> &Topology;

    /// The address at which its services are reachable.
    fn address(&self) -> &str;

    /// A port of [`Host::address`] that nothing listens on.
    fn free_port(&self) -> Result<u16, HostError>;

    /// Starts a process. The process ends when the returned value is dropped or when this process ends, whichever is first.
    fn start(&self, spec: &ProcessSpec) -> Result<Box<dyn Process>, HostError>;

    /// Attaches to a process that already runs. Requests to pause or stop it have no effect.
    fn attach(&self, spec: &AttachSpec) -> Result<Box<dyn Process>, HostError>;

    /// Describes the hardware and software of this host. Slow: takes some milliseconds.
    fn environment(&self) -> Environment;

    /// Measures the whole machine for `window`. Call it while nothing of ours runs: it measures the noise of other programs.
    fn watch(&self, window: Duration) -> Option<MachineUsage>;

    /// Memory that new processes can use without swapping out others, bytes; `None` if unknown.
    fn memory_available_bytes(&self) -> Option<u64>;

    /// Counts the pages of files in the page cache, and removes them from it before if that is requested.
    fn page_cache(&self, request: &PageCacheRequest) -> Result<PageCacheReport, HostError>;

    /// Keeps the calling process off the CPUs of a service.
    fn pin_self(&self, cpus: &Cpus) -> Result<(), HostError>;
}

/// A started process with everything below it. Dropping it stops it as [`Process::stop`] does.
pub trait Process: Send {
    /// The process id on its host.
    fn pid(&self) -> u32;

    /// The address at which it is reachable from here, if it has its own network; otherwise [`Host::address`] applies.
    fn address(&self) -> Option<&str>;

    /// The time since it was started.
    fn age(&self) -> Duration;

    /// Requested settings that are not in force.
    fn warnings(&self) -> &[Warning];

    /// Standard input and output of a process started with [`Stdio::Piped`](crate::Stdio::Piped). Returns them once.
    fn take_pipes(&mut self) -> Option<(Box<dyn Write + Send>, Box<dyn Read + Send>)>;

    /// How it ended, if it has. `Ending::left` is the number of processes below it that still run.
    fn ended(&mut self) -> Option<ExitReport>;

    /// Registers a callback for state changes that happen without a request, after which [`Process::ended`] and
    /// [`Process::warnings`] may return something new. `false`: the callback is never called, and the caller must poll.
    fn on_news(&mut self, tell: Box<dyn Fn() + Send>) -> bool {
        drop(tell);
        false
    }

    /// Memory that it and everything below it uses now, bytes.
    fn memory_bytes(&mut self) -> Option<u64>;

    /// CPU time and memory that it and everything below it has used until now.
    fn footprint(&mut self) -> Footprint;

    /// The regular files that it and everything below it has open or mapped now; none for a container, whose files are its own.
    fn used_files(&mut self) -> Vec<PathBuf>;

    /// Freezes it and everything below it: memory and connections stay, but it gets no CPU time.
    fn rest(&mut self) -> Result<(), HostError>;

    /// Resumes it after [`Process::rest`].
    fn wake(&mut self) -> Result<(), HostError>;

    /// Starts the window in which resources are counted.
    fn begin_window(&mut self) -> Result<(), HostError>;

    /// Ends the window and returns the resources used in it.
    fn end_window(&mut self) -> Result<Usage, HostError>;

    /// Ends it and everything below it: TERM, then KILL after the grace time. The error means that the ending is unknown, not
    /// that the process still runs.
    fn stop(&mut self) -> Result<ExitReport, HostError>;

    /// The last lines of its log.
    fn log_tail(&self, lines: usize) -> Vec<String>;
}

/// A process that already runs at an unknown place: it is reachable, and nothing else is known about it.
#[derive(Debug, Clone, Copy)]
pub struct UnmonitoredProcess {
    since: Instant,
}

impl UnmonitoredProcess {
    pub fn now() -> Self {
        Self {
            since: Instant::now(),
        }
    }
}

impl Process for UnmonitoredProcess {
    fn pid(&self) -> u32 {
        0
    }

    fn address(&self) -> Option<&str> {
        None
    }

    fn age(&self) -> Duration {
        self.since.elapsed()
    }

    fn warnings(&self) -> &[Warning] {
        &[]
    }

    fn take_pipes(&mut self) -> Option<(Box<dyn Write + Send>, Box<dyn Read + Send>)> {
        None
    }

    fn ended(&mut self) -> Option<ExitReport> {
        None
    }

    fn memory_bytes(&mut self) -> Option<u64> {
        None
    }

    fn footprint(&mut self) -> Footprint {
        Footprint::default()
    }

    fn used_files(&mut self) -> Vec<PathBuf> {
        Vec::new()
    }

    fn rest(&mut self) -> Result<(), HostError> {
        Ok(())
    }

    fn wake(&mut self) -> Result<(), HostError> {
        Ok(())
    }

    fn begin_window(&mut self) -> Result<(), HostError> {
        Ok(())
    }

    fn end_window(&mut self) -> Result<Usage, HostError> {
        Ok(Usage::default())
    }

    fn stop(&mut self) -> Result<ExitReport, HostError> {
        Ok(ExitReport::default())
    }

    fn log_tail(&self, _: usize) -> Vec<String> {
        Vec::new()
    }
}
