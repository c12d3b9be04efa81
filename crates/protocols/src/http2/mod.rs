//! HTTP/2 (RFC 9113), as far as a client that accepts no pushed streams needs it.
//!
//! [`Connection`] is the state of one connection: frames, settings, flow control both ways, streams. What a reply means is
//! left to [`Semantics`]: [`Http`] here, gRPC next door. Start at `connection.rs`; `frame.rs` and `hpack` hold the formats.
//!
//! No request is started before the service's SETTINGS are there: its limit of streams, its windows and the size of its
//! header table are in force from the first request on, so that none is refused for a limit that was not known yet.

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

pub use blocks::{Block, Meaning};
pub(crate) use connection::write_preface;
pub use connection::{Connection, Shared};
pub use prepared::{Dialect, Prepared};
pub(crate) use semantics::pass_head;
pub use semantics::{Http, HttpReply, Rules, Semantics};

/// Plain HTTP/2.
pub type Http2 = Connection<Http>;
