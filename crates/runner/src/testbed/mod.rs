//! Several hosts as one bench: which there are and what each is for, which role of a trial runs where, what is found wrong
//! before anything is measured, and one load made by many workers.
//!
//! Without a lab file all roles are on this machine, and nothing here differs from it: [`Lab::here`]. This crate knows no
//! service, no contract and no trial. Start at [`Lab`]; [`LabFile`] is what people write, [`Generator`] what makes load.

pub(crate) mod clocks;
mod connect;
mod file;
mod hosts;
pub mod json_lines_process;
mod link;
mod network_limit;
pub(crate) mod placement;
mod preflight;
mod reconnect;

pub use connect::{Claims, Controller};
pub use file::{BuildAt, FileError, HostEntry, LabFile, Roles, Way};
pub use hosts::{Lab, Member};
pub use link::{LinkSpeed, measure_link, serve_link};
pub use network_limit::network_bound;
pub use preflight::{Finding, HostFound, Link, Preflight, Severity, links_to};
pub use reconnect::Reached;
