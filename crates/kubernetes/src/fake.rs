//! A cluster in memory for tests: it stores jobs, creates their pods at once, and fails on request.

use crate::connection::Connection;
use crate::error::ClusterError;
use crate::manifest::tests::{cluster, groups};
use crate::run::Run;
use crate::spec::PodRequest;
use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

/// A fake API.
#[derive(Debug, Default)]
pub(crate) struct Fake(Arc<Mutex<State>>);

/// A request to the API.
#[derive(Debug)]
struct Call {
    method: String,
    path: String,
    query: BTreeMap<String, String>,
    body: Value,
}

#[derive(Debug, Default)]
struct State {
    jobs: Vec<Value>,
    /// Number of jobs created so far.
    count: u32,
    /// Error codes of the next requests, which are not executed, by method.
    before: BTreeMap<String, VecDeque<u16>>,
    /// Error codes of the next requests, which are executed all the same, by method.
    after: BTreeMap<String, VecDeque<u16>>,
    refusal: Option<String>,
    unscheduled: Option<String>,
    one_node: bool,
    /// Why no container starts: reason and message.
    no_image: Option<(String, String)>,
    /// Whether it ignores fields that Kubernetes knows since 1.29.
    is_old: bool,
    /// Failed pods: their job, and their index.
    lost: BTreeSet<(String, u64)>,
    /// Missing rights: verb and resource.
    denied: Vec<(String, String)>,
}

/// Creates pods for a service and two workers.
pub(crate) fn begin(fake: &Arc<Fake>) -> Result<Run, ClusterError> {
    let begin = PodRequest {
        what: "prony run hello",
        tell: &|_| {},
        goes_on: &|| true,
    };
    Run::on(fake.connection(), &cluster(), &groups(), &begin)
}

/// Asserts an error whose text contains all parts.
pub(crate) fn ends<T>(result: Result<T, ClusterError>, parts: &[&str]) {
    let Err(error) = result else {
        panic!("{parts:?}: it succeeded")
    };
    let text = error.to_string();
    assert!(parts.iter().all(|part| text.contains(part)), "{parts:?}: {text}");
}

impl Fake {
    /// A connection to this API.
    pub(crate) fn connection(&self) -> Connection {
        let state = Arc::clone(&self.0);
        let server = tower::service_fn(move |request: Request<Body>| {
            let state = Arc::clone(&state);
            async move {
                let call = Call::read(request).await?;
                let mut state = state.lock().expect("not poisoned");
                Ok::<_, kube::Error>(response(state.answer(&call)))
            }
        });
        Connection::with(&cluster(), async { Ok(Client::new(server, "bench")) }).expect("a connection")
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("not poisoned")
    }

    pub(crate) fn jobs(&self) -> Vec<Value> {
        self.state().jobs.clone()
    }

    pub(crate) fn fail(&self, method: &str, codes: &[u16]) {
        self.state()
            .before
            .insert(method.to_owned(), codes.iter().copied().collect());
    }

    pub(crate) fn fail_after(&self, method: &str, codes: &[u16]) {
        self.state()
            .after
            .insert(method.to_owned(), codes.iter().copied().collect());
    }

    pub(crate) fn refuse_pods(&self, why: &str) {
        self.state().refusal = Some(why.to_owned());
    }

    pub(crate) fn no_node(&self, why: &str) {
        self.state().unscheduled = Some(why.to_owned());
    }

    pub(crate) fn with_nodes(&self) {
        self.state().unscheduled = None;
    }

    pub(crate) fn no_image(&self, reason: &str, said: &str) {
        self.state().no_image = Some((reason.to_owned(), said.to_owned()));
    }

    pub(crate) fn is_old(&self) {
        self.state().is_old = true;
    }

    /// Removes a pod of a group, like another user or the failure of its node.
    pub(crate) fn lose(&self, group: &str, index: u64) {
        let mut state = self.state();
        let job = state.job_of(group);
        state.lost.insert((text(&job["metadata"]["name"]), index));
    }

