//! Interprets the state of the requested pods as reported by a cluster. Pure functions.

use crate::manifest::{GROUP, job_name};
use crate::spec::{Group, Pod};
use k8s_openapi::api::core::v1::{ContainerStatus, Event, Pod as ClusterPod, PodCondition};
use kube::ResourceExt as _;
use std::collections::BTreeMap;

/// The annotation or label of a pod with its index in the job.
const INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// Waiting reasons of a container that will never start.
const NEVER: &[&str] = &[
    "ErrImageNeverPull",
    "InvalidImageName",
    "ImagePullBackOff",
    "ImageInspectError",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
];
/// Part of the error when the image lacks the command of an idle pod.
const NO_SLEEP: &str = "\"sleep\": executable file not found";
/// What to do about an image without a shell.
pub(crate) const NO_SHELL: &str = "; the image has no shell: use one with a shell (`debian:12`), or one that contains prony, and set its path \
     with `prony = …` under [kubernetes]";
/// The reason if a container exceeded its memory limit. With control groups of version 2 all its processes end at once.
const NO_MEMORY: &str = "OOMKilled";
/// What to do about [`NO_MEMORY`].
const MORE_MEMORY: &str =
    "; its processes needed more memory than the pod has: increase `memory` in the testbed file";
/// Number of waiting pods for which the reason is reported; of the others only the number is.
const NAMED: usize = 4;
/// A temporary refusal: the namespace was just created.
const PASSES: &str = "error looking up service account";

/// The state of the pods of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PodsState {
    /// All pods run.
    Ready(Vec<Pod>),
    /// Some pods do not run yet: the reasons.
    Waiting(String),
    /// The pods will never run: why, and what to do.
    Never(String),
}

/// Derives the state of a run from its pods and from the events of its namespace.
pub(crate) fn standing(groups: &[Group], run: &str, pods: &[ClusterPod], events: &[Event]) -> PodsState {
    let placed: BTreeMap<(&str, usize), PodView<'_>> = pods
        .iter()
        .filter_map(|pod| Some((place(pod)?, PodView(pod))))
        .collect();
    let mut ready = Vec::new();
    let mut waiting = Vec::new();
    for group in groups {
        for (index, host) in group.members().into_iter().enumerate() {
            let one = match placed.get(&(&group.name, index)) {
                Some(pod) => pod.standing(&host, group, events),
                None => not_made(&host, &job_name(run, &group.name), events),
            };
            match one {
                PodsState::Ready(pods) => ready.extend(pods),
                PodsState::Waiting(text) => waiting.push(text),
                never @ PodsState::Never(_) => return never,
            }
        }
    }
    if waiting.is_empty() {
        return PodsState::Ready(ready);
    }
    let more = waiting.len().saturating_sub(NAMED);
    waiting.truncate(NAMED);
    if more > 0 {
        waiting.push(format!("and {more} more"));
    }
    PodsState::Waiting(waiting.join("; "))
}

/// Why a pod does not run any more; `None`: as far as the cluster knows it still runs.
pub(crate) fn fate(pods: &[ClusterPod], name: &str) -> Option<String> {
    let Some(pod) = pods.iter().find(|pod| has_name(pod, name)) else {
        return Some("the pod is gone: it was removed from the cluster".to_owned());
    };
    let view = PodView(pod);
    let ended = view.ended().map(|how| {
        let advice = if how.starts_with(NO_MEMORY) {
            MORE_MEMORY
        } else {
            ""
        };
        format!("the pod has ended: {how}{advice}")
    });
    let removed = pod.metadata.deletion_timestamp.as_ref();
    let removed = removed.map(|_| "the pod is being removed from the cluster".to_owned());
    ended.or(removed).or_else(|| view.deserted())
}

fn has_name(pod: &ClusterPod, name: &str) -> bool {
    pod.metadata.name.as_deref() == Some(name)
}

/// The name of the group of a pod, and its index in the group.
fn place(pod: &ClusterPod) -> Option<(&str, usize)> {
    let index = pod.annotations().get(INDEX).or_else(|| pod.labels().get(INDEX));
    Some((pod.labels().get(GROUP)?, index?.parse().ok()?))
}

