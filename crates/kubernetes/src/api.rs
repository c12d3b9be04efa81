//! The requests to a cluster's API, independent of the client.

use prony_host::Channel;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::time::Duration;

/// An operation on a cluster that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// This prony was built without the feature `kubernetes`.
    #[error(
        "this prony was built without Kubernetes: use a release, or build it with `--features kubernetes`"
    )]
    Absent,
    /// The kubeconfig cannot be used.
    #[error("cannot connect to a cluster: {reason}; `kubectl config get-contexts` lists the contexts")]
    Config { reason: String },
    /// There is no reply.
    #[error("the cluster does not answer: {reason}; does `kubectl version` work?")]
    Silent { reason: String },
    /// The API rejects the request.
    #[error("the cluster refuses to {what}: {said} ({code}){}", remedy(*code))]
    Refused {
        /// The operation: a verb with its object.
        what: String,
        /// The message of the API.
        said: String,
        /// The HTTP status code.
        code: u16,
    },
    /// The requested pods do not run.
    #[error("{text}")]
    Pods {
        /// Which, why, and what to do.
        text: String,
    },
    /// The cluster ignores required fields of a request.
    #[error(
        "the cluster is older than Kubernetes 1.29: it would replace lost pods, and a new pod would be \
         another machine under the same name; use a newer cluster, or hosts over ssh"
    )]
    Old,
    /// The user cancelled it.
    #[error("cancelled before all pods ran")]
    Ended,
}

/// What to do about a rejected request.
const fn remedy(code: u16) -> &'static str {
    match code {
        401 => ": the credentials are not accepted, or have expired: log in again",
        403 => ": rights are missing: `prony testbed rbac` prints the role that has them",
        404 => ": does the namespace exist in this cluster? `kubectl create namespace NAME` creates it",
        422 => ": the cluster considers it invalid",
        _ => "",
    }
}

/// A request to the API.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    /// The HTTP method.
    pub(crate) method: &'static str,
    /// The path, including the query.
    pub(crate) path: String,
    /// The request body.
    pub(crate) body: Option<Value>,
    /// The operation, for messages: completes "the cluster refuses to".
    pub(crate) what: String,
}

/// A cluster's API.
pub(crate) trait Api: Send + Sync {
    /// Sends one request. Returns within bounded time.
    fn call(&self, call: &Call) -> Result<Value, ClusterError>;

    /// Starts a command in a pod's container. The channel is its input and output. Returns within bounded time.
    fn exec(&self, namespace: &str, pod: &str, command: &[String]) -> Result<Channel, ClusterError>;
}

/// Number of attempts for a request that fails temporarily.
const TRIES: u32 = 4;

/// Sends a request, and repeats it after a pause if there was no reply or the cluster was too busy.
pub(crate) fn ask<T: DeserializeOwned>(
    api: &dyn Api,
    call: &Call,
    pause: Duration,
) -> Result<T, ClusterError> {
    let mut tries = 1;
    let value = loop {
        match api.call(call) {
            Err(error) if tries < TRIES && error.passes() => {
                std::thread::sleep(pause * tries);
                tries += 1;
            }
            // The first attempt was executed, but its reply was lost.
            Err(ClusterError::Refused { code: 409, .. }) if tries > 1 && call.method == "POST" => {
                break api.call(&call.made())?;
            }
            other => break other?,
        }
    };
    serde_json::from_value(value).map_err(|error| ClusterError::Silent {
        reason: format!("unexpected reply to `{} {}`: {error}", call.method, call.path),
    })
}

impl ClusterError {
    /// Whether the error may be temporary.
    fn passes(&self) -> bool {
        match self {
            Self::Silent { .. } => true,
            Self::Refused { code, .. } => matches!(code, 429 | 500 | 502 | 503 | 504),
            Self::Absent | Self::Config { .. } | Self::Pods { .. } | Self::Old | Self::Ended => false,
        }
    }
}

impl Call {
    /// A read request.
    pub(crate) fn get(path: String, what: impl Into<String>) -> Self {
        Self {
            method: "GET",
            path,
            body: None,
            what: what.into(),
        }
    }

    /// A request that creates an object.
    pub(crate) fn post(path: String, body: Value, what: impl Into<String>) -> Self {
        Self {
            method: "POST",
            path,
            body: Some(body),
            what: what.into(),
        }
    }

    /// A request that deletes an object, and everything that it owns.
    pub(crate) fn delete(path: String, what: impl Into<String>) -> Self {
        let body = json!({ "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background" });
        Self {
            method: "DELETE",
            path,
            body: Some(body),
            what: what.into(),
        }
    }

    /// Reads the object that this request would have created.
    fn made(&self) -> Self {
        let name = self
            .body
            .as_ref()
            .and_then(|body| body["metadata"]["name"].as_str());
        let path = format!("{}/{}", self.path, name.unwrap_or_default());
        Self::get(path, self.what.clone())
    }
}

/// The path of the jobs in a namespace.
pub(crate) fn jobs(namespace: &str) -> String {
    format!("/apis/batch/v1/namespaces/{namespace}/jobs")
}

/// The path of the pods in a namespace.
pub(crate) fn pods(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods")
}

/// The path of the warning events in a namespace.
pub(crate) fn warnings(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/events?fieldSelector=type%3DWarning")
}

/// The query for objects with this label.
pub(crate) fn labelled(label: &str, value: &str) -> String {
    format!("?labelSelector={}%3D{value}", label.replace('/', "%2F"))
}

/// The suffix of such a query that selects only the object with this name.
pub(crate) fn named(name: &str) -> String {
    format!("&fieldSelector=metadata.name%3D{name}")
}
