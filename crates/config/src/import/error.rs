//! What keeps a source from becoming a draft.

/// Why there is no draft.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DraftError {
    /// A file that cannot be read.
    #[error("cannot read {file}: {reason}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system says.
        reason: String,
    },
    /// Something in a file that is broken, or that a contract cannot say.
    #[error("{file}:{line}: {message}")]
    Invalid {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what to do.
        message: String,
    },
    /// A line of curl that is not understood.
    #[error("--curl number {number}: {message}")]
    Curl {
        /// Which one, from 1.
        number: usize,
        /// What is wrong, and what to do.
        message: String,
    },
    /// A source without anything that a contract can ask.
    #[error("{0}")]
    Empty(String),
}
