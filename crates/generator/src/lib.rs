//! The load generator: runs a [`Job`](prony_load::Job) over sockets, and returns a
//! [`Recording`](prony_records::Recording).
//!
//! It knows no service, no contract file and no TOML, and it must never lie: what it could not send or could not time
//! is reported in the recording. Between warm-up and drain, a worker takes no lock and allocates nothing per request.
//!
//! Start at [`run`]. The modules in the order of the data flow: `transport` sends and receives bytes; `pacer` decides
//! when to send; `worker` combines them with a protocol, one thread per core; `recorder` counts. Protocols and TLS
//! are in the crate `prony_protocols`; `prony_merge` assembles the recording and checks it for reasons for warnings.

mod clock;
mod cookies;
mod error;
mod log;
mod os;
mod pacer;
mod partial_reply;
mod recorder;
mod redirect;
mod resolve;
mod run;
mod transport;
mod worker;
mod workload;

pub use error::EngineError;
pub use run::{run, run_part};
