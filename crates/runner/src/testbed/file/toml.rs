//! The keys of a testbed file.

use super::BuildAt;
use prony_config::format::Spanned;
use prony_load::DurationText;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// A testbed: the hosts of a run, how to connect to them, and their roles.
#[derive(serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Testbed")]
pub(crate) struct TestbedToml {
    /// The hosts by name.
    pub(super) host: BTreeMap<Spanned<String>, HostToml>,
    /// The roles of the hosts.
    pub(super) roles: RolesToml,
    /// The `ssh` command for all hosts.
    pub(super) ssh: Option<SshToml>,
    /// The cluster, if the hosts are pods.
    pub(super) kubernetes: Option<ClusterToml>,
}

/// The `ssh` command for all hosts.
#[derive(serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Ssh")]
pub(super) struct SshToml {
    /// The words of the command. Default: `["ssh"]`.
    #[schemars(
        length(min = 1),
        extend("x-give" = "a list of words, such as [\"ssh\", \"-F\", \"config\"]")
    )]
    pub(super) command: Vec<String>,
}

/// A host, or a group of equal pods.
#[derive(serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Host")]
pub(super) struct HostToml {
    /// How `ssh` reaches the host: a `Host` of its configuration, a name, an address, or `user@host`.
    pub(super) ssh: Option<Spanned<String>>,
    /// Whether the host is this machine, without an agent.
    #[serde(default)]
    pub(super) local: bool,
    /// Whether the host is this machine through an agent, as if it were another one.
    #[serde(default)]
    pub(super) pipe: bool,
    /// The CPUs that prony may use, by number: `"2-15"` or `"0,2,4"`. Default: all. Not for pods.
    pub(super) cpu_set: Option<Spanned<String>>,
    /// The name or address, without a port, at which other hosts reach this one. Not for pods.
    pub(super) address: Option<Spanned<String>>,
    /// A prony binary for this host, on the machine of the controller.
    #[schemars(extend("x-aliases" = ["program"]))]
    pub(super) binary: Option<PathBuf>,
    /// Where the services of this host are built. Default: `host`.
    #[schemars(extend("x-aliases" = ["build"]))]
    pub(super) build_on: Option<Spanned<BuildAt>>,
    /// The number of equal pods. Default: 1.
    #[schemars(range(min = 1, max = 1000))]
    pub(super) replicas: Option<Spanned<u32>>,
    /// The number of CPUs of a pod. Default: 1.
    #[schemars(
        range(min = 1, max = 1000),
        extend("x-give" = "the number of CPUs of a pod, or write `cpu_set` for CPUs by number")
    )]
    pub(super) cpus: Option<Spanned<u32>>,
    /// The memory of a pod, such as `"4GiB"`. Default: 2 GiB.
    pub(super) memory: Option<Spanned<String>>,
    /// Labels that the node of a pod must have.
    #[schemars(extend("x-aliases" = ["node"]))]
    pub(super) node_selector: Option<Spanned<BTreeMap<String, String>>>,
}

/// The roles of the hosts.
#[derive(serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Roles")]
pub(super) struct RolesToml {
    /// The host that runs the service.
    pub(super) service: Spanned<String>,
    /// The host or hosts that generate the load.
    pub(super) load: Spanned<HostNames>,
    /// The host of the backing services. Default: the first of `load`.
    #[schemars(extend("x-aliases" = ["backing", "companion"]))]
    pub(super) backing_service: Option<Spanned<String>>,
}

/// The Kubernetes cluster whose pods are the hosts.
#[derive(serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Cluster")]
pub(super) struct ClusterToml {
    /// The kubeconfig file. Default: `$KUBECONFIG`, `~/.kube/config`, or the service account of the pod in which prony runs.
    pub(super) kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig file. Default: the current one.
    pub(super) context: Option<String>,
    /// The namespace, such as `prony`. Nothing outside of it is touched.
    pub(super) namespace: Spanned<String>,
    /// The image of all pods, such as `debian:12`.
    #[schemars(length(min = 1))]
    pub(super) image: String,
    /// When a node pulls the image. Default: `IfNotPresent`.
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["pull"]))]
    pub(super) pull_policy: PullPolicyToml,
    /// The absolute path of prony in the image, which then needs no shell. Default: prony is copied to the pods.
    #[schemars(extend("x-aliases" = ["prony"]))]
    pub(super) binary: Option<Spanned<String>>,
    /// The longest time until all pods run. Default: 2 min.
    #[schemars(extend("x-aliases" = ["within"]))]
    pub(super) ready_timeout: Option<Spanned<DurationText>>,
    /// The time after which the cluster removes the pods, even if the controller has crashed. Default: 12 h.
    #[schemars(extend("x-aliases" = ["deadline"]))]
    pub(super) max_lifetime: Option<Spanned<DurationText>>,
    /// Whether two pods may share a node.
    #[serde(default)]
    pub(super) share_nodes: bool,
}

/// When a node pulls the image.
#[derive(serde::Deserialize, Clone, Copy, Default, JsonSchema)]
#[schemars(rename = "PullPolicy")]
pub(super) enum PullPolicyToml {
    /// If the node does not have it.
    #[default]
    IfNotPresent,
    /// For every pod.
    Always,
    /// Never: it must be on the node.
    Never,
}

/// The name of a host, or a list of names. A single name has no position of its own.
pub(super) struct HostNames(pub(super) Vec<Spanned<String>>);

/// By hand, because an untagged enumeration loses the positions.
impl<'de> Deserialize<'de> for HostNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = HostNames;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("the name of a host, or a list of names")
            }

            fn visit_str<E>(self, name: &str) -> Result<HostNames, E> {
                Ok(HostNames(vec![Spanned::new(0..0, name.to_owned())]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<HostNames, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = list.next_element()? {
                    names.push(name);
                }
                Ok(HostNames(names))
            }
        }
        deserializer.deserialize_any(Names)
    }
}

impl JsonSchema for HostNames {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "HostNames".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "string" },
                { "type": "array", "items": { "type": "string" }, "minItems": 1 },
            ],
            "x-give": "the name of a host, or a list of names",
        })
    }
}
