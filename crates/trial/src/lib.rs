//! One trial: start a service, wait until it is ready, check its contract, warm it up, measure, drain, check again, stop.
//! And a run: all trials of a plan, round by round.
//!
//! A service that fails any step is a row with a reason, never an error of the run. This crate must never generate load
//! itself: the generator is a process of its own, which is told a job and answers with events. Start at [`run_plan`], then
//! [`run_trial`]; [`Builder`] builds services, [`check`] checks a running one, [`steady`] says when one is warm.

pub mod backend;
mod build;
mod cancel;
pub mod check;
mod failure;
mod generator;
mod progress;
mod run;
pub mod steady;
mod trial;

pub use build::{Builder, Built, Folders, Found, probe};
pub use cancel::Cancel;
pub use failure::Failure;
pub use generator::{Generator, Heard, Loading, ProcessGenerator};
pub use progress::Progress;
pub use run::{NextRound, NoiseLimits, Run, RunEnd, Watcher, idle, run_plan};
pub use trial::{
    Bench, Options, Subject, Trial, run_trial, start_backend, start_service, target_of, wait_until_ready,
};
