//! Loads over real sockets: what the engine sends, what it reads, and what it records.

// First: its macro makes the tests of the others.
#[macro_use]
mod toy;

mod closed;
mod endings;
mod faults;
mod grpc;
mod http2;
mod open;
#[path = "../../../tests/ports.rs"]
mod ports;
mod reach;
mod rooms;
mod streams;
mod tls;
mod truth;
mod websocket;
mod wire;
mod workers;
