//! Connects to the API of a cluster.

#[cfg(feature = "kubernetes")]
mod client;

#[cfg(feature = "kubernetes")]
pub(crate) use client::connect;

/// Without the Kubernetes client there is no connection.
#[cfg(not(feature = "kubernetes"))]
pub(crate) fn connect(
    _: &crate::spec::Cluster,
) -> Result<std::sync::Arc<dyn crate::api::Api>, crate::api::ClusterError> {
    Err(crate::api::ClusterError::Absent)
}
