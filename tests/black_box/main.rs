//! The real binary from outside, in a checkout of toys.

mod calibrate;
mod common;
mod doctor;
mod duet;
mod kills;
mod new;
mod run;
mod suites;
mod view;
