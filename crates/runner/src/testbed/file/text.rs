//! Errors in a testbed file, with their line.

use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be read.
    #[error("cannot read {path}: {reason}")]
    Unreadable {
        path: PathBuf,
        /// The error of the operating system.
        reason: String,
    },
    /// The file has a wrong format or impossible values.
    #[error("{path}:{line}: {message}")]
    Invalid {
        path: PathBuf,
        /// The line, starting at 1.
        line: usize,
        /// The key, the problem, and the permitted values.
        message: String,
    },
}

/// The text, used to find the line of an error.
pub(super) struct Text<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
}

impl Text<'_> {
    /// An error at this byte offset.
    pub(super) fn wrong(&self, at: usize, message: impl Into<String>) -> FileError {
        FileError::Invalid {
            path: self.path.to_owned(),
            line: self.text[..at.min(self.text.len())].matches('\n').count() + 1,
            message: message.into(),
        }
    }
}
