//! Builds, starts and measures services by a design. One trial starts a service, waits until it is ready, checks its contract,
//! warms it up, measures, checks it again and stops it; a design says which trials there are and in which order.
//!
//! A service that fails any step is a row with a reason, never an error of the run. This crate must never generate load itself or
//! link the generator, which is a process of its own; it never prints and reads no arguments. Start at [`Session`], then
//! [`run_plan`] and [`run_trial`].

mod backing;
mod build;
pub mod calibration;
mod cancel;
pub mod check_services;
mod clock;
pub mod designs;
mod error;
mod failure;
mod fingerprint;
pub mod generators;
mod hex;
pub mod import_replies;
mod local_testbed;
mod machine;
mod noise;
mod objective;
mod port_probe;
mod progress;
pub mod project;
mod run;
mod script;
mod service;
mod session;
mod start_time;
mod strict;
pub mod testbed;
mod trial;
mod url_load;
pub mod warm_up;

pub use backing::{BackingProcess, BackingProcesses, Seeds, prepare};
pub use build::{
    BuildEvent, Builder, Built, Folders, Found, InUse, builds_at_once, lacks_image, probe, room_for, system,
};
pub use cancel::Cancel;
pub use designs::capacity::TestbedGenerator;
pub use designs::pair::{Pair, compare_side_by_side};
pub use error::BenchError;
pub use failure::Failure;
pub use fingerprint::{Fingerprints, Ignored};
pub use local_testbed::{Claim, Workbench, who_measures};
pub use machine::{is_free, machine, machine_of};
pub use noise::{Noise, NoiseLimits};
pub use objective::{Judged, duration, judge, missed_by, number, percent, percent_down};
pub use progress::Progress;
pub use project::{Checkout, Chosen, Named, PROJECT_FILE, choose, common, find, shipped, shipped_contracts};
pub use run::{NextRound, Run, RunEnd, Watcher, run_plan};
pub use service::{ServiceRequest, check_service, with_service};
pub use session::{
    AllBuilt, Resumed, Saving, Session, Shows, add_ceilings, neighbours, service_infos, summary,
    wished_precision,
};
pub use start_time::Began;
pub use strict::{Verdict, is_measured, strictly};
pub use trial::{
    Bench, Entered, InterleavedOptions, Lane, Options, Seat, SharedService, Start, Subject, Trial, Window,
    enter, run_on, run_trial, run_turns, target_of,
};
pub use url_load::UrlLoad;
