//! Drafts of contracts from existing sources: an OpenAPI description, a HAR file, curl commands, a Postman collection, and
//! recorded replies. A [`Draft`] holds the content of such a source; [`Draft::files`] writes it as the files of a contract.
//!
//! This module only reads files: it must never open a socket, print, or use a terminal. The caller sends requests; [`learn`]
//! derives the expectation of a third reply from two. Start at [`Draft`].

mod curl;
mod document;
mod draft;
mod error;
mod har;
mod message;
mod openapi;
mod postman;
mod replies;
mod write;

pub use curl::{from_curl, from_nothing, from_url};
pub use draft::{Body, Draft, Expect, ExpectedBody, Operation};
pub use error::DraftError;
pub use har::from_har;
pub use openapi::from_openapi;
pub use postman::from_postman;
pub use replies::{InferredExpectation, RecordedReply, learn};
