//! Loads over real sockets: the data that the generator sends, receives and records.

// First, because its macro creates the tests of the others.
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
