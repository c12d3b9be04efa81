//! The real binary from outside, in a checkout of toys.

mod common;
mod doctor;
mod kills;
mod new;
mod run;
