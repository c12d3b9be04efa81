//! The format of files: former files, and published schemas.

mod former;
pub(crate) mod schema;
mod wrong;
