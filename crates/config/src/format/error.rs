//! Errors of files and of queries about them.

use super::{Diagnostic, Diagnostics};
use std::io;
use std::path::{Path, PathBuf};

/// An error in the files of a project, or in a query about them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A file that cannot be read.
    #[error("cannot read {path}: {reason}")]
    Unreadable {
        path: PathBuf,
        /// The error of the system.
        reason: String,
    },
    /// Malformed files, or impossible values.
    #[error("{0}")]
    Files(Diagnostics),
    /// A query for something that does not exist.
    #[error("no {kind} `{name}`: {allowed}")]
    Unknown {
        /// `service`, `suite`, `contract`, …
        kind: &'static str,
        name: String,
        /// The existing names.
        allowed: String,
    },
    /// A query for something that a contract does not have.
    #[error("contract `{contract}` has no {kind} `{name}`: {allowed}")]
    UnknownInContract {
        contract: String,
        /// `workload`, `operation`, …
        kind: &'static str,
        name: String,
        /// The existing names.
        allowed: String,
    },
    /// A plan without any trial.
    #[error("nothing to run: {0}")]
    Empty(String),
}

impl ConfigError {
    /// The errors as those of files. `file`: the file that was read.
    pub fn into_diagnostics(self, file: &Path) -> Diagnostics {
        match self {
            Self::Files(found) => found,
            Self::Unreadable { path, reason } => Diagnostics(vec![Diagnostic::of_file(
                &path,
                format!("the file cannot be read: {reason}"),
            )]),
            other => Diagnostics(vec![Diagnostic::of_file(file, other.to_string())]),
        }
    }
}

/// Why a file cannot be read, after the name of the file.
pub(crate) fn io_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "it may not be read".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        io::ErrorKind::InvalidData => "it is not a text in UTF-8".to_owned(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or_default().to_owned()
        }
    }
}
