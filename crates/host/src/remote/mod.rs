//! A host somewhere else: an agent on it, reached over one connection.

mod connection;
mod files;
mod process;
mod shared;
mod transport;

use crate::wire::{Hello, Reply, Request};
use crate::{AttachSpec, Cpus, Host, HostError, MachineUsage, Process, ProcessSpec, Topology};
use connection::Connection;
use process::RemoteProcess;
use prony_records::Environment;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
pub use transport::{Binary, Channel, Conduit, Pipe, Silence, Ssh, Transport, WhySilent};

/// The agent ends everything, and the controller gives it up, when nothing came from the other for this long.
pub const LEASE: Duration = Duration::from_secs(5);
/// Loopback: an agent that came over a pipe is on this machine.
const HERE: &str = "127.0.0.1";
/// Time for an answer that needs no work.
const SOON: Duration = Duration::from_secs(30);

/// What a connection is for.
#[derive(Debug, Clone)]
pub struct Connect {
    /// What the host is called in messages: its name in the lab file.
    pub host: String,
    /// Where its services are reached from the workers; `None`: at the address that the connection went to.
    pub address: Option<String>,
    /// What it is for, told to those who find the host's CPUs taken: `prony run hello`.
    pub what: String,
    /// How long either side goes on without hearing from the other: [`LEASE`], but for tests.
    pub lease: Duration,
}

impl Connect {
    /// To a host of this name, for this purpose.
    pub fn to(host: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            host: host.into(),
            address: None,
            what: what.into(),
            lease: LEASE,
        }
    }
}

/// How far something that is sent has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that were sent.
    pub sent: u64,
    /// Bytes of it all.
    pub total: u64,
}

/// What became of something that was to be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Where it is now, on its host. Absolute.
    pub path: PathBuf,
    /// Bytes of files that were sent; 0 where all was there already.
    pub bytes: u64,
}

/// The two clocks of a host, read once, between two moments of our own.
#[derive(Debug, Clone, Copy)]
pub struct ClockSample {
    /// When it was asked.
    pub sent: Instant,
    /// When its answer came.
    pub received: Instant,
    /// Its monotonic clock (`CLOCK_MONOTONIC`) in between, ns.
    pub monotonic_ns: u64,
    /// Its wall clock in between, ns since 1970.
    pub wall_ns: u64,
}

/// A host that is reached through an agent on it. A copy is the same connection; it ends with the last copy and the last
/// process, and with it ends everything that was started through it.
///
/// Every call has a deadline and names the host. When the connection is lost, every call that waits and every later one
/// fails with [`HostError::Lost`].
#[derive(Debug, Clone)]
pub struct Remote {
    connection: Arc<Connection>,
    hello: Arc<Hello>,
    address: String,
}

/// CPUs of a host that are claimed until this is dropped, or the connection ends.
#[derive(Debug)]
pub struct RemoteClaim {
    connection: Arc<Connection>,
    number: u32,
}

impl Drop for RemoteClaim {
    fn drop(&mut self) {
        self.connection.tell(&Request::Release { claim: self.number });
    }
}

impl Remote {
    /// Connects. `tell` hears how far prony's own binary has come, where it has to be copied first.
    pub fn connect(
        connect: &Connect,
        transport: &dyn Transport,
        tell: &dyn Fn(Progress),
    ) -> Result<Self, HostError> {
        let channel = transport.open(&connect.host, tell)?;
        let (connection, hello) = Connection::greet(connect, channel)?;
        let address = connect.address.clone().or_else(|| hello.address.clone());
        let address = address.or_else(|| transport.is_local().then(|| HERE.to_owned()));
        let unknown = || HostError::Unreachable {
            host: connect.host.clone(),
            reason: "the way there does not tell its address: give it with `address = …`".to_owned(),
        };
        Ok(Self {
            connection: Arc::new(connection),
            hello: Arc::new(hello),
            address: address.ok_or_else(unknown)?,
        })
    }

    /// What the host is called in messages.
    pub fn name(&self) -> &str {
        self.connection.host()
    }

    /// What the agent said of itself and its host when it was reached: version, hash, architecture, folders.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Why the connection is lost, where it is: asked for whenever something else than a call waits for the host.
    pub fn lost(&self) -> Option<HostError> {
        self.connection.lost()
    }

    /// One look at the clocks of the host. It overtakes everything else. The shortest of sixteen or more tells the offset
    /// best; half its length bounds the error.
    pub fn clock_sample(&self) -> Result<ClockSample, HostError> {
        self.connection.clock(SOON)
    }

    /// Copies a file, or a folder with all that is in it, to the host: contents, permissions and symbolic links. What was
    /// at `to` before is replaced when all has come. A relative path is below the folder of this connection, which is removed
    /// at its end ([`Hello::work`]). The room is looked at first.
    pub fn put(&self, from: &Path, to: &Path, tell: &dyn Fn(Progress)) -> Result<Sent, HostError> {
        files::put(&self.connection, from, Some(to), tell)
    }

