//! A host somewhere else that is reached again when the connection to it was lost.

use prony_host::{
    AttachSpec, ClockSample, Connect, Cpus, Host, HostError, MachineUsage, Process, ProcessSpec, Progress,
    Remote, RemoteClaim, Topology, Transport,
};
use prony_records::Environment;
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Time for a lost host to answer again: its agent lets go of its CPUs within its lease, and a network comes back by then
/// or not soon.
const AGAIN: Duration = Duration::from_secs(15);
/// Time between two tries.
const PAUSE: Duration = Duration::from_millis(250);

/// A host that is reached through an agent on it, over one connection at a time.
///
/// What runs there is lost with its connection. `again` makes another one, with the same CPUs claimed; everything
/// that is asked from then on goes over that.
pub struct ReconnectingHost {
    connect: Connect,
    topology: Topology,
    address: String,
    now: RwLock<CurrentConnection>,
    /// The last to go: with it may go what it leads to.
    transport: Box<dyn Transport>,
}

/// The connection that there is now.
struct CurrentConnection {
    remote: Remote,
    claimed: Option<(Cpus, RemoteClaim)>,
}

impl ReconnectingHost {
    /// Reaches a host; `tell` hears how far prony's binary has come, where it is brought there first.
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

    /// The connection that there is now. It ends with its last copy.
    pub fn remote(&self) -> Remote {
        self.with(Remote::clone)
    }

    /// The name that the host gives itself.
    pub(crate) fn hostname(&self) -> Option<String> {
        self.with(|remote| remote.hello().hostname.clone())
    }

    /// Where its prony is.
    pub(crate) fn program(&self) -> Option<PathBuf> {
        self.with(|remote| remote.hello().binary.clone())
    }

    /// Bytes that were free where it works when it was reached.
    pub(crate) fn free_bytes(&self) -> Option<u64> {
        self.with(|remote| remote.hello().free_bytes)
    }

    /// Why the connection is lost, where it is.
    pub fn lost(&self) -> Option<HostError> {
        self.with(Remote::lost)
    }

    /// One look at the clocks of the host.
    pub fn clock_sample(&self) -> Result<ClockSample, HostError> {
        self.remote().clock_sample()
    }

    /// Claims these CPUs until `release`, over every connection that comes.
    pub(crate) fn claim(&self, cpus: &Cpus) -> Result<(), HostError> {
        let claim = self.remote().claim(cpus)?;
        self.write().claimed = Some((cpus.clone(), claim));
        Ok(())
    }

    /// Gives its CPUs back.
    pub(crate) fn release(&self) {
        let claimed = self.write().claimed.take();
        drop(claimed);
    }

    /// Reaches the host again and claims its CPUs again; tries for a while as long as `goes_on` says so. The error names the
    /// host.
    pub(crate) fn again(&self, goes_on: &dyn Fn() -> bool) -> Result<(), HostError> {
        let until = Instant::now() + AGAIN;
        loop {
            match self.anew() {
                Ok(now) => {
                    let before = std::mem::replace(&mut *self.write(), now);
                    // Ends what is left of the lost connection, without anybody waiting for it.
                    drop(before);
                    return Ok(());
                }
                Err(error) if Instant::now() >= until || !goes_on() => return Err(error),
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    fn anew(&self) -> Result<CurrentConnection, HostError> {
        let remote = Remote::connect(&self.connect, &*self.transport, &|_| {})?;
        if *remote.topology() != self.topology || remote.address() != self.address {
            return Err(HostError::There {
                host: self.connect.host.clone(),
                text: format!(
                    "it is another machine than when the run began (then {} at {}, now {} at {}): begin a new run",
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

    /// As its agent read it when it began.
    fn environment(&self) -> Environment {
        self.with(|remote| remote.hello().environment.clone())
    }

    fn watch(&self, window: Duration) -> Option<MachineUsage> {
        self.remote().watch(window)
    }

    fn memory_available_bytes(&self) -> Option<u64> {
        self.remote().memory_available_bytes()
    }

    fn pin_self(&self, cpus: &Cpus) -> Result<(), HostError> {
        self.remote().pin_self(cpus)
    }
}
