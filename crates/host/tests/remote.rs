//! Through an agent everything is as it is on this machine: the same tests again.
#![allow(clippy::duplicate_mod, reason = "each set of tests brings what it needs")]

#[path = "attached.rs"]
mod attached;
#[path = "local.rs"]
mod local;
#[path = "rest.rs"]
mod rest;
