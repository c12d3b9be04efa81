//! Pods of a Kubernetes cluster as hosts of a testbed: creates them, watches them, connects to the agents in them, and
//! removes them.
//!
//! Everything is created in one namespace with rights limited to that namespace, and nothing else is touched. This crate must
//! never know a role, a service or a load. Without the feature `kubernetes` only the connection to a cluster is missing. Start
//! at [`Run`]; [`Cluster`] and [`Group`] describe the requested pods, [`PodWay`] is the transport.

mod api;
mod connect;
mod leftovers;
mod manifest;
mod rights;
mod run;
mod spec;
mod status;
mod transport;

#[cfg(test)]
mod fake;

pub use api::ClusterError;
pub use leftovers::{LeftoverObject, left, remove};
pub use rights::{Permission, RoleSubject, lacking, rights, role};
pub use run::{PodRequest, Run};
pub use spec::{Cluster, Group, Pod, Pull, is_label};
pub use transport::PodWay;
