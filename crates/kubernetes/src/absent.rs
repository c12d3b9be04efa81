//! The operations on a cluster without the feature `kubernetes`: none of them succeeds.

use crate::error::ClusterError;
use crate::rights::Permission;
use crate::spec::{Cluster, Group, LeftoverObject, Pod, PodRequest};
use prony_host::{Channel, HostError, Progress, Transport};
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;

/// The pods of a run.
pub struct Run(Infallible);

impl Run {
    /// Creates the pods and waits until all of them run.
    pub const fn begin(_: &Cluster, _: &[Group], _: &PodRequest<'_>) -> Result<Self, ClusterError> {
        Err(ClusterError::Absent)
    }

    /// The pods.
    pub const fn pods(&self) -> &[Pod] {
        match self.0 {}
    }
}

/// The transport to an agent in a pod.
pub struct PodWay(Infallible);

impl PodWay {
    /// A transport to this pod of a run.
    #[expect(clippy::needless_pass_by_value, reason = "the signature with the feature")]
    pub fn new(run: Arc<Run>, _: Pod, _: Option<PathBuf>) -> Self {
        match run.0 {}
    }
}

impl Transport for PodWay {
    fn open(&self, _: &str, _: &dyn Fn(Progress)) -> Result<Channel, HostError> {
        match self.0 {}
    }
}

/// The rights that the user of this cluster lacks.
pub const fn lacking(_: &Cluster) -> Result<Vec<Permission>, ClusterError> {
    Err(ClusterError::Absent)
}

/// Finds all objects with prony's label.
pub const fn left(_: &Cluster) -> Result<Vec<LeftoverObject>, ClusterError> {
    Err(ClusterError::Absent)
}

/// Removes objects found by [`left`].
pub const fn remove(_: &Cluster, _: &[LeftoverObject]) -> Result<(), ClusterError> {
    Err(ClusterError::Absent)
}