/// The state of a pod that the cluster has not created: an event of its job may give the reason.
fn not_made(host: &str, job: &str, events: &[Event]) -> PodsState {
    let mut refusals = events.iter().filter(|event| {
        event.involved_object.name.as_deref() == Some(job) && event.reason.as_deref() == Some("FailedCreate")
    });
    let Some(refusal) = refusals.next_back() else {
        return PodsState::Waiting(format!("{host} is not created yet"));
    };
    let message = refusal.message.as_deref().unwrap_or_default();
    if !message.contains("forbidden") || message.contains(PASSES) {
        return PodsState::Waiting(format!("{host} is not created yet: {message}"));
    }
    let remedy = if message.contains("exceeded quota") {
        "request less (`cpus`, `memory`, `replicas`), or have the quota of the namespace raised"
    } else {
        "change the policy of the namespace, or the testbed file"
    };
    PodsState::Never(format!("{host} is not allowed: {message}: {remedy}"))
}

/// A pod, and what its state means.
struct PodView<'a>(&'a ClusterPod);

impl<'a> PodView<'a> {
    fn standing(&self, host: &str, group: &Group, events: &[Event]) -> PodsState {
        let name = self.0.name_any();
        let never = |text: String| PodsState::Never(format!("{host} ({name}) {text}"));
        let waits = |text: &str| PodsState::Waiting(format!("{host} {text}"));
        if self.0.metadata.deletion_timestamp.is_some() {
            return never("is being removed by another user: start again".to_owned());
        }
        if let Some(how) = self.ended() {
            let advice = if how.contains(NO_SLEEP) { NO_SHELL } else { "" };
            return never(format!("ended at once: {how}{advice}"));
        }
        if let Some(unscheduled) = self.conditions().find(|one| is_unschedulable(one)) {
            let said = unscheduled.message.as_deref().unwrap_or("no message");
            return waits(&format!("has no node; the scheduler says: {said}"));
        }
        let container = self.container();
        let state = container.and_then(|container| container.state.as_ref());
        if let Some(stuck) = state.and_then(|state| state.waiting.as_ref()) {
            let reason = stuck.reason.as_deref().unwrap_or_default();
            let told = joined([stuck.reason.as_deref(), stuck.message.as_deref()]);
            if NEVER.contains(&reason) {
                let told = self.failed_pull(events).unwrap_or(told);
                return never(format!("does not start: {told}: {}", remedy(reason)));
            }
            return waits(&format!("is starting: {told}"));
        }
        match (self.address(), self.node(), container) {
            (Some(address), Some(node), Some(container)) if is_running(container) => {
                PodsState::Ready(vec![Pod {
                    host: host.to_owned(),
                    name,
                    address: address.to_owned(),
                    node: node.to_owned(),
                    image: Some(container.image_id.clone()).filter(|id| !id.is_empty()),
                    cpus: group.cpus,
                }])
            }
            _ => waits("is starting"),
        }
    }

    fn address(&self) -> Option<&'a str> {
        self.0.status.as_ref()?.pod_ip.as_deref()
    }

    fn node(&self) -> Option<&'a str> {
        self.0.spec.as_ref()?.node_name.as_deref()
    }

    fn conditions(&self) -> impl Iterator<Item = &'a PodCondition> {
        let conditions = self
            .0
            .status
            .as_ref()
            .and_then(|status| status.conditions.as_ref());
        conditions.into_iter().flatten()
    }

    fn container(&self) -> Option<&'a ContainerStatus> {
        self.0.status.as_ref()?.container_statuses.as_ref()?.first()
    }

    /// How it ended, if it has.
    fn ended(&self) -> Option<String> {
        let state = self.container().and_then(|container| container.state.as_ref());
        if let Some(ended) = state.and_then(|state| state.terminated.as_ref()) {
            let code = format!("exit code {}", ended.exit_code);
            return Some(joined([
                ended.reason.as_deref(),
                Some(&code),
                ended.message.as_deref(),
            ]));
        }
        let status = self.0.status.as_ref()?;
        let has_ended = matches!(status.phase.as_deref(), Some("Failed" | "Succeeded"));
        has_ended.then(|| joined([status.reason.as_deref(), status.message.as_deref()]))
    }

    /// Detects a lost node. prony's pods have no probes, so a running pod is unready only if its node is.
    fn deserted(&self) -> Option<String> {
        let mut conditions = self.conditions();
        let is_unready = conditions.any(|one| one.type_ == "Ready" && one.status != "True");
        let node = self.node().unwrap_or_default();
        (self.container().is_some_and(is_running) && is_unready)
            .then(|| format!("the cluster has lost contact with its node {node}"))
    }

    /// The event of a failed pull: `ImagePullBackOff` itself gives no reason.
    fn failed_pull(&self, events: &[Event]) -> Option<String> {
        let own = events.iter().filter(|event| {
            event.involved_object.name == self.0.metadata.name && event.reason.as_deref() == Some("Failed")
        });
        let mut messages = own.filter_map(|event| event.message.as_deref());
        messages
            .find(|text| text.starts_with("Failed to pull") && text.contains("image"))
            .map(str::to_owned)
    }
}

