//! Records of what was measured, and their format: what a generator says ([`Event`], [`Recording`]), what a service used
//! ([`Resources`]), where it happened ([`Environment`]), and what the store keeps of a trial ([`TrialRecord`]) and of a
//! run ([`RunRecord`]).
//!
//! Plain data with units in the names. This crate must never measure anything itself, and never invent a number: what is
//! not known is `None`, never 0. Start at [`TrialRecord`].

mod check;
mod environment;
mod event;
mod histogram;
mod outcome;
mod recording;
mod resources;
mod trial;
mod warning;

pub use check::{CaseFailure, CheckMatrix, ServiceCheck};
pub use environment::{Cpu, Environment, Finding};
pub use event::{Command, Event, Phase};
pub use histogram::{Histogram, HistogramError};
pub use outcome::{Outcome, Outcomes};
pub use recording::{
    BytesMoved, Connections, Generator, Interval, Latency, Messages, OperationRecording, Recording, Requests,
    SCHEMA, WrongReply,
};
pub use resources::{ResourceSample, Resources, StartUp};
pub use trial::{
    Classification, Exclusion, Measurement, RunRecord, ServiceId, Stage, Steadiness, TrialRecord,
};
pub use warning::{Warning, WarningKind};
