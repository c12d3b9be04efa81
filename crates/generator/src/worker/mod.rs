//! One thread: it owns its connections, its histograms and its counters, and runs the phases of the load.
//!
//! [`policy`] says how requests arrive; `core` does what it says, without sockets: what happened goes in, what to do comes
//! out as actions. [`run`] is the loop around it: it moves the core's bytes and tells it the time.

mod backlog;
mod core;
mod intervals;
mod lines;
mod phases;
mod policy;
mod run;
mod sample;
#[cfg(test)]
mod simulated;
mod sink;
mod slots;
mod source;
mod stream;
mod timers;

pub(crate) use self::backlog::Backlog;
pub(crate) use self::lines::{Control, Counted, Lines, Message, Pool, Report};
pub(crate) use self::run::{Spoken, Worker};
