//! What can fail on a host.

use std::io;
use std::path::PathBuf;

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
}
