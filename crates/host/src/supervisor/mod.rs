//! The supervisor: this binary in another role, between prony and each process that prony starts.
//!
//! It runs until everything below it has ended. When its standard input ends, because prony closed it, crashed or was
//! killed, it ends everything. It is single-threaded.

mod attached;
mod child;
mod commands;
mod container;
mod log;
mod protocol;
mod reaper;
mod run;
mod supervise;
mod usage;

pub(crate) use child::{TREE, pin, pin_thread};
pub(crate) use protocol::{Attach, Order, Start, SupervisorCommand, SupervisorEvent};
pub use supervise::supervise;
pub(crate) use usage::{Machine, tick_ns};
