//! Builds, starts and measures services by a design. One trial starts a service, waits until it is ready, checks its contract,
//! warms it up, measures, checks it again and stops it; a design says which trials there are and in which order.
//!
//! A service that fails any step is a row with a reason, never an error of the run. This crate must never generate load itself or
//! link the generator, which is a process of its own; it never prints and reads no arguments. Start at [`Session`], then
//! [`execute`].

mod backing;
mod bottleneck;
mod build;
pub mod calibration;
mod cancel;
mod certificates;
pub mod check_services;
pub mod comparisons;
mod context;
pub mod designs;
mod digest;
mod error;
mod execute;
mod failure;
mod fingerprint;
mod first_start;
pub mod generators;
mod git;
mod history;
pub mod import_replies;
mod job;
mod journal;
mod limits;
mod load_monitor;
mod local_testbed;
mod machine;
mod noise;
mod objective;
pub mod project;
mod project_files;
mod schedule;
mod schema;
mod script;
pub mod secrets;
mod seeds;
mod service;
mod services;
mod session;
mod source_files;
mod start;
mod start_time;
mod strict;
pub mod testbed;
mod trial;
mod trial_placement;
mod url_load;
mod usage;
mod values;
pub mod warm_up;
mod withheld;

pub use backing::{BackingProcess, BackingProcesses, prepare};
pub use build::{
    BuildEvent, BuildLock, BuildOutput, Builder, Folders, InstalledToolchain, builds_at_once, lacks_image,
    probe, room_for, system,
};
pub use cancel::Cancel;
pub use certificates::Certificates;
pub use comparisons::pair::{ComparisonPair, PairResult, ResumeFrom, compare_side_by_side};
pub use comparisons::revisions::{RevisionPairs, ServiceLeftOut};
pub use context::{Options, Run, RunContext};
pub use error::CommandError;
pub use execute::execute;
pub use failure::Failure;
pub use fingerprint::{Fingerprints, IgnoredFiles};
pub use first_start::{FirstStart, first_start};
pub use git::{ignored_by_git, repository_name};
pub use history::{History, TrialId};
pub use job::target_of;
pub use journal::{Journal, JournalError, NextRound, Progress, RunEnd};
pub use local_testbed::{Claim, LocalTestbed, who_measures};
pub use machine::{is_free, machine, machine_of};
pub use noise::{Noise, NoiseLimits};
pub use objective::{ConditionResult, duration, judge, missed_by, number, percent, percent_down};
pub use project::catalogue_warning;
pub use project::{
    ChangedServices, Checkout, PROJECT_FILE, ProjectRevision, SelectedService, ServiceChange,
    ServiceChangeKind, ServiceSelector, changed_services, choose, common, find, is_uncommitted, shipped,
    shipped_contracts,
};
pub use project_files::{ProjectFile, known_files, upgraded_file, verify_file};
pub use schedule::{
    Block, BlockPlacement, Design, LoadId, LoadRun, OnFailure, Outcome, Purpose, RestPoint, ServiceStart,
    Slot, Step, StepResult, WarmUp, WindowPosition,
};
pub use schema::{extended_schema, schema_of, write_missing_schemas};
pub use seeds::Seeds;
pub use service::{ServiceRequest, check_service, with_service};
pub use session::{
    BuildResults, REQUESTS_SETTING, ReservedRun, ResumeOptions, ResumedRun, Session, SessionObserver,
    add_ceilings, neighbours, precision_of, service_infos, summary,
};
pub use start::{Start, StartedService};
pub use start_time::StartTime;
pub use strict::{Verdict, is_measured, strictly};
pub use trial_placement::{ConcurrentSlot, TrialPlacement};
pub use url_load::UrlLoad;