fn is_running(container: &ContainerStatus) -> bool {
    let state = container.state.as_ref();
    state.is_some_and(|state| state.running.is_some())
}

fn is_unschedulable(condition: &PodCondition) -> bool {
    condition.type_ == "PodScheduled"
        && condition.status == "False"
        && condition.reason.as_deref() == Some("Unschedulable")
}

fn joined<const N: usize>(parts: [Option<&str>; N]) -> String {
    parts.into_iter().flatten().collect::<Vec<_>>().join(": ")
}

fn remedy(reason: &str) -> &'static str {
    match reason {
        "ErrImageNeverPull" => {
            "load the image into every node, or let them fetch it: `pull = \"IfNotPresent\"`"
        }
        "InvalidImageName" => "correct `image` in the testbed file",
        "ImagePullBackOff" | "ImageInspectError" => {
            "is the name correct, and can the nodes reach the registry and pull from it?"
        }
        _ => "fix the reported problem, or use another image",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::tests::groups;
    use serde_json::{Value, json};

    fn pod(group: &str, index: u32, status: Value) -> Value {
        let mut pod = json!({
            "metadata": {
                "name": format!("prony-abc-{group}-{index}-xyz12"),
                "labels": { "prony/group": group },
                "annotations": { "batch.kubernetes.io/job-completion-index": index.to_string() },
            },
            "spec": { "nodeName": format!("node-{group}-{index}") },
        });
        pod["status"] = status;
        pod
    }

    fn running(address: &str) -> Value {
        json!({
            "phase": "Running",
            "podIP": address,
            "conditions": [{ "type": "PodScheduled", "status": "True" }],
            "containerStatuses": [{
                "imageID": "debian@sha256:11", "state": { "running": { "startedAt": "2026-01-01T00:00:00Z" } },
            }],
        })
    }

    fn of(pods: Vec<Value>, events: Value) -> PodsState {
        let pods: Vec<ClusterPod> = serde_json::from_value(Value::Array(pods)).expect("pods");
        let events: Vec<Event> = serde_json::from_value(events).expect("events");
        standing(&groups(), "abc", &pods, &events)
    }

    fn with(status: Value, events: Value) -> PodsState {
        let rest = vec![
            pod("load", 0, running("10.0.0.2")),
            pod("load", 1, running("10.0.0.3")),
        ];
        of([vec![pod("app", 0, status)], rest].concat(), events)
    }

    #[test]
    fn all_run() {
        let PodsState::Ready(pods) = with(running("10.0.0.1"), json!([])) else {
            panic!("ready")
        };
        let told: Vec<_> = pods
            .iter()
            .map(|pod| (&*pod.host, &*pod.address, pod.cpus))
            .collect();
        assert_eq!(
            told,
            [
                ("app", "10.0.0.1", 4),
                ("load-0", "10.0.0.2", 2),
                ("load-1", "10.0.0.3", 2)
            ]
        );
        assert_eq!(pods[0].image.as_deref(), Some("debian@sha256:11"));
        assert_eq!(pods[0].node, "node-app-0");
    }

    #[test]
    fn what_passes_is_waited_for_and_told() {
        let waits = |standing: PodsState, part: &str| match standing {
            PodsState::Waiting(text) => assert!(text.contains(part), "{text}"),
            other => panic!("{part}: {other:?}"),
        };
        waits(
            of(Vec::new(), json!([])),
            "app is not created yet; load-0 is not created yet",
        );
        let unscheduled = json!({ "phase": "Pending", "conditions": [{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": "0/2 nodes are available: 2 Insufficient cpu.",
        }] });
        waits(
            with(unscheduled, json!([])),
            "the scheduler says: 0/2 nodes are available: 2 Insufficient cpu.",
        );
        let pulling = json!({ "phase": "Pending", "containerStatuses": [{
            "state": { "waiting": { "reason": "ErrImagePull", "message": "connection refused" } },
        }] });
        waits(
            with(pulling, json!([])),
            "app is starting: ErrImagePull: connection refused",
        );
        // It runs, but has no address yet.
        let mut no_address = running("");
        no_address["podIP"] = Value::Null;
        waits(with(no_address, json!([])), "app is starting");
        let account = json!([{ "reason": "FailedCreate", "involvedObject": { "name": "prony-abc-app" },
            "message": "pods \"a\" is forbidden: error looking up service account bench/default" }]);
        waits(of(Vec::new(), account), "error looking up service account");
    }

    #[test]
    fn what_does_not_pass_ends_the_wait_with_its_reason() {
        let ends = |standing: PodsState, parts: &[&str]| match standing {
            PodsState::Never(text) => assert!(parts.iter().all(|part| text.contains(part)), "{text}"),
            other => panic!("{parts:?}: {other:?}"),
        };
        let quota = json!([{ "reason": "FailedCreate", "involvedObject": { "name": "prony-abc-app" },
            "message": "pods \"prony-abc-app-0-x\" is forbidden: exceeded quota: small, requested: cpu=4, used: cpu=0, limited: cpu=1" }]);
        ends(
            of(Vec::new(), quota),
            &["exceeded quota: small", "have the quota of the namespace raised"],
        );
        let others = json!([{ "reason": "FailedCreate", "involvedObject": { "name": "prony-other-app" },
            "message": "forbidden" }]);
        assert!(matches!(of(Vec::new(), others), PodsState::Waiting(_)));
        let stuck = |reason: &str| {
            json!({ "phase": "Pending", "containerStatuses": [{
                "state": { "waiting": { "reason": reason, "message": "Back-off pulling image \"nowhere/x\"" } } }] })
        };
        let events = json!([{ "reason": "Failed", "involvedObject": { "name": "prony-abc-app-0-xyz12" },
            "message": "Failed to pull image \"nowhere/x\": not found" }]);
        ends(
            with(stuck("ImagePullBackOff"), events),
            &[
                "app (prony-abc-app-0-xyz12)",
                "Failed to pull image \"nowhere/x\": not found",
            ],
        );
        ends(
            with(stuck("ErrImageNeverPull"), json!([])),
            &["ErrImageNeverPull", "IfNotPresent"],
        );
        let ended = json!({ "phase": "Failed", "containerStatuses": [{ "state": { "terminated": {
            "reason": "StartError", "exitCode": 128, "message": "exec: \"sleep\": executable file not found" } } }] });
        ends(
            with(ended, json!([])),
            &[
                "StartError: exit code 128",
                "executable file not found",
                "the image has no shell",
            ],
        );
        ends(
            with(
                json!({ "phase": "Failed", "reason": "Evicted", "message": "low on memory" }),
                json!([]),
            ),
            &["Evicted: low on memory"],
        );
        let mut removed = pod("app", 0, running("10.0.0.1"));
        removed["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        ends(of(vec![removed], json!([])), &["is being removed"]);
    }

    #[test]
    fn what_became_of_a_pod_is_told() {
        let told = |status: Value| {
            let pods: Vec<ClusterPod> =
                serde_json::from_value(json!([pod("app", 0, status)])).expect("a pod");
            fate(&pods, "prony-abc-app-0-xyz12")
        };
        assert_eq!(told(running("10.0.0.1")), None);
        let killed = json!({ "phase": "Failed", "containerStatuses": [{ "state": { "terminated": {
            "reason": "OOMKilled", "exitCode": 137 } } }] });
        assert_eq!(
            told(killed).as_deref(),
            Some(
                "the pod has ended: OOMKilled: exit code 137; its processes needed more memory than the pod has: \
                 increase `memory` in the testbed file"
            )
        );
        let mut deserted = running("10.0.0.1");
        deserted["conditions"] = json!([{ "type": "Ready", "status": "False" }]);
        assert_eq!(
            told(deserted).as_deref(),
            Some("the cluster has lost contact with its node node-app-0")
        );
        assert!(fate(&[], "x").is_some_and(|told| told.contains("the pod is gone")));
    }
}
