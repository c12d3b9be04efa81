//! Through an agent everything is as it is on this machine: the same tests again. A program of its own, since the host of a
//! toy depends on the program's name.

mod attached;
mod common;
mod local;
mod rest;
#[path = "../../../tests/skip.rs"]
mod skip;
