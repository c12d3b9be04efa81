//! The messages, as JSON. Any change needs a new [`PROTOCOL`] version; the snapshots of all messages show a change.

use super::fault::Fault;
use crate::{
    AttachSpec, Cpus, ExitReport, MachineUsage, PageCacheReport, PageCacheRequest, ProcessSpec, Topology,
    Usage,
};
use prony_records::{Environment, Footprint, Warning};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The version of this protocol.
pub const PROTOCOL: u32 = 3;

/// The first message of an agent: describes itself and its host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentHello {
    /// The version of prony.
    pub version: String,
    /// Digest of the sources that it was built from; empty if it does not know.
    #[serde(default)]
    pub sources: String,
    /// SHA-256 of its binary, hexadecimal, if the process that started it knows it.
    pub hash: Option<String>,
    /// CPU architecture: `x86_64`, `aarch64`, ….
    pub architecture: String,
    pub hostname: Option<String>,
    pub pid: u32,
    /// The path of its binary, which can be started in any other role there.
    pub binary: Option<PathBuf>,
    /// The CPUs that it may use.
    pub topology: Topology,
    pub environment: Environment,
    /// The server address of the controller's connection, if the transport reports it.
    pub address: Option<String>,
    /// Its monotonic clock, ns.
    pub monotonic_ns: u64,
    /// Its wall clock, ns since 1970.
    pub wall_ns: u64,
    /// The folder of this connection, which is removed when the connection ends.
    pub work: PathBuf,
    /// The folder that stays between connections.
    pub cache: PathBuf,
    /// Free disk space of these folders, bytes.
    pub free_bytes: Option<u64>,
}

/// The first message of a controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControllerHello {
    /// The version of prony.
    pub version: String,
    /// Its command, shown to others who find the host's CPUs claimed: `prony run hello`.
    pub what: String,
    /// The agent ends if it receives nothing for this time, ms.
    pub lease_ms: u64,
}

/// A request of a controller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum AgentRequest {
    /// Heartbeat.
    Beat,
    /// Read the clocks.
    Clock,
    /// Find a port that nothing listens on.
    FreePort,
    /// Start a process.
    Start {
        /// The number that identifies it in later requests.
        process: u32,
        /// Its specification. Relative folders are below the folder of the connection.
        spec: Box<ProcessSpec>,
        /// The streams that become its input and output, if they are piped.
        streams: Option<(u32, u32)>,
    },
    /// Attach to a process that already runs.
    Attach {
        /// The number that identifies it in later requests.
        process: u32,
        spec: Box<AttachSpec>,
    },
    /// Give an order to a process.
    Process { process: u32, order: Order },
    /// Measure the usage of the whole machine.
    Watch {
        /// The duration, ns.
        window_ns: u64,
    },
    /// Describe the hardware and software of the host.
    Environment,
    /// Report the memory that new processes can use.
    MemoryAvailable,
    /// Count the pages of files in the page cache, and remove them from it before if that is requested.
    PageCache(PageCacheRequest),
    /// Pin the agent to these CPUs.
    Pin { cpus: Cpus },
    /// Claim CPUs for this run, until released or until the agent ends.
    Claim {
        claim: u32,
        cpus: Cpus,
        /// The command that claims them.
        what: String,
    },
    /// Release claimed CPUs.
    Release { claim: u32 },
    /// Receive a file or a folder as a stream of [`Entry`]s.
    Put {
        /// The destination; only the name for content of the cache.
        to: PathBuf,
        /// SHA-256 of the content, to store it in the cache.
        hash: Option<String>,
        /// Total size of all files.
        bytes: u64,
        stream: u32,
    },
    /// Send a file as a stream.
    Get { from: PathBuf, stream: u32 },
    /// Find content in the cache by its hash.
    Kept { hash: String },
    /// Search `PATH` for a program.
    Which { program: String },
    /// Report what exists at a path.
    Look { path: PathBuf },
    /// Remove a file, or a folder with its contents. It must be inside one of the agent's folders.
    Remove { path: PathBuf },
    /// End the connection.
    Bye,
}

/// An order for a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Report its memory.
    Memory,
    /// Report its CPU time and memory until now.
    Footprint,
    /// List the files that it uses.
    Files,
    /// Freeze it.
    Rest,
    /// Resume it.
    Wake,
    /// Start the window in which resources are counted.
    BeginWindow,
    /// End that window.
    EndWindow,
    Stop,
    /// Return the last lines of its log.
    LogTail(u32),
    /// End it; its number is not used any more.
    Forget,
}

/// The reply to a request, or an error.
pub type AgentResponse = Result<Reply, Fault>;

/// The successful reply to a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// Success, without data.
    Done,
    /// The time at which the request was read.
    Clock {
        /// The monotonic clock, ns.
        monotonic_ns: u64,
        /// The wall clock, ns since 1970.
        wall_ns: u64,
    },
    Port {
        port: u16,
    },
    /// A process was started or attached to.
    Started {
        /// Its process id there.
        pid: u32,
        /// Time since it was started, ns.
        age_ns: u64,
        /// The address at which it is reachable, if it has its own network.
        address: Option<String>,
        /// Requested settings that are not in force.
        warnings: Vec<Warning>,
    },
    Memory {
        bytes: Option<u64>,
    },
    /// CPU time and memory until now.
    Footprint(Footprint),
    /// The files that a process uses.
    Files {
        paths: Vec<PathBuf>,
    },
    /// What is in the page cache.
    PageCache(PageCacheReport),
    /// The usage in the window.
    Usage(Box<Usage>),
    Stopped(ExitReport),
    Log {
        lines: Vec<String>,
    },
    /// Usage of the whole machine.
    Machine {
        /// `None` if unknown.
        usage: Option<MachineUsage>,
    },
    Environment(Box<Environment>),
    /// A path: where a file was put, or where a program or cached content was found.
    Path {
        /// `None`: not found.
        path: Option<PathBuf>,
    },
    /// What exists at a path.
    There {
        /// `None`: nothing.
        kind: Option<EntryKind>,
        /// Size of a file.
        bytes: u64,
    },
}

/// A message that an agent sends without a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "notice", rename_all = "snake_case")]
pub enum AgentEvent {
    /// The state of a process changed.
    Process {
        process: u32,
        /// How it ended, if it has.
        ended: Option<ExitReport>,
        /// All requested settings that are not in force.
        warnings: Vec<Warning>,
    },
    Leaving {
        /// The reason.
        reason: String,
    },
}

/// The header of each file, folder and link in a stream of files: its length in four bytes, big-endian, then this as JSON.
/// The bytes of a file follow. The first entry has an empty path: it is the transferred file or folder itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its path relative to the first entry. It contains no `..`.
    pub path: PathBuf,
    pub kind: EntryKind,
    /// Permission bits.
    pub mode: u32,
    /// Size of a file.
    pub bytes: u64,
    /// The target of a link.
    pub target: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    File,
    Folder,
    Link,
}
