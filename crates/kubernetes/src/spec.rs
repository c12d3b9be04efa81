//! What a lab asks of a cluster.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// A namespace of a cluster, and what all pods there have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// The file that says how clusters are reached; `None`: `$KUBECONFIG`, else `~/.kube/config`, else that of the pod that
    /// prony runs in.
    pub kubeconfig: Option<PathBuf>,
    /// The context of that file; `None`: the current one.
    pub context: Option<String>,
    /// Everything is made in it, and nothing outside of it is touched.
    pub namespace: String,
    /// The image of all pods.
    pub image: String,
    /// When a node fetches it.
    pub pull: Pull,
    /// Where a prony is in the image, which needs no shell then; `None`: it has a shell, and prony is brought there.
    pub prony: Option<String>,
    /// Time for all pods to run.
    pub within: Duration,
    /// After this the cluster ends the pods by itself.
    pub deadline: Duration,
    /// Whether two pods may be on one node.
    pub share_nodes: bool,
}

/// When a node fetches an image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum Pull {
    /// When it has none of that name.
    #[default]
    IfNotPresent,
    /// For every pod.
    Always,
    /// Not at all: it must be there.
    Never,
}

impl Pull {
    /// As the cluster knows it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::IfNotPresent => "IfNotPresent",
            Self::Always => "Always",
            Self::Never => "Never",
        }
    }
}

/// Equal pods: the host of the service, the workers, or the host of companions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// What the lab calls it; lower-case letters, digits and dashes.
    pub name: String,
    /// How many there are, from 1.
    pub replicas: u32,
    /// Whole CPUs of each.
    pub cpus: u32,
    /// Memory of each, bytes.
    pub memory_bytes: u64,
    /// Labels that its nodes must have.
    pub node: BTreeMap<String, String>,
}

impl Group {
    /// What its pods are called in the lab: its own name where there is one, else that and a number from 0.
    pub fn members(&self) -> Vec<String> {
        if self.replicas == 1 {
            return vec![self.name.clone()];
        }
        (0..self.replicas)
            .map(|index| format!("{}-{index}", self.name))
            .collect()
    }
}

/// A pod that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    /// What the lab calls it.
    pub host: String,
    /// What the cluster calls it.
    pub name: String,
    /// Where others reach it.
    pub address: String,
    /// Its node.
    pub node: String,
    /// The image that runs, with its digest where the cluster tells it.
    pub image: Option<String>,
    /// Whole CPUs that were asked for.
    pub cpus: u32,
}

/// Whether an object of a cluster may be called so: lower-case letters, digits and dashes, and no more than so many.
pub fn is_label(name: &str, longest: usize) -> bool {
    let fits = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    !name.is_empty()
        && name.len() <= longest
        && name.chars().all(fits)
        && !name.starts_with('-')
        && !name.ends_with('-')
}
