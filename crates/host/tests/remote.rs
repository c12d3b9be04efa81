//! Through an agent everything is as it is on this machine: the same tests again.

#[path = "attached.rs"]
mod attached;
#[path = "local.rs"]
mod local;
#[path = "rest.rs"]
mod rest;
