//! One thread of the generator: it owns its connections, histograms and counters, and runs the phases of the load.
//!
//! [`load_models`] decides how requests arrive; `core` executes that without sockets: events go in, and actions come out.
//! [`run`] is the loop around it: it sends and receives the core's bytes and passes it the time.

mod backlog;
mod channels;
mod core;
mod intervals;
mod load_models;
mod phases;
mod reply_stream;
mod run;
#[cfg(test)]
mod simulated;
mod sink;
mod slots;
mod source;
mod timers;

pub(crate) use self::backlog::Backlog;
pub(crate) use self::channels::{Control, Message, Pool, Report, WorkerChannels, WorkerInterval};
pub(crate) use self::run::{ProtocolStack, Worker};
