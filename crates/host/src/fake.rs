//! A host without a machine, for tests of the crates above: its processes return preset values.

use crate::{
    AttachSpec, Cpus, ExitReport, Host, HostError, MachineUsage, PageCacheReport, PageCacheRequest, Process,
    ProcessSpec, Topology, Usage, topology::Core,
};
use prony_records::{Environment, Footprint, Warning};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A host whose processes return preset values.
#[derive(Debug, Clone)]
pub struct FakeHost {
    topology: Topology,
    behaviour: Arc<Mutex<FakeProcess>>,
    started: Arc<Mutex<Vec<ProcessSpec>>>,
    environments: Arc<AtomicUsize>,
    port: u16,
}

/// The behaviour of each process of a [`FakeHost`].
#[derive(Debug, Clone, Default)]
pub struct FakeProcess {
    /// It has already ended, like this.
    pub ends: Option<ExitReport>,
    /// How it ends when it is stopped.
    pub stops: ExitReport,
    /// What it uses in a window.
    pub usage: Usage,
    /// What it has used when it is asked.
    pub footprint: Footprint,
    /// What is in the page cache of the files of its host.
    pub page_cache: PageCacheReport,
    /// The lines of its log.
    pub log: Vec<String>,
    /// Requested settings that are not in force.
    pub warnings: Vec<Warning>,
    /// It cannot be started, for this reason.
    pub fails: Option<String>,
    /// Whether a window is open.
    pub has_window: bool,
}

impl FakeHost {
    /// Creates a host with `cores` cores of one CPU each, where every process listens on `port`. The test may serve that port.
    pub fn new(cores: usize, port: u16) -> Self {
        let core = |core: usize| Core {
            node: 0,
            package: 0,
            core: core as u32,
            cpus: vec![core],
        };
        Self {
            topology: Topology {
                cores: (0..cores).map(core).collect(),
            },
            behaviour: Arc::default(),
            started: Arc::default(),
            environments: Arc::default(),
            port,
        }
    }

    /// Sets the behaviour of all processes from now on.
    pub fn set(&self, behaviour: FakeProcess) {
        *self.behaviour.lock().unwrap_or_else(PoisonError::into_inner) = behaviour;
    }

    /// How many times [`Host::environment`] was called.
    pub fn environments_read(&self) -> usize {
        self.environments.load(Ordering::Relaxed)
    }

    /// The specs of all processes started until now.
    pub fn started(&self) -> Vec<ProcessSpec> {
        self.started
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Host for FakeHost {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn address(&self) -> &'static str {
        "127.0.0.1"
    }

    fn free_port(&self) -> Result<u16, HostError> {
        Ok(self.port)
    }

    fn start(&self, spec: &ProcessSpec) -> Result<Box<dyn Process>, HostError> {
        self.started
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(spec.clone());
        let behaviour = self
            .behaviour
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        match &behaviour.fails {
            Some(reason) => Err(HostError::Start {
                name: spec.name.clone(),
                reason: reason.clone(),
            }),
            None => Ok(Box::new(behaviour)),
        }
    }

    fn attach(&self, _: &AttachSpec) -> Result<Box<dyn Process>, HostError> {
        let behaviour = self.behaviour.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Box::new(behaviour.clone()))
    }

    fn environment(&self) -> Environment {
        self.environments.fetch_add(1, Ordering::Relaxed);
        Environment::default()
    }

    fn watch(&self, window: Duration) -> Option<MachineUsage> {
        Some(MachineUsage {
            window_ns: window.as_nanos() as u64,
            cpus: self.topology.cores.len() as u32,
            ..MachineUsage::default()
        })
    }

    fn memory_available_bytes(&self) -> Option<u64> {
        None
    }

    fn page_cache(&self, _: &PageCacheRequest) -> Result<PageCacheReport, HostError> {
        let behaviour = self.behaviour.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(behaviour.page_cache.clone())
    }

    fn pin_self(&self, _: &Cpus) -> Result<(), HostError> {
        Ok(())
    }
}

impl Process for FakeProcess {
    fn pid(&self) -> u32 {
        1
    }

    fn address(&self) -> Option<&str> {
        None
    }

    fn age(&self) -> Duration {
        Duration::from_millis(5)
    }

    fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn take_pipes(&mut self) -> Option<(Box<dyn Write + Send>, Box<dyn Read + Send>)> {
        None
    }

    fn ended(&mut self) -> Option<ExitReport> {
        self.ends.clone()
    }

    fn memory_bytes(&mut self) -> Option<u64> {
        self.usage.resources.memory_bytes_mean
    }

    fn footprint(&mut self) -> Footprint {
        self.footprint
    }

    fn used_files(&mut self) -> Vec<PathBuf> {
        self.page_cache
            .files
            .iter()
            .map(|file| file.path.clone())
            .collect()
    }

    /// # Panics
    /// If a window is open: its probe of the CPUs would go on.
    fn rest(&mut self) -> Result<(), HostError> {
        assert!(!self.has_window, "a process rests within a window");
        Ok(())
    }

    fn wake(&mut self) -> Result<(), HostError> {
        Ok(())
    }

    fn begin_window(&mut self) -> Result<(), HostError> {
        self.has_window = true;
        Ok(())
    }

    fn end_window(&mut self) -> Result<Usage, HostError> {
        self.has_window = false;
        Ok(self.usage.clone())
    }

    fn stop(&mut self) -> Result<ExitReport, HostError> {
        Ok(self.ends.clone().unwrap_or_else(|| self.stops.clone()))
    }

    fn log_tail(&self, lines: usize) -> Vec<String> {
        self.log[self.log.len().saturating_sub(lines)..].to_vec()
    }
}
