//! Bodies that are computed for each reply.

mod formula;
mod list;
mod uploaded;

pub(super) use formula::Formula;
pub use formula::evaluate_formulas;
pub(super) use list::CompiledList;
pub use list::List;
pub(super) use uploaded::Upload;
