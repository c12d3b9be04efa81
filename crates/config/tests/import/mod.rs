//! Drafts of contracts from other sources.

mod bounds;
mod described;
mod openapi;
mod written;
