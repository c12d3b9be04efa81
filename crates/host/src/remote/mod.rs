//! A remote host: its agent, over one connection.

mod connection;
mod files;
mod process;
mod shared;
mod transport;

use crate::wire::{AgentHello, AgentRequest, Reply};
use crate::{
    AttachSpec, Cpus, Host, HostError, MachineUsage, PageCacheReport, PageCacheRequest, Process, ProcessSpec,
    Topology,
};
use connection::Connection;
use process::RemoteProcess;
use prony_records::Environment;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
pub use transport::{
    Binary, Channel, HandshakeErrorFn, HandshakeFailure, Pipe, Ssh, Transport, TransportGuard,
};

/// If either side receives nothing from the other for this time, the agent ends everything and the controller gives it up.
pub const LEASE: Duration = Duration::from_secs(5);
/// Loopback: an agent over a pipe is on this machine.
const HERE: &str = "127.0.0.1";
/// Timeout for requests that need no work.
const SOON: Duration = Duration::from_secs(30);
/// Timeout for reading the page cache of all files of a service.
const PAGES: Duration = Duration::from_mins(2);

/// Options of a connection.
#[derive(Debug, Clone)]
pub struct Connect {
    /// The name of the host in messages: its name in the testbed file.
    pub host: String,
    /// The address at which workers reach its services; `None`: the address that the connection went to.
    pub address: Option<String>,
    /// The command that uses the host, shown to others who find its CPUs claimed: `prony run hello`.
    pub what: String,
    /// How long either side may be silent: [`LEASE`], except in tests.
    pub lease: Duration,
}

impl Connect {
    /// Options for a connection to `host` with the defaults.
    pub fn to(host: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            host: host.into(),
            address: None,
            what: what.into(),
            lease: LEASE,
        }
    }
}

/// Progress of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes sent so far.
    pub sent: u64,
    /// Bytes in total.
    pub total: u64,
}

/// The result of a transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadResult {
    /// Absolute path on the host.
    pub path: PathBuf,
    /// Bytes of files that were sent; 0 if the host already had them.
    pub bytes: u64,
}

/// One reading of a host's two clocks, between two instants of our own clock.
#[derive(Debug, Clone, Copy)]
pub struct ClockSample {
    /// When the request was sent.
    pub sent: Instant,
    /// When the reply arrived.
    pub received: Instant,
    /// The host's monotonic clock (`CLOCK_MONOTONIC`) in between, ns.
    pub monotonic_ns: u64,
    /// The host's wall clock in between, ns since 1970.
    pub wall_ns: u64,
}

/// A host that is accessed through an agent on it. Clones share one connection. It ends when the last clone and the last
/// process are dropped, and everything that was started through it ends with it.
///
/// Every call has a timeout, and its error names the host. When the connection is lost, all waiting and all later calls
/// fail with [`HostError::Lost`].
#[derive(Debug, Clone)]
pub struct Remote {
    connection: Arc<Connection>,
    hello: Arc<AgentHello>,
    address: String,
}

/// Claimed CPUs of a host. The claim ends when this is dropped or when the connection ends.
#[derive(Debug)]
pub struct RemoteClaim {
    connection: Arc<Connection>,
    number: u32,
}

impl Drop for RemoteClaim {
    fn drop(&mut self) {
        self.connection
            .tell(&AgentRequest::Release { claim: self.number });
    }
}