    /// The indexes of a group whose pods have failed for good.
    pub(crate) fn failed(&self, group: &str) -> Vec<u64> {
        let state = self.state();
        let job = state.job_of(group);
        let count = job["spec"]["completions"].as_u64().expect("a number");
        (0..count)
            .filter(|&index| state.has_failed(&job, index))
            .collect()
    }

    /// The number of existing pods.
    pub(crate) fn running(&self) -> usize {
        self.state().pods(None).len()
    }

    pub(crate) fn one_node(&self) {
        self.state().one_node = true;
    }

    /// Removes all jobs, like another user.
    pub(crate) fn remove_jobs(&self) {
        self.state().jobs.clear();
    }

    pub(crate) fn deny(&self, verb: &str, resource: &str) {
        self.state().denied.push((verb.to_owned(), resource.to_owned()));
    }
}

impl Call {
    async fn read(request: Request<Body>) -> kube::Result<Self> {
        let (head, body) = request.into_parts();
        let body = body.collect_bytes().await?;
        let query = head.uri.query().unwrap_or_default();
        Ok(Self {
            method: head.method.to_string(),
            path: head.uri.path().to_owned(),
            query: form_urlencoded::parse(query.as_bytes()).into_owned().collect(),
            body: serde_json::from_slice(&body).unwrap_or_default(),
        })
    }
}

