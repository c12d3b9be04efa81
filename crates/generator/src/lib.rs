//! The load generator: a [`Job`](prony_load::Job) in, requests out of sockets, a
//! [`Recording`](prony_records::Recording) back.
//!
//! It knows no service, no contract file and no TOML, and it must never lie: what it could not send or could not time is
//! said in the recording. Between warm-up and drain a worker takes no lock and allocates nothing per request.
//!
//! Start at [`run`]. The data flow, which is also the reading order: `protocol` turns bytes into replies and knows no
//! socket; `layer` stands between bytes and protocol where TLS is spoken; `transport` moves bytes; `pacer` decides when to
//! send; `worker` puts them together, one thread a core; `recorder` counts; the crate `recording` puts
//! the recording together, and looks for reasons to doubt it.

mod clock;
mod error;
mod kept;
mod log;
mod pacer;
mod reach;
mod recorder;
mod run;
mod system;
mod transport;
mod worker;
mod workload;

pub use error::EngineError;
pub use run::{run, run_part};
