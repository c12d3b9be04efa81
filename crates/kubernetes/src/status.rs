//! Interprets the state of the requested pods as reported by a cluster. Pure functions.

use crate::manifest::{GROUP, job_name};
use crate::spec::{Group, Pod};
use serde::Deserialize;
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

/// A list of objects. Only the relevant fields are parsed.
#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
pub(crate) struct List<T> {
    #[serde(default = "Vec::new")]
    pub(crate) items: Vec<T>,
}

/// Metadata of an object.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Meta {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) creation_timestamp: Option<String>,
    pub(crate) deletion_timestamp: Option<String>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
}

/// An object of which only the metadata is relevant.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ObjectName {
    pub(crate) metadata: Meta,
}

/// A job as accepted by the cluster.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct JobStatus {
    pub(crate) metadata: Meta,
    pub(crate) spec: JobSpec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct JobSpec {
    /// How often each of its pods may fail; `None`: the cluster does not know this field, and would replace failed pods.
    pub(crate) backoff_limit_per_index: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PodStatusView {
    metadata: Meta,
    spec: PodSpec,
    status: PodStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PodSpec {
    node_name: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PodStatus {
    phase: String,
    reason: Option<String>,
    message: Option<String>,
    #[serde(rename = "podIP")]
    pod_ip: Option<String>,
    conditions: Vec<Condition>,
    container_statuses: Vec<ContainerStatus>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Condition {
    r#type: String,
    status: String,
    reason: Option<String>,
    message: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ContainerStatus {
    state: State,
    #[serde(rename = "imageID")]
    image_id: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct State {
    waiting: Option<TerminationState>,
    running: Option<serde_json::Value>,
    terminated: Option<TerminationState>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct TerminationState {
    reason: Option<String>,
    message: Option<String>,
    exit_code: Option<i32>,
}

/// An event about an object.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Event {
    reason: String,
    message: String,
    involved_object: ObjectReference,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ObjectReference {
    name: String,
}

/// Derives the state of a run from its pods and from the events of its namespace.
pub(crate) fn standing(groups: &[Group], run: &str, pods: &[PodStatusView], events: &[Event]) -> PodsState {
    let placed: BTreeMap<(&str, usize), &PodStatusView> =
        pods.iter().filter_map(|pod| Some((pod.place()?, pod))).collect();
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
pub(crate) fn fate(pods: &[PodStatusView], name: &str) -> Option<String> {
    let Some(pod) = pods.iter().find(|pod| pod.metadata.name == name) else {
        return Some("the pod is gone: it was removed from the cluster".to_owned());
    };
    let ended = pod.ended().map(|how| {
        let advice = if how.starts_with(NO_MEMORY) {
            MORE_MEMORY
        } else {
            ""
        };
        format!("the pod has ended: {how}{advice}")
    });
    let removed = pod.metadata.deletion_timestamp.as_ref();
    let removed = removed.map(|_| "the pod is being removed from the cluster".to_owned());
    ended.or(removed).or_else(|| pod.deserted())
}

/// The state of a pod that the cluster has not created: an event of its job may give the reason.
fn not_made(host: &str, job: &str, events: &[Event]) -> PodsState {
    let mut refusals = events
        .iter()
        .filter(|event| event.involved_object.name == job && event.reason == "FailedCreate");
    match refusals.next_back() {
        Some(event) if event.message.contains("forbidden") && !event.message.contains(PASSES) => {
            let remedy = if event.message.contains("exceeded quota") {
                "request less (`cpus`, `memory`, `replicas`), or have the quota of the namespace raised"
            } else {
                "change the policy of the namespace, or the testbed file"
            };
            PodsState::Never(format!("{host} is not allowed: {}: {remedy}", event.message))
        }
        Some(event) => PodsState::Waiting(format!("{host} is not created yet: {}", event.message)),
        None => PodsState::Waiting(format!("{host} is not created yet")),
    }
}

impl PodStatusView {
    /// The name of its group, and its index in the group.
    fn place(&self) -> Option<(&str, usize)> {
        let meta = &self.metadata;
        let told = meta.annotations.get(INDEX).or_else(|| meta.labels.get(INDEX));
        Some((meta.labels.get(GROUP)?, told?.parse().ok()?))
    }

    fn standing(&self, host: &str, group: &Group, events: &[Event]) -> PodsState {
        let status = &self.status;
        let never = |text: String| PodsState::Never(format!("{host} ({}) {text}", self.metadata.name));
        let waits = |text: &str| PodsState::Waiting(format!("{host} {text}"));
        if self.metadata.deletion_timestamp.is_some() {
            return never("is being removed by another user: start again".to_owned());
        }
        if let Some(how) = self.ended() {
            let advice = if how.contains(NO_SLEEP) { NO_SHELL } else { "" };
            return never(format!("ended at once: {how}{advice}"));
        }
        let state = self.state();
        if let Some(unscheduled) = status.conditions.iter().find(|one| one.is_unschedulable()) {
            let said = unscheduled.message.as_deref().unwrap_or("no message");
            return waits(&format!("has no node; the scheduler says: {said}"));
        }
        if let Some(stuck) = state.and_then(|state| state.waiting.as_ref()) {
            let reason = stuck.reason.as_deref().unwrap_or_default();
            if NEVER.contains(&reason) {
                return never(format!(
                    "does not start: {}: {}",
                    self.why(stuck, events),
                    remedy(reason)
                ));
            }
            return waits(&format!("is starting: {}", stuck.text()));
        }
        let runs = state.is_some_and(|state| state.running.is_some());
        match (&status.pod_ip, &self.spec.node_name) {
            (Some(address), Some(node)) if runs => PodsState::Ready(vec![Pod {
                host: host.to_owned(),
                name: self.metadata.name.clone(),
                address: address.clone(),
                node: node.clone(),
                image: status.container_statuses[0]
                    .image_id
                    .clone()
                    .filter(|id| !id.is_empty()),
                cpus: group.cpus,
            }]),
            _ => waits("is starting"),
        }
    }

    fn state(&self) -> Option<&State> {
        let container = self.status.container_statuses.first();
        container.map(|container| &container.state)
    }

    /// How it ended, if it has.
    fn ended(&self) -> Option<String> {
        let status = &self.status;
        if let Some(ended) = self.state().and_then(|state| state.terminated.as_ref()) {
            return Some(ended.text());
        }
        let parts = [status.reason.as_deref(), status.message.as_deref()];
        let told = parts.into_iter().flatten().collect::<Vec<_>>().join(": ");
        (status.phase == "Failed" || status.phase == "Succeeded").then_some(told)
    }

    /// Detects a lost node. prony's pods have no probes, so a running pod is unready only if its node is.
    fn deserted(&self) -> Option<String> {
        let runs = self.state().is_some_and(|state| state.running.is_some());
        let mut conditions = self.status.conditions.iter();
        let unready = conditions.any(|one| one.r#type == "Ready" && one.status != "True");
        let node = self.spec.node_name.as_deref().unwrap_or_default();
        (runs && unready).then(|| format!("the cluster has lost contact with its node {node}"))
    }

    /// Why it does not start. `ImagePullBackOff` itself gives no reason; the event of the failed pull does.
    fn why(&self, stuck: &TerminationState, events: &[Event]) -> String {
        let own = events
            .iter()
            .filter(|event| event.involved_object.name == self.metadata.name);
        let failed = own.filter(|event| event.reason == "Failed" && event.message.contains("image"));
        let pull = failed
            .map(|event| event.message.as_str())
            .find(|text| text.starts_with("Failed to pull"));
        match pull {
            Some(message) => message.to_owned(),
            None => stuck.text(),
        }
    }
}

impl Condition {
    fn is_unschedulable(&self) -> bool {
        self.r#type == "PodScheduled"
            && self.status == "False"
            && self
                .reason
                .as_deref()
                .is_some_and(|reason| reason == "Unschedulable")
    }
}

impl TerminationState {
    fn text(&self) -> String {
        let code = self.exit_code.map(|code| format!("exit code {code}"));
        let parts = [self.reason.clone(), code, self.message.clone()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(": ")
    }
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
        let pods: Vec<PodStatusView> = serde_json::from_value(Value::Array(pods)).expect("pods");
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
            let pods: Vec<PodStatusView> =
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
