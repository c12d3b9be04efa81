//! Drafts of contracts from other sources.

mod openapi;
mod written;
