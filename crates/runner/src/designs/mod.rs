//! How services are compared: which trials there are, and in which order.

pub mod duet;
pub mod pair;

pub use crate::capacity;
