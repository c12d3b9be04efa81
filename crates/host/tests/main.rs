//! Tests of processes on this machine and of agents.

mod agent;
mod attached;
mod common;
mod local;
mod network;
mod orphans;
mod resources;
mod rest;
#[path = "../../../tests/skip.rs"]
mod skip;
mod ssh;
#[path = "../../../tests/testbed.rs"]
#[expect(dead_code, reason = "the black-box tests use the rest")]
mod testbed;