impl Remote {
    /// Connects. Calls `tell` with the progress of copying prony's own binary, if it must be copied first.
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
            reason: "its address is unknown: set it with `address = …`".to_owned(),
        };
        Ok(Self {
            connection: Arc::new(connection),
            hello: Arc::new(hello),
            address: address.ok_or_else(unknown)?,
        })
    }

    /// The name of the host in messages.
    pub fn name(&self) -> &str {
        self.connection.host()
    }

    /// The agent's description of itself and its host at connection time: version, hash, architecture, folders.
    pub fn hello(&self) -> &AgentHello {
        &self.hello
    }

    /// Why the connection is lost, if it is. Check it while waiting for the host without a call.
    pub fn lost(&self) -> Option<HostError> {
        self.connection.lost()
    }

    /// Reads the clocks of the host once. The request overtakes everything else. The sample with the shortest round trip of
    /// sixteen or more gives the best estimate of the offset; half of that round trip bounds the error.
    pub fn clock_sample(&self) -> Result<ClockSample, HostError> {
        self.connection.clock(SOON)
    }

    /// Copies a file, or a folder with its contents, to the host: data, permissions and symbolic links. It replaces whatever is
    /// at `to` when everything has arrived. A relative path is below the folder of this connection, which is removed at its end
    /// ([`AgentHello::work`]). Checks the free disk space first.
    pub fn put(&self, from: &Path, to: &Path, tell: &dyn Fn(Progress)) -> Result<UploadResult, HostError> {
        files::put(&self.connection, from, Some(to), tell)
    }

    /// Stores a file or a folder in the cache of the host, under the hash of its content, unless it is already there. Cached
    /// content must not be changed. When the cache is full, the least recently used content is removed, but never content that
    /// a running agent uses.
    pub fn keep(&self, from: &Path, tell: &dyn Fn(Progress)) -> Result<UploadResult, HostError> {
        files::put(&self.connection, from, None, tell)
    }

    /// Copies a file from the host. Returns its size.
    pub fn get(&self, from: &Path, to: &Path) -> Result<u64, HostError> {
        files::get(&self.connection, from, to)
    }

    pub fn exists(&self, path: &Path) -> Result<bool, HostError> {
        let request = AgentRequest::Look {
            path: path.to_owned(),
        };
        match self.connection.ask(&request, "check for a file", SOON)? {
            Reply::There { kind, .. } => Ok(kind.is_some()),
            other => Err(self.connection.unexpected_reply(&other)),
        }
    }

    /// Removes a file, or a folder with its contents. It must be inside the folder of this connection or inside the cache.
    pub fn remove(&self, path: &Path) -> Result<(), HostError> {
        let request = AgentRequest::Remove {
            path: path.to_owned(),
        };
        self.connection
            .done(&request, "remove a folder", Duration::from_mins(2))
    }

    /// Searches `PATH` of the host for a program.
    pub fn which(&self, program: &str) -> Result<Option<PathBuf>, HostError> {
        let request = AgentRequest::Which {
            program: program.to_owned(),
        };
        self.connection.path(&request, "search for a program", SOON)
    }

    /// Claims CPUs of the host for this run: all of them or none. If another run has one of them, fails at once with
    /// [`HostError::Taken`], which names that run.
    pub fn claim(&self, cpus: &Cpus) -> Result<RemoteClaim, HostError> {
        let number = self.connection.number();
        let request = AgentRequest::Claim {
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
            .ask(&AgentRequest::FreePort, "find a free port", SOON)?
        {
            Reply::Port { port } => Ok(port),
            other => Err(self.connection.unexpected_reply(&other)),
        }
    }

    /// Relative paths of the folder and the log are below the folder of this connection.
    fn start(&self, spec: &ProcessSpec) -> Result<Box<dyn Process>, HostError> {
        Ok(Box::new(RemoteProcess::start(&self.connection, spec)?))
    }

    fn attach(&self, spec: &AttachSpec) -> Result<Box<dyn Process>, HostError> {
        Ok(Box::new(RemoteProcess::attach(&self.connection, spec)?))
    }

    /// The current environment. If the host does not reply, the environment at connection time.
    fn environment(&self) -> Environment {
        match self
            .connection
            .ask(&AgentRequest::Environment, "describe its environment", SOON)
        {
            Ok(Reply::Environment(environment)) => *environment,
            _ => self.hello.environment.clone(),
        }
    }

    fn watch(&self, window: Duration) -> Option<MachineUsage> {
        let request = AgentRequest::Watch {
            window_ns: window.as_nanos() as u64,
        };
        match self.connection.ask(&request, "measure its usage", window + SOON) {
            Ok(Reply::Machine { usage }) => usage,
            _ => None,
        }
    }

    fn memory_available_bytes(&self) -> Option<u64> {
        let answer = self
            .connection
            .ask(&AgentRequest::MemoryAvailable, "report its memory", SOON);
        match answer {
            Ok(Reply::Memory { bytes }) => bytes,
            _ => None,
        }
    }

    fn page_cache(&self, request: &PageCacheRequest) -> Result<PageCacheReport, HostError> {
        let request = AgentRequest::PageCache(request.clone());
        match self.connection.ask(&request, "read its page cache", PAGES)? {
            Reply::PageCache(report) => Ok(report),
            other => Err(self.connection.unexpected_reply(&other)),
        }
    }

    /// Pins the agent, not the calling process.
    fn pin_self(&self, cpus: &Cpus) -> Result<(), HostError> {
        let request = AgentRequest::Pin { cpus: cpus.clone() };
        self.connection.done(&request, "pin its agent", SOON)
    }
}
