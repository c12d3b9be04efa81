//! Reads and validates everything that users write: contracts ([`contract`]), services, suites and backing services, and
//! drafts of contracts from the exports of other tools ([`import`]). A suite becomes a [`Plan`]: the services, workloads and
//! loads, and the order of the trials.
//!
//! Every mistake is reported here with file, line and key, before anything starts. This crate must never start a process,
//! open a socket or print. Start at [`Catalogue::read`] (what exists) and [`Plan::of`] (what to run).

mod backing;
mod catalogue;
mod channel;
pub mod contract;
pub mod format;
pub mod guess;
pub mod import;
pub mod input;
mod load_table;
mod machine;
mod plan;
pub mod project;
pub mod schemas;
mod service;
mod suite;
pub mod target;
mod toolchain;
mod verify;

pub use backing::{BackingDefinition, ReadinessCheck, StopSignal};
pub use catalogue::{BrokenDefinition, Catalogue};
pub use channel::{Channel, TlsProtocol};
pub use format::ConfigError;
pub use machine::{Address, Machine};
pub use plan::{Entry, GroupOutline, GroupPlan, Plan, PlanOutline, PlanOverrides, PlannedTrial};
pub use service::{
    AS_INSTALLED, Class, ExternalService, Image, PathPatterns, Revision, Service, ServiceOrigin, Source,
    SourceFiles, UsageSource, WorkerKind, Workers,
};
pub use suite::{
    Design, Factor, GroupSpans, LimitSpans, Limits, Network, RankBy, StartKind, StartPlan, Starts, Suite,
    SuiteGroup, WarmUpChoice,
};
pub use toolchain::{Requirement, System, Toolchain, Version};
