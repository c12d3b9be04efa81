//! Records of what was measured, and their format: what a generator says ([`Event`], [`Recording`]), what a service used
//! ([`Resources`]), where it happened ([`Environment`]), and what the store keeps of a trial ([`TrialRecord`]) and of a
//! run ([`RunRecord`]).
//!
//! Plain data with units in the names. This crate must never measure anything itself, and never invent a number: what is
//! not known is `None`, never 0. Start at [`TrialRecord`].

#![warn(missing_docs)]

#[cfg(not(target_os = "linux"))]
compile_error!(
    "prony measures on Linux only: build and run it there, on a machine, a virtual machine or a container"
);

mod arithmetic;
mod check;
mod companion;
mod environment;
mod event;
mod fingerprint;
mod interleaved;
mod recording;
mod resources;
mod trial;
mod verdict;
mod warning;

pub use arithmetic::{busy_slots, cpu_per_request, little};
pub use check::{CaseFailure, CheckMatrix, ServiceCheck};
pub use companion::{CompanionUse, Watched};
pub use environment::{Cpu, Environment, Finding, LabHost, LabLink};
pub use event::{Command, Event, Phase};
pub use fingerprint::{Fingerprint, Part};
pub use interleaved::{TurnWindow, Turns};
pub use recording::{
    Address, Answers, BEYOND, BytesMoved, CommonStart, CompactHistogram, CompactSum, Connections, Coverage,
    DecodedBodies, Generator, Good, Handshakes, Histogram, HistogramError, Interval, IntervalPart, Latency,
    Llm, Log, MessageIds, Messages, Network, Occupancy, OperationRecording, Outcome, Outcomes, Quantile,
    Recording, Requests, ResponseTimes, Responses, Rooms, SCHEMA, StageRecording, StreamRate, Streams, Usage,
    WorkerNow, WorkerRow, WorkerState, WrongReply, is_supported,
};
pub use resources::{ResourceSample, Resources, StartUp};
pub use trial::{
    AfterLoad, Classification, Exclusion, Fault, Measurement, RunRecord, ServiceId, ServiceInfo, SharedStart,
    Stage, Steadiness, TrialRecord, that_count,
};
pub use verdict::{Verdict, count, verdict};
pub use warning::{Bottleneck, Facts, Figures, Level, Scope, Warning, WarningKind};
