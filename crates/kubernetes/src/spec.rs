//! The pods that a testbed requests from a cluster, and those that an earlier run has left there.

use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// A namespace of a cluster, and the settings that all pods share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// The kubeconfig; `None`: `$KUBECONFIG`, else `~/.kube/config`, else the service account of the pod in which prony runs.
    pub kubeconfig: Option<PathBuf>,
    /// The context of that file; `None`: the current one.
    pub context: Option<String>,
    /// The namespace. Everything is created in it, and nothing outside of it is touched.
    pub namespace: String,
    /// The image of all pods.
    pub image: String,
    /// When a node pulls the image.
    pub pull: Pull,
    /// The path of prony in the image, which then needs no shell; `None`: the image has a shell, and prony is copied there.
    pub prony: Option<String>,
    /// Timeout until all pods run.
    pub within: Duration,
    /// After this time the cluster ends the pods by itself.
    pub deadline: Duration,
    /// Whether two pods may share a node.
    pub share_nodes: bool,
}

/// When a node pulls an image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pull {
    /// If the node does not have it.
    #[default]
    IfNotPresent,
    /// For every pod.
    Always,
    /// Never: it must already be on the node.
    Never,
}

impl Pull {
    /// The name in the Kubernetes API.
    #[cfg(feature = "kubernetes")]
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::IfNotPresent => "IfNotPresent",
            Self::Always => "Always",
            Self::Never => "Never",
        }
    }
}

/// Equal pods: the host of the service, the workers, or the host of backing services.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The name in the testbed file: lower-case letters, digits and dashes.
    pub name: String,
    /// The number of pods, at least 1.
    pub replicas: u32,
    /// Whole CPUs per pod.
    pub cpus: u32,
    /// Memory per pod, bytes.
    pub memory_bytes: u64,
    /// Labels that its nodes must have.
    pub node: BTreeMap<String, String>,
}

impl Group {
    /// The names of its pods as hosts: the name of the group for a single pod, otherwise with a number from 0 appended.
    pub fn members(&self) -> Vec<String> {
        if self.replicas == 1 {
            return vec![self.name.clone()];
        }
        (0..self.replicas)
            .map(|index| format!("{}-{index}", self.name))
            .collect()
    }
}

/// A running pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    /// The name of the host that it is.
    pub host: String,
    /// The name in the cluster.
    pub name: String,
    /// The address at which it is reachable.
    pub address: String,
    pub node: String,
    /// The running image, with its digest if the cluster reports it.
    pub image: Option<String>,
    /// Whole CPUs that were requested.
    pub cpus: u32,
}

/// Parameters of [`crate::Run::begin`].
pub struct PodRequest<'a> {
    /// The command that creates the pods, shown to people who find them in the cluster: `prony run hello`.
    pub what: &'a str,
    /// Receives messages about long waits.
    pub tell: &'a dyn Fn(&str),
    /// Whether to go on; `false` cancels.
    pub goes_on: &'a dyn Fn() -> bool,
}

/// An object of prony in a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftoverObject {
    /// `job` or `pod`. Pods of an existing job are removed with it, and are not listed.
    pub kind: &'static str,
    /// The name in the cluster.
    pub name: String,
    /// The command that created it: `prony run hello`; `None` if unknown.
    pub what: Option<String>,
    /// The creation time, in the cluster's format.
    pub since: Option<String>,
}

/// Whether a name is a valid label: lower-case letters, digits and dashes, at most `longest` characters.
pub fn is_label(name: &str, longest: usize) -> bool {
    let fits = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    !name.is_empty()
        && name.len() <= longest
        && name.chars().all(fits)
        && !name.starts_with('-')
        && !name.ends_with('-')
}
