//! One file a command: its arguments, and `run`.

pub(crate) mod list;
pub(crate) mod load;
pub(crate) mod new;
