//! Drafts of contracts from what people have.

mod openapi;
