//! One trial: start a service, wait until it is ready, check its contract, warm it up, measure, drain, check again, stop.
//! And a run: all trials of a plan, round by round.
//!
//! A service that fails any step is a row with a reason, never an error of the run. This crate must never generate load
//! itself: the generator is a process of its own, which is told a job and answers with events. Start at [`run_plan`], then
//! [`run_trial`]; [`Builder`] builds services, [`check`] checks a running one, [`steady`] says when one is warm.

mod began;
mod build;
mod cancel;
pub mod check;
mod failure;
mod fingerprint;
mod noise;
mod progress;
mod reach;
mod run;
mod script;
mod service;
pub mod steady;
mod trial;

pub use began::Began;
pub use build::{
    BuildEvent, Builder, Built, Folders, Found, InUse, builds_at_once, lacks_image, probe, room_for, system,
};
pub use cancel::Cancel;
pub use failure::Failure;
pub use fingerprint::{Fingerprints, Ignored};
pub use noise::{Noise, NoiseLimits};
pub use progress::Progress;
pub use run::{NextRound, Run, RunEnd, Watcher, run_plan};
pub use service::{ServiceRequest, check_service, with_service};
pub use trial::{
    Bench, Companion, Companions, Entered, Lane, Options, Seat, Seeds, SharedService, Start, Subject, Trial,
    TurnsOf, Window, enter, prepare, run_on, run_trial, run_turns, target_of,
};
