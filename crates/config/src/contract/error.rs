//! Errors of contracts, with their position and the remedy.

use crate::source_file::{FileError, SourceFile};
use std::path::PathBuf;

/// An error in a contract, or in a query about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContractError {
    /// A file that cannot be read.
    #[error("cannot read {path}: {reason}")]
    Unreadable {
        path: PathBuf,
        /// The error of the system.
        reason: String,
    },
    /// A malformed file, or impossible values.
    #[error("{path}:{line}: {message}")]
    Invalid {
        path: PathBuf,
        line: usize,
        /// The key, what is wrong with it, and what is allowed.
        message: String,
    },
    /// A query for something that the contract does not have.
    #[error("contract `{contract}` has no {kind} `{name}`: {allowed}")]
    Unknown {
        contract: String,
        /// `workload`, `operation`, …
        kind: &'static str,
        name: String,
        /// The existing names.
        allowed: String,
    },
}

/// A file of a contract.
pub(crate) type File = SourceFile<ContractError>;

impl FileError for ContractError {
    fn unreadable(path: PathBuf, reason: String) -> Self {
        Self::Unreadable { path, reason }
    }

    fn invalid(path: PathBuf, line: usize, message: String) -> Self {
        Self::Invalid { path, line, message }
    }
}

/// The names as a sentence.
pub(crate) fn known<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    if names.is_empty() {
        "there is none".to_owned()
    } else {
        format!("known are {}", names.join(", "))
    }
}
