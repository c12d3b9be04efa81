//! A remote host that can be reconnected after its connection was lost.

use prony_host::{
    AttachSpec, ClockSample, Connect, Cpus, Host, HostError, MachineUsage, PageCacheReport, PageCacheRequest,
    Process, ProcessSpec, Progress, Remote, RemoteClaim, Topology, Transport,
};
use prony_records::Environment;
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

/// How long reconnecting is retried. The agent releases its CPUs when its lease ends, which is earlier; a network that is still
/// down after this time will rarely be back soon.
const AGAIN: Duration = Duration::from_secs(15);
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(250);

/// A host that is reached through an agent on it, over one connection at a time.
///
/// Its processes are lost with the connection. `again` opens a new connection with the same CPUs claimed, which all later calls
/// use.
pub struct ReconnectingHost {
    connect: Connect,
    topology: Topology,
    address: String,
    now: RwLock<CurrentConnection>,
    /// Declared last so that it is dropped last: dropping it may remove the host, for example a pod.
    transport: Box<dyn Transport>,
}

/// The current connection and the CPUs that are claimed over it.
struct CurrentConnection {
    remote: Remote,
    claimed: Option<(Cpus, RemoteClaim)>,
}

impl ReconnectingHost {
    /// Connects to a host. `tell` reports the progress of copying prony's executable to the host, if that is necessary.
    pub(crate) fn first(
        connect: Connect,
        transport: Box<dyn Transport>,
        tell: &dyn Fn(Progress),
    ) -> Result<Self, HostError> {
        let remote = Remote::connect(&connect, &*transport, tell)?;
        Ok(Self {
            topology: remote.topology().clone(),
            address: remote.address().to_owned(),
            connect,
            transport,
            now: RwLock::new(CurrentConnection {
                remote,
                claimed: None,
            }),
        })
    }

    /// The current connection. It is closed when its last clone is dropped.
    pub fn remote(&self) -> Remote {
        self.with(Remote::clone)
    }

    /// The host name as the host itself reports it.
    pub(crate) fn hostname(&self) -> Option<String> {
        self.with(|remote| remote.hello().hostname.clone())
    }

    /// The path of prony on the host.
    pub(crate) fn program(&self) -> Option<PathBuf> {
        self.with(|remote| remote.hello().binary.clone())
    }

    /// Free bytes on the disk of the host when the connection was opened.
    pub(crate) fn free_bytes(&self) -> Option<u64> {
        self.with(|remote| remote.hello().free_bytes)
    }

    /// Why the connection is lost, if it is.
    pub fn lost(&self) -> Option<HostError> {
        self.with(Remote::lost)
    }

    /// Takes one sample of the clock of the host.
    pub fn clock_sample(&self) -> Result<ClockSample, HostError> {
        self.remote().clock_sample()
    }

    /// Claims these CPUs until `release`, also over later connections.
    pub(crate) fn claim(&self, cpus: &Cpus) -> Result<(), HostError> {
        let claim = self.remote().claim(cpus)?;
        self.write().claimed = Some((cpus.clone(), claim));
        Ok(())
    }

    /// Releases the claimed CPUs.
    pub(crate) fn release(&self) {
        let claimed = self.write().claimed.take();
        drop(claimed);
    }

    /// Reconnects to the host and claims its CPUs again. Retries for a while, until `goes_on` returns false. The error names
    /// the host.
    pub(crate) fn again(&self, goes_on: &dyn Fn() -> bool) -> Result<(), HostError> {
        let until = Instant::now() + AGAIN;
        loop {
            match self.reconnect() {
                Ok(now) => {
                    let before = std::mem::replace(&mut *self.write(), now);
                    // Closes the lost connection without waiting for it.
                    drop(before);
                    return Ok(());
                }
                Err(error) if Instant::now() >= until || !goes_on() => return Err(error),
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    fn reconnect(&self) -> Result<CurrentConnection, HostError> {
        let remote = Remote::connect(&self.connect, &*self.transport, &|_| {})?;
        if *remote.topology() != self.topology || remote.address() != self.address {
            return Err(HostError::There {
                host: self.connect.host.clone(),
                text: format!(
                    "it is not the machine of the start of the run (then {} at {}, now {} at {}): start a new run",
                    self.topology.cpus(),
                    self.address,
                    remote.topology().cpus(),
                    remote.address()
                ),
            });
        }
        let cpus = {
            let now = self.now.read().unwrap_or_else(PoisonError::into_inner);
            now.claimed.as_ref().map(|(cpus, _)| cpus.clone())
        };
        let claim = |cpus: Cpus| Ok::<_, HostError>((cpus.clone(), remote.claim(&cpus)?));
        let claimed = cpus.map(claim).transpose()?;
        Ok(CurrentConnection { remote, claimed })
    }

    fn with<T>(&self, ask: impl FnOnce(&Remote) -> T) -> T {
        ask(&self.now.read().unwrap_or_else(PoisonError::into_inner).remote)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, CurrentConnection> {
        self.now.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host for ReconnectingHost {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn address(&self) -> &str {
        &self.address
    }

    fn free_port(&self) -> Result<u16, HostError> {
        self.remote().free_port()
    }

    fn start(&self, spec: &ProcessSpec) -> Result<Box<dyn Process>, HostError> {
        self.remote().start(spec)
    }

    fn attach(&self, spec: &AttachSpec) -> Result<Box<dyn Process>, HostError> {
        self.remote().attach(spec)
    }

    /// As the agent read it at its start.
    fn environment(&self) -> Environment {
        self.with(|remote| remote.hello().environment.clone())
    }

    fn watch(&self, window: Duration) -> Option<MachineUsage> {
        self.remote().watch(window)
    }

    fn memory_available_bytes(&self) -> Option<u64> {
        self.remote().memory_available_bytes()
    }

    fn page_cache(&self, request: &PageCacheRequest) -> Result<PageCacheReport, HostError> {
        self.remote().page_cache(request)
    }

    fn pin_self(&self, cpus: &Cpus) -> Result<(), HostError> {
        self.remote().pin_self(cpus)
    }
}
