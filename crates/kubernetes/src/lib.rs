//! Pods of a Kubernetes cluster as hosts of a lab: what is asked for, what becomes of it, the way to an agent, and removing
//! it all.
//!
//! Everything is made in one namespace, with rights of that namespace alone, and nothing else is touched. This crate knows no
//! role, no service and no load. What it does without the feature `kubernetes` is everything but speaking to a cluster. Start
//! at [`Run`]; [`Cluster`] and [`Group`] are what is asked for, [`PodWay`] is the transport.

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
pub use leftovers::{Left, left, remove};
pub use rights::{Right, Subject, lacking, rights, role};
pub use run::{Begin, Run};
pub use spec::{Cluster, Group, Pod, Pull, is_label};
pub use transport::PodWay;