    /// Makes that a file or a folder is in the cache of the host, under the hash of its content: what is there already is
    /// not sent again. It must not be changed there; the least used goes when the cache is full, but never while an
    /// agent that used it runs.
    pub fn keep(&self, from: &Path, tell: &dyn Fn(Progress)) -> Result<Sent, HostError> {
        files::put(&self.connection, from, None, tell)
    }

    /// Copies a file from the host.
    pub fn get(&self, from: &Path, to: &Path) -> Result<u64, HostError> {
        files::get(&self.connection, from, to)
    }

    /// Whether there is something at a path on the host.
    pub fn exists(&self, path: &Path) -> Result<bool, HostError> {
        let request = Request::Look {
            path: path.to_owned(),
        };
        match self.connection.ask(&request, "look for a file", SOON)? {
            Reply::There { kind, .. } => Ok(kind.is_some()),
            other => Err(self.connection.nonsense(&other)),
        }
    }

    /// Makes a folder on the host with all above it, and says where it is.
    pub fn make_folder(&self, path: &Path) -> Result<PathBuf, HostError> {
        let request = Request::MakeFolder {
            path: path.to_owned(),
        };
        let made = self.connection.path(&request, "make a folder", SOON)?;
        Ok(made.unwrap_or_else(|| path.to_owned()))
    }

    /// Removes a file, or a folder with all that is in it. It must be below the folder of this connection or below the cache.
    pub fn remove(&self, path: &Path) -> Result<(), HostError> {
        let request = Request::Remove {
            path: path.to_owned(),
        };
        self.connection
            .done(&request, "remove a folder", Duration::from_mins(2))
    }

    /// Where a program is on the host that is named without a path.
    pub fn which(&self, program: &str) -> Result<Option<PathBuf>, HostError> {
        let request = Request::Which {
            program: program.to_owned(),
        };
        self.connection.path(&request, "look for a program", SOON)
    }

    /// Claims CPUs of the host for this run. Fails at once with [`HostError::Taken`], which names the holder, where another
    /// run has one of them; then none is claimed.
    pub fn claim(&self, cpus: &Cpus) -> Result<RemoteClaim, HostError> {
        let number = self.connection.number();
        let request = Request::Claim {
            claim: number,
            cpus: cpus.clone(),
            what: self.connection.what().to_owned(),
        };
        self.connection.done(&request, "claim its CPUs", SOON)?;
        Ok(RemoteClaim {
            connection: Arc::clone(&self.connection),
            number,
        })
    }
}

impl Host for Remote {
    fn topology(&self) -> &Topology {
        &self.hello.topology
    }

    fn address(&self) -> &str {
        &self.address
    }

    fn free_port(&self) -> Result<u16, HostError> {
        match self
            .connection
            .ask(&Request::FreePort, "find a free port", SOON)?
        {
            Reply::Port { port } => Ok(port),
            other => Err(self.connection.nonsense(&other)),
        }
    }

    /// A relative folder, and a relative path of the log, are below the folder of this connection.
    fn start(&self, spec: &ProcessSpec) -> Result<Box<dyn Process>, HostError> {
        Ok(Box::new(RemoteProcess::start(&self.connection, spec)?))
    }

    fn attach(&self, spec: &AttachSpec) -> Result<Box<dyn Process>, HostError> {
        Ok(Box::new(RemoteProcess::attach(&self.connection, spec)?))
    }

    /// As it is now; as it was when it was reached where it does not answer.
    fn environment(&self) -> Environment {
        match self
            .connection
            .ask(&Request::Environment, "say what it is like", SOON)
        {
            Ok(Reply::Environment(environment)) => *environment,
            _ => self.hello.environment.clone(),
        }
    }

    fn watch(&self, window: Duration) -> Option<MachineUsage> {
        let request = Request::Watch {
            window_ns: window.as_nanos() as u64,
        };
        match self.connection.ask(&request, "watch itself", window + SOON) {
            Ok(Reply::Machine { usage }) => usage,
            _ => None,
        }
    }

    fn memory_available_bytes(&self) -> Option<u64> {
        let answer = self
            .connection
            .ask(&Request::MemoryAvailable, "say its memory", SOON);
        match answer {
            Ok(Reply::Memory { bytes }) => bytes,
            _ => None,
        }
    }

    /// Keeps the agent, not the calling process, off the CPUs of a service.
    fn pin_self(&self, cpus: &Cpus) -> Result<(), HostError> {
        let request = Request::Pin { cpus: cpus.clone() };
        self.connection.done(&request, "pin its agent", SOON)
    }
}
