//! One file a command: its arguments, and `run`.

pub(crate) mod list;
