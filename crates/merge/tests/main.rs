//! Recordings of several workers become one.

mod common;
mod merging;
mod starts;
