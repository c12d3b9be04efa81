//! A [`Host`], and the [`Process`]es on it.

use crate::{AttachSpec, Cpus, Ending, HostError, MachineUsage, ProcessSpec, Topology, Usage};
use prony_records::{Environment, Warning};
use std::io::{Read, Write};
use std::time::{Duration, Instant};

/// A place where processes run.
pub trait Host: Send + Sync {
    /// Its CPUs.
    fn topology(&self) -> &Topology;

    /// Where its services are reached.
    fn address(&self) -> &str;

    /// A port of [`Host::address`] that nothing listens on.
    fn free_port(&self) -> Result<u16, HostError>;

    /// Starts a process. It ends with the returned value, or with this process, whichever is first.
    fn start(&self, spec: &ProcessSpec) -> Result<Box<dyn Process>, HostError>;

    /// Looks at a process that runs already. It runs on whatever the returned value is told: to rest, to stop.
    fn attach(&self, spec: &AttachSpec) -> Result<Box<dyn Process>, HostError>;

    /// Where and with what processes run here. Slow: some milliseconds.
    fn environment(&self) -> Environment;

    /// What the whole machine did in `window`, while nothing of ours runs: the noise of the others.
    fn watch(&self, window: Duration) -> Option<MachineUsage>;

    /// Memory that new processes can have without others being pushed out, bytes; `None` where it is not known.
    fn memory_available_bytes(&self) -> Option<u64>;

    /// Keeps the calling process off the CPUs of a service.
    fn pin_self(&self, cpus: &Cpus) -> Result<(), HostError>;
}

/// A started process with everything below it. Dropping it stops it as [`Process::stop`] does.
pub trait Process: Send {
    /// Its process id on its host.
    fn pid(&self) -> u32;

    /// Where it is reached from here, where it has a network of its own; else [`Host::address`] holds.
    fn address(&self) -> Option<&str>;

    /// How long it has been running.
    fn age(&self) -> Duration;

    /// What was asked for and is not in force.
    fn warnings(&self) -> &[Warning];

    /// Its standard input and output, once, where the spec said [`Stdio::Piped`](crate::Stdio::Piped).
    fn take_pipes(&mut self) -> Option<(Box<dyn Write + Send>, Box<dyn Read + Send>)>;

    /// How it ended, where it has. `Ending::left` says whether processes below it still run.
    fn ended(&mut self) -> Option<Ending>;

    /// From now on `tell` is called when something happens to it unasked, so that [`Process::ended`] and
    /// [`Process::warnings`] may say something new. `false`: it never is, and they must be asked from time to time.
    fn on_news(&mut self, tell: Box<dyn Fn() + Send>) -> bool {
        drop(tell);
        false
    }

    /// Memory that it and everything below it holds now, bytes.
    fn memory_bytes(&mut self) -> Option<u64>;

    /// Makes it and everything below it stand still: it keeps its memory and its connections and gets no CPU time.
    fn rest(&mut self) -> Result<(), HostError>;

    /// Lets it go on after [`Process::rest`].
    fn wake(&mut self) -> Result<(), HostError>;

    /// From here on resources count.
    fn begin_window(&mut self) -> Result<(), HostError>;

    /// Up to here resources count.
    fn end_window(&mut self) -> Result<Usage, HostError>;

    /// Ends it and everything below it: TERM, and KILL after the grace time. Says how it ended; never fails to end it.
    fn stop(&mut self) -> Result<Ending, HostError>;

    /// The last lines of its log.
    fn log_tail(&self, lines: usize) -> Vec<String>;
}

/// A process that runs already, nobody knows where: it is reached, and that is all.
#[derive(Debug, Clone, Copy)]
pub struct Unseen {
    since: Instant,
}

impl Unseen {
    /// From now on.
    pub fn now() -> Self {
        Self {
            since: Instant::now(),
        }
    }
}

impl Process for Unseen {
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

    fn ended(&mut self) -> Option<Ending> {
        None
    }

    fn memory_bytes(&mut self) -> Option<u64> {
        None
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

    fn stop(&mut self) -> Result<Ending, HostError> {
        Ok(Ending::default())
    }

    fn log_tail(&self, _: usize) -> Vec<String> {
        Vec::new()
    }
}
