//! HTTP/1.1, HTTP/2, gRPC, WebSocket and TLS for clients, without sockets: bytes in, replies out; requests in,
//! bytes out.
//!
//! The generator drives these state machines from its event loops, and [`client`] from a blocking socket: a check and a load
//! read replies by the same rules. All but `client` must never open a socket, read a clock or know a contract, so that a test
//! can feed any bytes in any pieces. Start at [`protocol::Protocol`].

pub mod client;
pub mod grpc;
pub mod http1;
pub mod http2;
pub mod layer;
pub mod protocol;
mod request_rules;
pub mod request_values;
pub mod tls;
pub mod websocket;
