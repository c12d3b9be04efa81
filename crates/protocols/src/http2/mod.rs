//! HTTP/2 (RFC 9113), as far as a client that accepts no pushed streams needs it.
//!
//! [`Connection`] is the state of one connection: frames, settings, flow control in both directions, streams.
//! [`Semantics`] defines what a reply means: [`Http`] here, gRPC in its own module. Start at `connection.rs`;
//! `frame.rs` and `hpack` hold the formats.
//!
//! No request is started before the service's SETTINGS arrive. Its stream limit, its windows and the size of its header
//! table apply from the first request on, so no request is refused because of a limit that was not known yet.

mod blocks;
mod connection;
mod control;
pub mod frame;
pub mod hpack;
mod prepared;
mod receive;
mod reply;
mod semantics;
mod send;
mod streams;
#[cfg(test)]
pub(crate) mod tests;

pub use blocks::{Block, ReplyHeaders};
pub(crate) use connection::write_preface;
pub use connection::{Connection, Http2WorkerState};
pub use prepared::{Dialect, Http2Request};
pub(crate) use semantics::pass_head;
pub use semantics::{Http, HttpReply, Rules, Semantics};

/// A plain HTTP/2 connection.
pub type Http2 = Connection<Http>;
