//! Suite and service files become a validated [`Plan`]: which services, under which workload and load, in which order.
//!
//! Everything that a user may have written wrong is found here, with file, line and key, before anything starts. This
//! crate must never start a process or open a socket. Start at [`Catalogue::read`] (what there is) and [`Plan::of`]
//! (what is to be done with it).

mod catalogue;
mod companion;
mod error;
mod machine;
mod maker;
mod of_group;
mod plan;
mod read;
mod service;
mod suite;
pub mod target;
mod toolchain;

pub use catalogue::Catalogue;
pub use companion::{Companion, Ready, StopSignal};
pub use error::PlanError;
pub use machine::{Address, Machine};
pub use plan::{Entry, GroupPlan, Plan, PlannedTrial, Wishes};
pub use service::{AS_INSTALLED, Class, Counted, Image, Reached, Service, There, Workers, WorkersUse};
pub use suite::{Design, LimitLines, Limits, Network, RankBy, Starts, Suite, SuiteGroup, WarmUpChoice};
pub use toolchain::{Requirement, System, Toolchain, Version};
