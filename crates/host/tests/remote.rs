//! Runs the same tests through an agent. They must behave as on this machine. A separate test program, since the host of a
//! toy depends on the program's name.

mod attached;
mod common;
mod local;
mod rest;
#[path = "../../../tests/skip.rs"]
mod skip;
