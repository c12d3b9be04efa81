//! Why there is no recording.

use prony_load::{ExpectationError, WorkloadError};
use prony_protocols::protocol::PrepareError;

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// A workload that cannot be sent.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A request that cannot be sent.
    #[error("operation `{operation}`: {source}")]
    Request {
        /// The operation.
        operation: String,
        /// What is wrong with it.
        source: PrepareError,
    },
    /// An expectation that cannot be used.
    #[error("operation `{operation}`: {source}")]
    Expectation {
        /// The operation.
        operation: String,
        /// What is wrong with it.
        source: ExpectationError,
    },
    /// A parameter that gives no values.
    #[error("parameter `{name}`: {reason}")]
    Parameter {
        /// The parameter.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A job that contradicts itself.
    #[error("{0}")]
    Job(String),
    /// A name without an address.
    #[error("cannot find the address of `{host}`: {source}; check the name, or give the address itself")]
    Resolve {
        /// The name.
        host: String,
        /// What the resolver says.
        source: std::io::Error,
    },
    /// Not one connection could be made.
    #[error("cannot connect to {address}: {reason}")]
    Unreachable {
        /// Address and port.
        address: String,
        /// What the kernel says.
        reason: String,
    },
    /// More connections than files may be open.
    #[error(
        "{connections} connections need {needed} open files, but this process may have {limit}: \
         run `ulimit -n {needed}` first (as root beyond the hard limit), or use fewer connections"
    )]
    FileLimit {
        /// Connections asked for.
        connections: u64,
        /// Open files that they need.
        needed: u64,
        /// The limit.
        limit: u64,
    },
    /// The transport that was asked for is not to be had.
    #[error("this kernel does not allow io_uring ({0}): use --transport epoll")]
    NoIoUring(std::io::Error),
    /// TLS cannot be set up.
    #[error("TLS: {0}")]
    Tls(String),
    /// The system refused something that every load needs.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the kernel says.
        source: std::io::Error,
    },
    /// A worker thread ended early.
    #[error("a worker thread of the generator panicked: this is a defect of prony, please report it")]
    WorkerPanicked,
    /// The caller stopped the load before the measurement began.
    #[error("stopped before the measurement began: there is nothing to report")]
    Stopped,
}

impl EngineError {
    /// What to do about it, where the text does not say so.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Unreachable { reason, .. } if reason.contains("CaUsedAsEndEntity") => {
                Some("The server's certificate is self-signed. Use --cacert FILE or --insecure.")
            }
            Self::Unreachable { reason, .. } if reason.starts_with("TLS") => {
                Some("Check the scheme (http or https) and the server's certificate.")
            }
            Self::Unreachable { .. } => Some("Check that the server is running and that this is its port."),
            _ => None,
        }
    }

    /// Whether the job itself is wrong, so that the same call fails again everywhere.
    pub const fn is_bad_input(&self) -> bool {
        match self {
            Self::Workload(_)
            | Self::Request { .. }
            | Self::Expectation { .. }
            | Self::Parameter { .. }
            | Self::Job(_)
            | Self::Resolve { .. }
            | Self::Tls(_) => true,
            Self::Unreachable { .. }
            | Self::FileLimit { .. }
            | Self::NoIoUring(_)
            | Self::System { .. }
            | Self::WorkerPanicked
            | Self::Stopped => false,
        }
    }
}
