//! Errors of operations on a host.

use crate::process::Size;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// An operation on a host that failed.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The supervisor could not be started.
    #[error("cannot start the supervisor `{program}`: {error}; is the binary still where it was?")]
    Supervisor { program: String, error: io::Error },
    /// The supervisor ended or sent an unexpected message.
    #[error("the supervisor of `{name}` {what}; its process may be gone")]
    SupervisorLost {
        /// The name of the process.
        name: String,
        /// What the supervisor did: the predicate of the sentence.
        what: String,
    },
    /// The process could not be started.
    #[error("cannot start `{name}`: {reason}")]
    Start {
        /// The name of the process.
        name: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The program of a container does not exist in its image or cannot be executed.
    #[error("cannot start `{name}`: {reason}")]
    Program {
        /// The name of the process.
        name: String,
        /// Why.
        reason: String,
    },
    /// Isolation is required but not available.
    #[error("`{name}` cannot be isolated as required: {reason}")]
    NotIsolated {
        /// The name of the process.
        name: String,
        /// Why, and what to do.
        reason: String,
    },
    /// No free port was found.
    #[error("no free port on {address}: {error}; close programs that hold ports")]
    NoPort { address: String, error: io::Error },
    /// A file could not be read or written.
    #[error("cannot {what} {}: {error}", path.display())]
    File {
        /// The verb: `read`, `write`, `make`.
        what: &'static str,
        path: PathBuf,
        error: io::Error,
    },
    /// The calling process could not be pinned.
    #[error("cannot pin to CPUs {cpus}: {error}; run without pinning")]
    Pin { cpus: String, error: nix::Error },
    /// Another run has claimed a CPU.
    #[error(
        "CPU {cpu}{} is taken by {holder}: two runs on the same CPUs spoil each other's numbers; wait for it, end it, or give each run its own CPUs",
        on(host)
    )]
    Taken {
        /// The host; empty: this machine.
        host: String,
        cpu: usize,
        /// The run that has it.
        holder: String,
    },
    /// The agent on a host does not answer, so nothing ran there.
    #[error("cannot reach {host}: {reason}")]
    Unreachable {
        host: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The agent on a host is not compatible with this prony.
    #[error("the prony on {host} {what}, but this is {ours}: {remedy}")]
    OtherProny {
        host: String,
        /// How it differs: the predicate of the sentence.
        what: String,
        /// The version of this prony.
        ours: String,
        /// What to do.
        remedy: String,
    },
    /// The connection to a host is lost, and with it everything that ran there.
    #[error("lost the connection to {host}: {reason}")]
    Lost { host: String, reason: String },
    /// An operation on a host timed out. The connection still exists.
    #[error("{host} did not {what} within {} s", within.as_secs())]
    Late {
        host: String,
        /// The operation: a verb with its object.
        what: String,
        /// The timeout.
        within: Duration,
    },
    /// There is not enough disk space on a host.
    #[error("{host} has {} free at {}, but {} are needed: free disk space there", Size(*free), path.display(), Size(*needed))]
    NoRoom {
        host: String,
        path: PathBuf,
        /// Bytes needed.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// The pods that are hosts of a testbed could not be created.
    #[error("cannot create the pods of the testbed: {text}")]
    NoPods {
        /// What failed, where, and what to do.
        text: String,
    },
    /// Any other failure on a host.
    #[error("on {host}: {text}")]
    There {
        host: String,
        /// What failed, where, and what to do.
        text: String,
    },
}

impl HostError {
    /// Whether the error concerns the testbed (a host or the connection to it), not the process that was to run on it.
    pub const fn is_of_the_testbed(&self) -> bool {
        matches!(
            self,
            Self::Taken { .. }
                | Self::Unreachable { .. }
                | Self::OtherProny { .. }
                | Self::Lost { .. }
                | Self::Late { .. }
                | Self::NoRoom { .. }
                | Self::NoPods { .. }
        )
    }

    /// Whether the connection to a host is lost: all further operations on that host fail as well.
    pub const fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }
}

fn on(host: &str) -> String {
    if host.is_empty() {
        String::new()
    } else {
        format!(" of {host}")
    }
}
