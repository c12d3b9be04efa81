//! Errors of sources for drafts.

/// Why there is no draft.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DraftError {
    /// A file that cannot be read.
    #[error("cannot read {file}: {reason}")]
    Unreadable {
        file: String,
        /// The error of the system.
        reason: String,
    },
    /// A malformed part of a file, or one that a contract cannot express.
    #[error("{file}:{line}: {message}")]
    Invalid {
        file: String,
        line: usize,
        /// The error, and the remedy.
        message: String,
    },
    /// A curl command that is not supported.
    #[error("--curl number {number}: {message}")]
    Curl {
        /// The number of the command, from 1.
        number: usize,
        /// The error, and the remedy.
        message: String,
    },
    /// A source without any request that a contract can send.
    #[error("{0}")]
    Empty(String),
}
