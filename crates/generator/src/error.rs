//! The errors of a load.

use prony_load::{ExpectationError, WorkloadError};
use prony_protocols::protocol::PrepareError;

/// Why a load has no recording.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// A workload that cannot be sent.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A request that cannot be sent.
    #[error("operation `{operation}`: {source}")]
    Request { operation: String, source: PrepareError },
    /// An expectation that cannot be used.
    #[error("operation `{operation}`: {source}")]
    Expectation {
        operation: String,
        source: ExpectationError,
    },
    /// A parameter without values.
    #[error("parameter `{name}`: {reason}")]
    Parameter { name: String, reason: &'static str },
    /// A job that contradicts itself.
    #[error("{0}")]
    Job(String),
    /// A name that does not resolve.
    #[error("cannot find the address of `{host}`: {source} → Check the name, or give the address itself.")]
    Resolve { host: String, source: std::io::Error },
    /// No connection was established.
    #[error("cannot connect to {address}: {reason}")]
    Unreachable {
        /// Address and port, or path of a Unix socket.
        address: String,
        /// The error of the first attempt.
        reason: String,
    },
    /// More connections than this process may have open files.
    #[error(
        "{connections} connections need {needed} open files, but this process may have {limit} → Run `ulimit -n {needed}` first (as \
         root beyond the hard limit), or use fewer connections."
    )]
    FileLimit {
        /// Number of connections of the job.
        connections: u64,
        /// Open files needed, including those for other purposes.
        needed: u64,
        /// The hard limit.
        limit: u64,
    },
    /// The requested transport is not available.
    #[error("this kernel does not allow io_uring ({0}) → Use --transport epoll.")]
    NoIoUring(std::io::Error),
    /// The TLS configuration is invalid.
    #[error("TLS: {0}")]
    Tls(String),
    /// A system call failed that every load needs.
    #[error("{what}: {source}")]
    System {
        /// The failed action, for the message.
        what: &'static str,
        source: std::io::Error,
    },
    /// A worker thread panicked.
    #[error("a worker thread of the generator panicked, which is a defect of prony → Please report it.")]
    WorkerPanicked,
    /// The caller stopped the load before the measurement began.
    #[error("stopped before the measurement began: there is nothing to report")]
    Stopped,
}

impl EngineError {
    /// Advice for the user, where the error message contains none.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Unreachable { reason, .. } if reason.starts_with("TLS") => {
                Some("Check the scheme (http or https) and the server's certificate.")
            }
            Self::Unreachable { .. } => Some("Check that the server is running and that this is its port."),
            _ => None,
        }
    }

    /// Whether the job itself is invalid, so that another attempt fails as well.
    pub const fn is_bad_input(&self) -> bool {
        match self {
            Self::Workload(_)
            | Self::Request { .. }
            | Self::Expectation { .. }
            | Self::Parameter { .. }
            | Self::Job(_)
            | Self::Tls(_) => true,
            Self::Resolve { .. }
            | Self::Unreachable { .. }
            | Self::FileLimit { .. }
            | Self::NoIoUring(_)
            | Self::System { .. }
            | Self::WorkerPanicked
            | Self::Stopped => false,
        }
    }
}
