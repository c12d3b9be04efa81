//! Several hosts as one testbed: its hosts and their roles, the placement of the roles of a trial, the checks before a run, and
//! the connections to the hosts.
//!
//! Without a testbed file all roles are on this machine: [`Testbed::here`]. This module knows neither services nor contracts
//! nor trials. Start at [`Testbed`], which is built from a [`TestbedFile`].

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
pub(crate) use file::TestbedToml;
pub use file::{BuildAt, HostEntry, HostTransport, Roles, TestbedFile};
pub use hosts::{Member, Testbed};
pub use link::{LinkSpeed, measure_link, serve_link};
pub use network_limit::network_bound;
pub use preflight::{Finding, HostFound, Link, Preflight, Severity, links_to};
pub use reconnect::ReconnectingHost;
