//! The manifests of the objects that are created in a cluster.

use crate::spec::{Cluster, Group};
use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{
    Affinity, Capabilities, Container, EmptyDirVolumeSource, EnvVar, PodAffinityTerm, PodAntiAffinity,
    PodSecurityContext, PodSpec, PodTemplateSpec, ResourceRequirements, SeccompProfile, SecurityContext,
    Volume, VolumeMount, WeightedPodAffinityTerm,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference};
use std::collections::BTreeMap;

/// The label that identifies all objects of prony, and its value.
pub(crate) const MANAGED: (&str, &str) = ("app.kubernetes.io/managed-by", "prony");
/// The label with the name of the run.
pub(crate) const RUN: &str = "prony/run";
/// The label with the name of the group.
pub(crate) const GROUP: &str = "prony/group";
/// The annotation with the command that created a job.
pub(crate) const WHAT: &str = "prony/what";
/// The name of the container in a pod.
pub(crate) const CONTAINER: &str = "prony";
/// The writable folder of a pod, which also holds the agent's cache.
const HOME: &str = "/prony";
/// The writable folders of a pod: the name of the volume, and its path.
const WRITABLE: [(&str, &str); 2] = [("home", HOME), ("tmp", "/tmp")];
/// Any user except root: required in a namespace with the security level `restricted`.
const USER: i64 = 65_532;
/// Termination grace period of a pod, s.
const GRACE_S: i64 = 5;
/// Time for which a finished job is kept, s.
const KEPT_S: i32 = 60;

/// The origin of the objects, shown to people who find them in the cluster.
#[derive(Debug, Clone)]
pub(crate) struct OwnerLabels {
    /// The id of the run: lower-case letters and digits.
    pub(crate) run: String,
    /// The command: `prony run hello`.
    pub(crate) what: String,
}

/// The name of the job of a group.
pub(crate) fn job_name(run: &str, group: &str) -> String {
    format!("prony-{run}-{group}")
}

/// The job of a group. `owner`: the run's first job; deleting it deletes all others.
pub(crate) fn job(
    cluster: &Cluster,
    group: &Group,
    asker: &OwnerLabels,
    owner: Option<OwnerReference>,
) -> Job {
    let labels = texts([MANAGED, (RUN, &asker.run), (GROUP, &group.name)]);
    let replicas = i32::try_from(group.replicas).unwrap_or(i32::MAX);
    Job {
        metadata: ObjectMeta {
            name: Some(job_name(&asker.run, &group.name)),
            namespace: Some(cluster.namespace.clone()),
            labels: Some(labels.clone()),
            annotations: Some(texts([(WHAT, &*asker.what)])),
            owner_references: owner.map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        spec: Some(JobSpec {
            completion_mode: Some("Indexed".to_owned()),
            completions: Some(replicas),
            parallelism: Some(replicas),
            // A lost pod is a lost host, and a replacement would be another host. So the index of a lost pod fails at once, and the
            // other pods run on until the run is notified. No failure policy: its rules would only exempt some failures from this,
            // and with a policy a deleted pod does not count as failed before it has disappeared.
            backoff_limit_per_index: Some(0),
            active_deadline_seconds: Some(cluster.deadline.as_secs() as i64),
            ttl_seconds_after_finished: Some(KEPT_S),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels),
                    ..ObjectMeta::default()
                }),
                spec: Some(pod(cluster, group)),
            },
            ..JobSpec::default()
        }),
        status: None,
    }
}

fn pod(cluster: &Cluster, group: &Group) -> PodSpec {
    PodSpec {
        restart_policy: Some("Never".to_owned()),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        termination_grace_period_seconds: Some(GRACE_S),
        // With a shared namespace the pause container is PID 1 and reaps orphans; `sleep` would not.
        share_process_namespace: Some(true),
        node_selector: Some(group.node.clone()),
        affinity: Some(Affinity {
            pod_anti_affinity: Some(apart(cluster)),
            ..Affinity::default()
        }),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            run_as_user: Some(USER),
            run_as_group: Some(USER),
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".to_owned(),
                localhost_profile: None,
            }),
            ..PodSecurityContext::default()
        }),
        containers: vec![container(cluster, group)],
        volumes: Some(WRITABLE.map(|(name, _)| empty_volume(name)).into()),
        ..PodSpec::default()
    }
}

