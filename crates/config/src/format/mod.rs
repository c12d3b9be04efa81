//! The versions of the files that users write.

#![allow(dead_code, reason = "used once files have a version")]

mod comments;
mod document;
mod edit;
mod layout;
mod path;
