//! The messages, as JSON. A change of any of them needs a new [`PROTOCOL`]; a snapshot of all of them shows it.

use super::fault::Fault;
use crate::{AttachSpec, Cpus, Ending, MachineUsage, ProcessSpec, Topology, Usage};
use prony_records::{Environment, Warning};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The number of this protocol.
pub const PROTOCOL: u32 = 1;

/// The first message of an agent: who it is and what its host is like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// Its version of prony.
    pub version: String,
    /// SHA-256 of its binary, hexadecimal, where who started it knew.
    pub hash: Option<String>,
    /// Architecture of its CPUs: `x86_64`, `aarch64`, ….
    pub architecture: String,
    /// The name that the host gives itself.
    pub hostname: Option<String>,
    /// Its process id.
    pub pid: u32,
    /// Its binary: what starts any other role of prony there.
    pub binary: Option<PathBuf>,
    /// The CPUs that it may use.
    pub topology: Topology,
    /// Where and with what it runs.
    pub environment: Environment,
    /// The address that the controller's connection came to, where the transport tells it.
    pub address: Option<String>,
    /// Its monotonic clock, ns.
    pub monotonic_ns: u64,
    /// Its wall clock, ns since 1970.
    pub wall_ns: u64,
    /// The folder of this connection. It is removed when the connection ends.
    pub work: PathBuf,
    /// The folder that stays between connections.
    pub cache: PathBuf,
    /// Free bytes where these folders are.
    pub free_bytes: Option<u64>,
}

/// The first message of a controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// Its version of prony.
    pub version: String,
    /// What it does, for those who find the host's CPUs taken: `prony run hello`.
    pub what: String,
    /// The agent ends when nothing came for this long, ms.
    pub lease_ms: u64,
}

/// What a controller asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    /// Be there.
    Beat,
    /// What time is it?
    Clock,
    /// A port that nothing listens on.
    FreePort,
    /// Start a process, which is called by this number from now on.
    Start {
        /// Its number.
        process: u32,
        /// What to start. Relative folders are below the folder of the connection.
        spec: Box<ProcessSpec>,
        /// The streams that become its input and output, where it is spoken with.
        streams: Option<(u32, u32)>,
    },
    /// Look at a process that runs already, which is called by this number from now on.
    Attach {
        /// Its number.
        process: u32,
        /// What to look at.
        spec: Box<AttachSpec>,
    },
    /// Do this with a process.
    Process {
        /// Its number.
        process: u32,
        /// What to do.
        order: Order,
    },
    /// What the whole machine does for so long.
    Watch {
        /// So long, ns.
        window_ns: u64,
    },
    /// Where and with what processes run now.
    Environment,
    /// Memory that new processes can have.
    MemoryAvailable,
    /// Keep the agent off all other CPUs.
    Pin {
        /// Its CPUs.
        cpus: Cpus,
    },
    /// Claim CPUs for this run, until released or until the agent ends.
    Claim {
        /// The number of the claim.
        claim: u32,
        /// The CPUs.
        cpus: Cpus,
        /// What they are for.
        what: String,
    },
    /// Give them back.
    Release {
        /// The number of the claim.
        claim: u32,
    },
    /// Take a file or a folder from a stream of [`Entry`]s.
    Put {
        /// Where it goes; its name alone where it goes into the cache.
        to: PathBuf,
        /// SHA-256 of its content, where it goes into the cache.
        hash: Option<String>,
        /// Bytes of all its files.
        bytes: u64,
        /// The stream.
        stream: u32,
    },
    /// Send a file into a stream.
    Get {
        /// Which.
        from: PathBuf,
        /// The stream.
        stream: u32,
    },
    /// Where in the cache content with this hash is.
    Kept {
        /// SHA-256 of the content.
        hash: String,
    },
    /// Where a program is that has no path.
    Which {
        /// Its name.
        program: String,
    },
    /// What there is at a path.
    Look {
        /// The path.
        path: PathBuf,
    },
    /// Make a folder with all above it.
    MakeFolder {
        /// Which.
        path: PathBuf,
    },
    /// Remove a file or a folder with all that is in it, below one of the agent's own folders.
    Remove {
        /// Which.
        path: PathBuf,
    },
    /// End.
    Bye,
}

/// What to do with a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Say how much memory it holds.
    Memory,
    /// Make it stand still.
    Rest,
    /// Let it go on.
    Wake,
    /// From here on resources count.
    BeginWindow,
    /// Up to here resources count.
    EndWindow,
    /// End it.
    Stop,
    /// The last lines of its log.
    LogTail(u32),
    /// Its number is not used any more.
    Forget,
}

/// The answer to a request.
pub type Answer = Result<Reply, Fault>;

/// What an agent answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// It is done; there is nothing to say.
    Done,
    /// The time at which the request was read.
    Clock {
        /// By the monotonic clock, ns.
        monotonic_ns: u64,
        /// By the wall clock, ns since 1970.
        wall_ns: u64,
    },
    /// A port.
    Port {
        /// Its number.
        port: u16,
    },
    /// A process runs.
    Started {
        /// Its process id there.
        pid: u32,
        /// Time since it was started, ns.
        age_ns: u64,
        /// Where it is reached, where it has a network of its own.
        address: Option<String>,
        /// What was asked for and is not in force.
        warnings: Vec<Warning>,
    },
    /// Memory.
    Memory {
        /// Bytes.
        bytes: Option<u64>,
    },
    /// What was used in the window.
    Usage(Box<Usage>),
    /// How a process ended.
    Stopped(Ending),
    /// Lines of a log.
    Log {
        /// The lines.
        lines: Vec<String>,
    },
    /// What the machine did.
    Machine {
        /// Where it is known.
        usage: Option<MachineUsage>,
    },
    /// Where and with what processes run.
    Environment(Box<Environment>),
    /// A path: where a file was put, where a program is, where content is kept.
    Path {
        /// `None`: there is none.
        path: Option<PathBuf>,
    },
    /// What there is at a path.
    There {
        /// `None`: nothing.
        kind: Option<EntryKind>,
        /// Bytes of a file.
        bytes: u64,
    },
}

/// What an agent says unasked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "notice", rename_all = "snake_case")]
pub enum Notice {
    /// Something happened to a process.
    Process {
        /// Its number.
        process: u32,
        /// How it ended, where it has.
        ended: Option<Ending>,
        /// All that was asked for and is not in force.
        warnings: Vec<Warning>,
    },
    /// The agent ends.
    Leaving {
        /// Why.
        reason: String,
    },
}

/// What stands before each file, folder and link in a stream of files: its length in four bytes, big-endian, and this as
/// JSON. The bytes of a file follow. The first entry has no path: it is what is put.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Where it is below the first one. No part of it is `..`.
    pub path: PathBuf,
    /// What it is.
    pub kind: EntryKind,
    /// Its permissions.
    pub mode: u32,
    /// Bytes of a file.
    pub bytes: u64,
    /// Where a link leads.
    pub target: Option<PathBuf>,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
}
