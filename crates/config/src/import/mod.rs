//! Drafts of contracts, from what people have: an OpenAPI description, a HAR file, lines of curl, a Postman collection, and
//! replies that were recorded. A [`Draft`] is what such a source says; [`Draft::files`] writes it as the files of a contract.
//!
//! This crate reads files and nothing else: it must never open a socket, print, or know a terminal. Sending requests is up to
//! others; [`learn`] makes of two replies what a third must be. Start at [`Draft`].

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
pub use replies::{Learnt, Recorded, learn};
