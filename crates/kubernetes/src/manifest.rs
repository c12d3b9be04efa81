//! The manifests of the objects that are created in a cluster.

use crate::spec::{Cluster, Group};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The label that identifies all objects of prony, and its value.
pub(crate) const MANAGED: (&str, &str) = ("app.kubernetes.io/managed-by", "prony");
/// The label with the name of the run.
pub(crate) const RUN: &str = "prony/run";
/// The label with the name of the group.
pub(crate) const GROUP: &str = "prony/group";
/// The name of the container in a pod.
pub(crate) const CONTAINER: &str = "prony";
/// The writable folder of a pod, which also holds the agent's cache.
const HOME: &str = "/prony";
/// Any user except root: required in a namespace with the security level `restricted`.
const USER: u32 = 65_532;
/// Termination grace period of a pod, s.
const GRACE_S: u32 = 5;
/// Time for which a finished job is kept, s.
const KEPT_S: u32 = 60;

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

/// The job of a group. `owner`: name and uid of the run's first job; deleting it deletes all others.
pub(crate) fn job(
    cluster: &Cluster,
    group: &Group,
    asker: &OwnerLabels,
    owner: Option<(&str, &str)>,
) -> Value {
    let labels = json!({ MANAGED.0: MANAGED.1, RUN: asker.run, GROUP: group.name });
    let owners: Vec<Value> = owner
        .map(|(name, uid)| json!({ "apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid }))
        .into_iter()
        .collect();
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": job_name(&asker.run, &group.name),
            "namespace": cluster.namespace,
            "labels": labels,
            "annotations": { "prony/what": asker.what },
            "ownerReferences": owners,
        },
        "spec": {
            "completionMode": "Indexed",
            "completions": group.replicas,
            "parallelism": group.replicas,
            // A lost pod is a lost host, and a replacement would be another host. So the index of a lost pod fails at once, and the
            // other pods run on until the run is notified. No failure policy: its rules would only exempt some failures from this,
            // and with a policy a deleted pod does not count as failed before it has disappeared.
            "backoffLimitPerIndex": 0,
            "activeDeadlineSeconds": cluster.deadline.as_secs(),
            "ttlSecondsAfterFinished": KEPT_S,
            "template": { "metadata": { "labels": labels }, "spec": pod(cluster, group) },
        },
    })
}

fn pod(cluster: &Cluster, group: &Group) -> Value {
    let home = json!([{ "name": "home", "mountPath": HOME }, { "name": "tmp", "mountPath": "/tmp" }]);
    json!({
        "restartPolicy": "Never",
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "terminationGracePeriodSeconds": GRACE_S,
        // With a shared namespace the pause container is PID 1 and reaps orphans; `sleep` would not.
        "shareProcessNamespace": true,
        "nodeSelector": group.node,
        "affinity": { "podAntiAffinity": apart(cluster) },
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": USER,
            "runAsGroup": USER,
            "seccompProfile": { "type": "RuntimeDefault" },
        },
        "containers": [{
            "name": CONTAINER,
            "image": cluster.image,
            "imagePullPolicy": cluster.pull.word(),
            "command": idle(cluster),
            "env": [{ "name": "HOME", "value": HOME }, { "name": "PRONY_AGENT_CACHE", "value": format!("{HOME}/cache") }],
            "resources": { "requests": resources(group), "limits": resources(group) },
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "readOnlyRootFilesystem": true,
                "capabilities": { "drop": ["ALL"] },
            },
            "volumeMounts": home,
        }],
        "volumes": [{ "name": "home", "emptyDir": {} }, { "name": "tmp", "emptyDir": {} }],
    })
}

/// Whole CPUs, and requests equal to limits: this makes the pod `Guaranteed`, and a node with the CPU manager policy `static`
/// gives it exclusive CPUs.
fn resources(group: &Group) -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        ("cpu", group.cpus.to_string()),
        ("memory", group.memory_bytes.to_string()),
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
fn apart(cluster: &Cluster) -> Value {
    let others = json!({
        "labelSelector": { "matchLabels": { MANAGED.0: MANAGED.1 } },
        "topologyKey": "kubernetes.io/hostname",
    });
    if cluster.share_nodes {
        json!({ "preferredDuringSchedulingIgnoredDuringExecution": [{ "weight": 100, "podAffinityTerm": others }] })
    } else {
        json!({ "requiredDuringSchedulingIgnoredDuringExecution": [others] })
    }
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
        let made = job(&cluster(), group, &asker(), Some(("prony-abc-app", "uid-1")));
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
