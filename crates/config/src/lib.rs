//! Everything that people write, read and validated: contracts ([`contract`]), services, suites and backing services, and
//! drafts of contracts from what other tools export ([`import`]). A suite becomes a [`Plan`]: which services, under which
//! workload and load, in which order.
//!
//! Every mistake is reported here with file, line and key, before anything starts. This crate must never start a process,
//! open a socket or print. Start at [`Catalogue::read`] (what exists) and [`Plan::of`] (what is to be done with it).

mod backing;
mod catalogue;
pub mod contract;
mod error;
pub mod import;
pub mod input;
mod machine;
mod plan;
mod read;
mod service;
mod suite;
pub mod target;
mod toolchain;

pub use backing::{Companion, Ready, StopSignal};
pub use catalogue::Catalogue;
pub use error::PlanError;
pub use machine::{Address, Machine};
pub use plan::{Entry, GroupPlan, Plan, PlannedTrial, Wishes};
pub use service::{AS_INSTALLED, Class, Counted, Image, Reached, Service, There, Workers, WorkersUse};
pub use suite::{Design, LimitLines, Limits, Network, RankBy, Starts, Suite, SuiteGroup, WarmUpChoice};
pub use toolchain::{Requirement, System, Toolchain, Version};
