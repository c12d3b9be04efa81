//! The text of a testbed file, and what is wrong with it.

use std::path::{Path, PathBuf};

/// What is wrong with a testbed file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("cannot read {path}: {reason}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// It breaks the format, or says something impossible.
    #[error("{path}:{line}: {message}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The key, what is wrong with it, and what is allowed.
        message: String,
    },
}

/// The text, for errors that name the line.
pub(super) struct Text<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
}

impl Text<'_> {
    /// Something wrong at a byte.
    pub(super) fn wrong(&self, at: usize, message: impl Into<String>) -> FileError {
        FileError::Invalid {
            path: self.path.to_owned(),
            line: self.text[..at.min(self.text.len())].matches('\n').count() + 1,
            message: message.into(),
        }
    }
}
