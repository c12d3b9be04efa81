//! Drafts of contracts from existing sources: an OpenAPI description, a HAR file, curl commands, a Postman collection, and
//! recorded replies. A [`Draft`] holds the content of such a source; [`Draft::files`] writes it as the files of a contract.
//!
//! This module only reads files: it must never open a socket, print, or use a terminal. The caller sends requests; [`learn`]
//! derives the expectation of a third reply from two. Start at [`Draft`].

mod curl;
mod document;
mod draft;
mod har;
mod message;
mod openapi;
mod postman;
mod redact;
mod replies;
mod size;
mod write;

pub use curl::{from_curl, from_nothing, from_paths, from_url};
pub use draft::{Body, Draft, DraftCounts, Expect, ExpectedBody, Omission, Operation, Success};
pub use har::from_har;
pub use openapi::from_openapi;
pub use postman::from_postman;
pub use replies::{InferredExpectation, RecordedReply, learn};

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
    /// A source without any request that a contract can send.
    #[error("{0}")]
    Empty(String),
}

/// The most reasons in an error.
const MOST_REASONS: usize = 20;

impl DraftError {
    /// No request of a source is in its draft.
    fn nothing(omitted: &[Omission]) -> Self {
        let reason = |omission: &Omission| format!("{}: {}", omission.place, omission.reason);
        if let [only] = omitted {
            return Self::Empty(reason(only));
        }
        let mut lines = vec!["no request that a contract can send:".to_owned()];
        lines.extend(omitted.iter().take(MOST_REASONS).map(reason));
        if let Some(more) = omitted.len().checked_sub(MOST_REASONS).filter(|more| *more > 0) {
            lines.push(format!("and {more} more"));
        }
        Self::Empty(lines.join("\n  "))
    }
}
