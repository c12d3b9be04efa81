//! Drafts of contracts from other sources.

mod bounds;
mod openapi;
mod written;
