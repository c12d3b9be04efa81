//! Bodies that are worked out for each reply.

mod formula;
mod list;
mod uploaded;

pub(super) use list::CompiledList;
pub use list::List;
pub(super) use uploaded::Upload;
