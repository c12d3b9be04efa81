//! What may be wrong with a contract, with the place and the remedy.

use serde::de::DeserializeOwned;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What is wrong with a contract, or with what was asked of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContractError {
    /// A file that cannot be read.
    #[error("cannot read {path}: {reason}")]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// A file that breaks its format, or says something impossible.
    #[error("{path}:{line}: {message}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The key, what is wrong with it, and what is allowed.
        message: String,
    },
    /// Something asked for that the contract does not have.
    #[error("contract `{contract}` has no {kind} `{name}`: {allowed}")]
    Unknown {
        /// The contract.
        contract: String,
        /// `workload`, `operation`, …
        kind: &'static str,
        /// What was asked for.
        name: String,
        /// What there is.
        allowed: String,
    },
}

/// A file's text, kept so that an error can name the line of a span.
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