fn container(cluster: &Cluster, group: &Group) -> Container {
    let variable = |name: &str, value: String| EnvVar {
        name: name.to_owned(),
        value: Some(value),
        ..EnvVar::default()
    };
    let mount = |(name, path): (&str, &str)| VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        ..VolumeMount::default()
    };
    Container {
        name: CONTAINER.to_owned(),
        image: Some(cluster.image.clone()),
        image_pull_policy: Some(cluster.pull.word().to_owned()),
        command: Some(idle(cluster)),
        env: Some(vec![
            variable("HOME", HOME.to_owned()),
            variable("PRONY_AGENT_CACHE", format!("{HOME}/cache")),
        ]),
        resources: Some(ResourceRequirements {
            requests: Some(resources(group)),
            limits: Some(resources(group)),
            ..ResourceRequirements::default()
        }),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            read_only_root_filesystem: Some(true),
            capabilities: Some(Capabilities {
                drop: Some(vec!["ALL".to_owned()]),
                add: None,
            }),
            ..SecurityContext::default()
        }),
        volume_mounts: Some(WRITABLE.map(mount).into()),
        ..Container::default()
    }
}

fn empty_volume(name: &str) -> Volume {
    Volume {
        name: name.to_owned(),
        empty_dir: Some(EmptyDirVolumeSource::default()),
        ..Volume::default()
    }
}

/// Whole CPUs, and requests equal to limits: this makes the pod `Guaranteed`, and a node with the CPU manager policy `static`
/// gives it exclusive CPUs.
fn resources(group: &Group) -> BTreeMap<String, Quantity> {
    BTreeMap::from([
        ("cpu".to_owned(), Quantity(group.cpus.to_string())),
        ("memory".to_owned(), Quantity(group.memory_bytes.to_string())),
    ])
}

/// The command of a pod while it is not in use; it ends by itself.
fn idle(cluster: &Cluster) -> Vec<String> {
    let seconds = cluster.deadline.as_secs().to_string();
    match &cluster.prony {
        Some(prony) => vec![prony.clone(), "agent".to_owned(), "--idle".to_owned(), seconds],
        None => vec!["sleep".to_owned(), seconds],
    }
}

/// Anti-affinity between all pods of prony in the namespace, also of other runs: two pods on one node disturb each other.
fn apart(cluster: &Cluster) -> PodAntiAffinity {
    let others = PodAffinityTerm {
        label_selector: Some(LabelSelector {
            match_labels: Some(texts([MANAGED])),
            match_expressions: None,
        }),
        topology_key: "kubernetes.io/hostname".to_owned(),
        ..PodAffinityTerm::default()
    };
    if cluster.share_nodes {
        PodAntiAffinity {
            preferred_during_scheduling_ignored_during_execution: Some(vec![WeightedPodAffinityTerm {
                weight: 100,
                pod_affinity_term: others,
            }]),
            ..PodAntiAffinity::default()
        }
    } else {
        PodAntiAffinity {
            required_during_scheduling_ignored_during_execution: Some(vec![others]),
            ..PodAntiAffinity::default()
        }
    }
}

fn texts<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::spec::Pull;
    use std::time::Duration;

    pub(crate) fn cluster() -> Cluster {
        Cluster {
            kubeconfig: None,
            context: None,
            namespace: "bench".to_owned(),
            image: "debian:12".to_owned(),
            pull: Pull::IfNotPresent,
            prony: None,
            within: Duration::from_secs(2),
            deadline: Duration::from_hours(1),
            share_nodes: false,
        }
    }

    pub(crate) fn groups() -> Vec<Group> {
        let group = |name: &str, replicas, cpus| Group {
            name: name.to_owned(),
            replicas,
            cpus,
            memory_bytes: 1 << 30,
            node: BTreeMap::new(),
        };
        vec![group("app", 1, 4), group("load", 2, 2)]
    }

    pub(crate) fn asker() -> OwnerLabels {
        OwnerLabels {
            run: "abc".to_owned(),
            what: "prony run hello".to_owned(),
        }
    }

    #[test]
    fn workers_are_one_indexed_job_that_goes_with_the_first() {
        let group = &groups()[1];
        let owner = OwnerReference {
            api_version: "batch/v1".to_owned(),
            kind: "Job".to_owned(),
            name: "prony-abc-app".to_owned(),
            uid: "uid-1".to_owned(),
            ..OwnerReference::default()
        };
        let made = job(&cluster(), group, &asker(), Some(owner));
        insta::assert_json_snapshot!("workers", made);
    }

    #[test]
    fn a_program_in_the_image_needs_no_shell_and_nodes_may_be_shared_and_named() {
        let cluster = Cluster {
            prony: Some("/prony/prony".to_owned()),
            pull: Pull::Never,
            share_nodes: true,
            ..cluster()
        };
        let group = Group {
            node: BTreeMap::from([("kubernetes.io/hostname".to_owned(), "n1".to_owned())]),
            ..groups()[0].clone()
        };
        insta::assert_json_snapshot!("service", job(&cluster, &group, &asker(), None));
    }
}
