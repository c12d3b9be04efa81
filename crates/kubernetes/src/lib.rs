//! Pods of a Kubernetes cluster as hosts of a testbed: creates them, watches them, connects to the agents in them, and
//! removes them.
//!
//! Everything is created in one namespace with rights limited to that namespace, and nothing else is touched. This crate must
//! never know a role, a service or a load. Without the feature `kubernetes` every operation on a cluster fails with
//! [`ClusterError::Absent`]. Start at [`Run`]; [`Cluster`] and [`Group`] describe the requested pods, [`PodWay`] is the
//! transport.

mod error;
mod rights;
mod spec;

#[cfg(not(feature = "kubernetes"))]
mod absent;
#[cfg(feature = "kubernetes")]
mod connection;
#[cfg(feature = "kubernetes")]
mod leftovers;
#[cfg(feature = "kubernetes")]
mod manifest;
#[cfg(feature = "kubernetes")]
mod missing_rights;
#[cfg(feature = "kubernetes")]
mod run;
#[cfg(feature = "kubernetes")]
mod status;
#[cfg(feature = "kubernetes")]
mod transport;

#[cfg(all(test, feature = "kubernetes"))]
mod fake;

#[cfg(not(feature = "kubernetes"))]
pub use absent::{PodWay, Run, lacking, left, remove};
pub use error::ClusterError;
#[cfg(feature = "kubernetes")]
pub use leftovers::{left, remove};
#[cfg(feature = "kubernetes")]
pub use missing_rights::lacking;
pub use rights::{Permission, RoleSubject, rights, role};
#[cfg(feature = "kubernetes")]
pub use run::Run;
pub use spec::{Cluster, Group, LeftoverObject, Pod, PodRequest, Pull, is_label};
#[cfg(feature = "kubernetes")]
pub use transport::PodWay;
