//! Drafts of contracts from other sources.

mod bounds;
mod curl;
mod described;
mod drafts;
mod har;
mod openapi;
mod postman;
mod written;
