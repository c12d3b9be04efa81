//! Types of measured data and their JSON format: the output of a generator ([`Event`], [`Recording`]), the resources a service
//! used ([`Resources`]), the environment ([`Environment`]), and the records that the store keeps of a trial ([`TrialRecord`]) and
//! of a run ([`RunRecord`]).
//!
//! Plain data with units in the names. This crate must never measure anything itself, and never invent a number: an unknown value
//! is `None`, never 0. Start at [`TrialRecord`].

#![warn(missing_docs)]

#[cfg(not(target_os = "linux"))]
compile_error!(
    "prony measures on Linux only: build and run it on a Linux machine, virtual machine or container"
);

mod arithmetic;
mod backing_service;
pub mod bounded_json;
mod environment;
mod event;
mod fingerprint;
mod interleaved;
mod load_id;
mod paired;
mod recording;
mod resources;
mod run_name;
mod trial;
mod upgrade;
mod verdict;
mod warning;

pub use arithmetic::{busy_slots, cpu_per_request, little};
pub use backing_service::{BackingUsage, ConnectionSamples, SentEvents};
pub use environment::{CallerVariables, Cpu, Environment, Finding, TestbedHost, TestbedLink};
pub use event::{Command, Event, Phase};
pub use fingerprint::{Fingerprint, Part};
pub use interleaved::{InterleavedWindow, InterleavedWindows};
pub use load_id::load_id;
pub use paired::{PairedBlock, PairedBlocks, PairedTimes, slope};
pub use recording::{
    Address, AgreedTls, Answers, BEYOND, BytesMoved, CommonStart, CompactHistogram, CompactSum, Connections,
    Coverage, DecodedBodies, Distribution, Generator, GoodputStreams, Handshakes, Histogram, HistogramError,
    Interval, IntervalPart, Latency, Llm, Log, MessageIds, Messages, Network, Occupancy, OperationRecording,
    Outcome, Outcomes, Quantile, Recording, Requests, ResponseTimes, Responses, Rooms, SCHEMA,
    StageRecording, StreamRate, Streams, Timing, Timings, UnexpectedReply, Usage, UserCounts, WorkerNow,
    WorkerRow, WorkerState, is_supported,
};
pub use resources::{Footprint, ResourceSample, Resources, StartUp, SteadyRate};
pub use run_name::{RunNameError, check_run_name};
pub use trial::{
    AfterLoad, CaseFailure, CheckMatrix, Classification, Exclusion, Fault, Measurement, RunRecord,
    SAVED_LOADS, ServiceCheck, ServiceId, ServiceInfo, SharedStart, StartFiles, Steadiness, TrialRecord,
    TrialStage, that_count,
};
pub use upgrade::upgrade;
pub use verdict::{Verdict, count, plural, verdict};
pub use warning::{Bottleneck, Facts, Figures, Level, Scope, Warning, WarningKind};
