//! What can fail on a host.

use crate::process::Size;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// What can fail on a host.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The supervisor could not be started.
    #[error("cannot start the supervisor `{program}`: {error}; is the binary still where it was?")]
    Supervisor {
        /// The program.
        program: String,
        /// Why.
        error: io::Error,
    },
    /// The supervisor ended or said something else than it should.
    #[error("the supervisor of `{name}` {what}; its process may be gone")]
    SupervisorLost {
        /// The process's name.
        name: String,
        /// What it did.
        what: String,
    },
    /// The process could not be started.
    #[error("cannot start `{name}`: {reason}")]
    Start {
        /// The process's name.
        name: String,
        /// Why, and what to do.
        reason: String,
    },
    /// Isolation that was required is not to be had.
    #[error("`{name}` cannot be isolated as asked for: {reason}")]
    NotIsolated {
        /// The process's name.
        name: String,
        /// Why, and what to do.
        reason: String,
    },
    /// No port could be found.
    #[error("no free port on {address}: {error}; close programs that hold ports")]
    NoPort {
        /// Where.
        address: String,
        /// Why.
        error: io::Error,
    },
    /// A file could not be read or written.
    #[error("cannot {what} {}: {error}", path.display())]
    File {
        /// `read`, `write`, `make`.
        what: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The calling process could not be pinned.
    #[error("cannot pin to CPUs {cpus}: {error}; leave the pinning out")]
    Pin {
        /// Which.
        cpus: String,
        /// Why.
        error: nix::Error,
    },
    /// Another run has claimed a CPU.
    #[error(
        "CPU {cpu}{} is taken by {holder}: two runs on the same CPUs spoil each other's numbers; wait for it, end it, or give each run its own CPUs",
        on(host)
    )]
    Taken {
        /// The host; empty: this machine.
        host: String,
        /// The CPU.
        cpu: usize,
        /// Who has it.
        holder: String,
    },
    /// No agent answers on a host, so nothing ran there.
    #[error("cannot reach {host}: {reason}")]
    Unreachable {
        /// The host.
        host: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The agent that answers is none that this prony can work with.
    #[error("the prony on {host} {what}, but this is {ours}: {remedy}")]
    OtherProny {
        /// The host.
        host: String,
        /// What it is.
        what: String,
        /// What this prony is.
        ours: String,
        /// What to do.
        remedy: String,
    },
    /// The connection to a host is gone, and with it all that ran there.
    #[error("lost the connection to {host}: {reason}")]
    Lost {
        /// The host.
        host: String,
        /// Why.
        reason: String,
    },
    /// A host did not do something in time. The connection is still there.
    #[error("{host} did not {what} within {} s", within.as_secs())]
    Late {
        /// The host.
        host: String,
        /// What it was asked for.
        what: String,
        /// The time that it had.
        within: Duration,
    },
    /// There is not enough room on a host.
    #[error("{host} has {} free where {} is, and {} are needed: make room there", Size(*free), path.display(), Size(*needed))]
    NoRoom {
        /// The host.
        host: String,
        /// Where.
        path: PathBuf,
        /// Bytes that are needed.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// The hosts of a lab, which are pods, could not be made.
    #[error("no pods for this lab: {text}")]
    NoPods {
        /// What failed, where, and what to do.
        text: String,
    },
    /// Something else failed on a host.
    #[error("on {host}: {text}")]
    There {
        /// The host.
        host: String,
        /// What failed, where, and what to do.
        text: String,
    },
}

impl HostError {
    /// Whether this is about the way to a host or the host itself, not about what was to run on it.
    pub const fn is_of_the_lab(&self) -> bool {
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

    /// Whether the connection to a host is gone: whatever is asked of it from now on fails alike.
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
