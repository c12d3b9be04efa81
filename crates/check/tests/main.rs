//! Toy servers with one fault each: the check must reject every one with a message that names the fault, and the correct server
//! must pass.

mod carried;
mod catalog;
mod documented;
mod echo;
mod events;
mod files;
#[path = "../../cli/tests/common/tls.rs"]
mod front;
mod gateway;
mod grpc;
mod hello;
mod listening;
mod mcp;
mod mutants;
mod person;
mod relay;
mod right;
mod room;
mod sequence;
#[path = "../../../tests/skip.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod skip;
mod snoop;
mod stream;
mod tls;
mod tls_mutants;
mod toy;
mod upload;

pub(crate) use mutants::*;
