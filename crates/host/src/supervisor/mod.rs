//! The supervisor: this binary in another role, between prony and each process that it starts.
//!
//! It lives as long as anything below it does, and no longer than its caller: when its standard input ends, because
//! prony said so, crashed or was killed, it ends everything. It runs in one thread.

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
pub(crate) use protocol::{Attach, First, Notice, Order, Start};
pub use supervise::supervise;
pub(crate) use usage::{Machine, tick_ns};