/// The reply with an object, or with an error code.
fn response(answer: Result<Value, u16>) -> Response<Body> {
    let (code, body) = match answer {
        Ok(object) => (200, object),
        Err(code) => {
            let said = "so the test says";
            (
                code,
                json!({ "kind": "Status", "status": "Failure", "message": said, "code": code }),
            )
        }
    };
    let body = Body::from(body.to_string().into_bytes());
    Response::builder().status(code).body(body).expect("a reply")
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

impl State {
    fn answer(&mut self, call: &Call) -> Result<Value, u16> {
        let next = |codes: &mut BTreeMap<String, VecDeque<u16>>| codes.get_mut(&call.method)?.pop_front();
        if let Some(code) = next(&mut self.before) {
            return Err(code);
        }
        let answer = self.execute(call);
        next(&mut self.after).map_or(answer, Err)
    }

    fn execute(&mut self, call: &Call) -> Result<Value, u16> {
        let selected = |key: &str, name: &str| {
            let value = call.query.get(key)?.strip_prefix(name)?;
            value.strip_prefix('=').map(str::to_owned)
        };
        let (folder, name) = call.path.rsplit_once('/').expect("a path");
        match (&*call.method, folder, name) {
            // It has no real pods.
            (_, _, "exec") => Err(501),
            ("POST", _, "jobs") => self.make(call),
            ("POST", _, "selfsubjectaccessreviews") => Ok(self.review(call)),
            ("GET", _, "jobs") => Ok(json!({ "items": self.jobs })),
            ("GET", _, "pods") => {
                // The label `managed-by` selects everything.
                let mut pods = self.pods(selected("labelSelector", "prony/run").as_deref());
                let named = selected("fieldSelector", "metadata.name");
                pods.retain(|pod| {
                    named
                        .as_ref()
                        .is_none_or(|name| pod["metadata"]["name"] == **name)
                });
                Ok(json!({ "items": pods }))
            }
            ("GET", _, "events") => Ok(json!({ "items": self.events() })),
            ("GET", folder, name) if folder.ends_with("/jobs") => {
                let found = self.jobs.iter().find(|job| job["metadata"]["name"] == name);
                found.cloned().ok_or(404)
            }
            ("DELETE", folder, name) if folder.ends_with("/jobs") => {
                assert_eq!(
                    call.body["propagationPolicy"], "Background",
                    "otherwise its pods stay"
                );
                let before = self.jobs.len();
                self.jobs.retain(|job| job["metadata"]["name"] != name);
                if self.jobs.len() == before {
                    return Err(404);
                }
                Ok(json!({ "kind": "Status", "status": "Success" }))
            }
            _ => panic!("{call:?}"),
        }
    }

    fn make(&mut self, call: &Call) -> Result<Value, u16> {
        let mut job = call.body.clone();
        let name = job["metadata"]["name"].clone();
        if self.jobs.iter().any(|job| job["metadata"]["name"] == name) {
            return Err(409);
        }
        self.count += 1;
        job["metadata"]["uid"] = json!(format!("uid-{}", self.count));
        job["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        if self.is_old {
            job["spec"]
                .as_object_mut()
                .expect("what is wanted")
                .remove("backoffLimitPerIndex");
        }
        self.jobs.push(job.clone());
        Ok(job)
    }

    fn pods(&self, run: Option<&str>) -> Vec<Value> {
        if self.refusal.is_some() {
            return Vec::new();
        }
        let of = |job: &&Value| run.is_none_or(|run| job["metadata"]["labels"]["prony/run"] == run);
        let mut pods = Vec::new();
        for job in self.jobs.iter().filter(of) {
            let count = job["spec"]["completions"].as_u64().expect("a number");
            for index in (0..count).filter(|&index| !self.has_failed(job, index)) {
                pods.push(self.pod(job, index, pods.len()));
            }
        }
        pods
    }

    fn job_of(&self, group: &str) -> Value {
        let mut jobs = self.jobs.iter();
        let job = jobs.find(|job| job["metadata"]["labels"]["prony/group"] == group);
        job.expect("such a group").clone()
    }

    /// A lost pod counts as one failure. A job with a common limit for all its pods fails as a whole when it is reached.
    fn has_failed(&self, job: &Value, index: u64) -> bool {
        let name = text(&job["metadata"]["name"]);
        let mut lost = self.lost.iter().filter(|(job, _)| *job == name);
        match job["spec"]["backoffLimitPerIndex"].as_u64() {
            Some(limit) => limit == 0 && lost.any(|&(_, lost)| lost == index),
            None => job["spec"]["backoffLimit"] == 0 && lost.next().is_some(),
        }
    }

    fn pod(&self, job: &Value, index: u64, number: usize) -> Value {
        let node = if self.one_node { 1 } else { number + 1 };
        let status = match &self.unscheduled {
            Some(why) => json!({ "phase": "Pending", "conditions": [
                { "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": why },
            ] }),
            None => json!({
                "phase": "Running",
                "podIP": format!("10.0.{}.{}", (number + 1) >> 8, (number + 1) & 255),
                "containerStatuses": [{ "imageID": "debian@sha256:11", "state": match &self.no_image {
                    Some((reason, said)) => json!({ "waiting": { "reason": reason, "message": said } }),
                    None => json!({ "running": {} }),
                } }],
            }),
        };
        let mut labels = job["spec"]["template"]["metadata"]["labels"].clone();
        labels["batch.kubernetes.io/job-name"] = job["metadata"]["name"].clone();
        json!({
            "metadata": {
                "name": format!("{}-{index}-abcde", text(&job["metadata"]["name"])),
                "labels": labels,
                "annotations": { "batch.kubernetes.io/job-completion-index": index.to_string() },
            },
            "spec": { "nodeName": format!("n{node}") },
            "status": status,
        })
    }

    fn events(&self) -> Vec<Value> {
        let refused = self.refusal.iter().flat_map(|why| {
            self.jobs.iter().map(move |job| {
                json!({ "reason": "FailedCreate", "message": why,
                    "involvedObject": { "name": job["metadata"]["name"] } })
            })
        });
        refused.collect()
    }

    fn review(&self, call: &Call) -> Value {
        let asked = &call.body["spec"]["resourceAttributes"];
        let resource = match asked["subresource"].as_str() {
            Some(below) if !below.is_empty() => format!("{}/{below}", text(&asked["resource"])),
            _ => text(&asked["resource"]),
        };
        let is_denied = self.denied.contains(&(text(&asked["verb"]), resource));
        json!({ "status": { "allowed": !is_denied } })
    }
}
