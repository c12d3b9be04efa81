//! Merging the results of several workers into one recording.

mod common;
mod merging;
mod starts;
