//! Errors of contracts, with their position and the remedy.

use serde::de::DeserializeOwned;
use std::ops::Range;
use std::path::{Path, PathBuf};

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

/// A file's text, kept to find the line of a span for errors.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) path: PathBuf,
    text: String,
}

impl File {
    pub(crate) fn read(path: &Path) -> Result<Self, ContractError> {
        let text = std::fs::read_to_string(path).map_err(|error| ContractError::Unreadable {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
        Ok(Self {
            path: path.to_owned(),
            text,
        })
    }

    pub(crate) fn parse<T: DeserializeOwned>(&self) -> Result<T, ContractError> {
        toml::from_str(&self.text).map_err(|error| {
            let message = error.message().trim().replace('\n', "; ");
            self.invalid(error.span().unwrap_or(0..0), message)
        })
    }

    /// An error at a span of this file.
    pub(crate) fn invalid(&self, span: Range<usize>, message: impl Into<String>) -> ContractError {
        ContractError::Invalid {
            path: self.path.clone(),
            line: self.text[..span.start.min(self.text.len())].matches('\n').count() + 1,
            message: message.into(),
        }
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
