//! What is asked of a cluster's API, apart from how it gets there.

use prony_host::Channel;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::time::Duration;

/// Why something could not be done in a cluster.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// This prony was built without it.
    #[error("this prony knows no Kubernetes: take a released one, or build it with `--features kubernetes`")]
    Absent,
    /// The file that says how clusters are reached cannot be used.
    #[error("no way to a cluster: {reason}; `kubectl config get-contexts` shows what there is")]
    Config {
        /// Why.
        reason: String,
    },
    /// Nobody answers.
    #[error("the cluster does not answer: {reason}; does `kubectl version` reach it?")]
    Silent {
        /// What failed.
        reason: String,
    },
    /// The API refuses.
    #[error("the cluster refuses to {what}: {said} ({code}){}", remedy(*code))]
    Refused {
        /// What was asked for.
        what: String,
        /// What it said.
        said: String,
        /// Its code, that of HTTP.
        code: u16,
    },
    /// The pods that were asked for do not run.
    #[error("{text}")]
    Pods {
        /// Which, why, and what to do.
        text: String,
    },
    /// The cluster does not know all that is asked of it.
    #[error(
        "the cluster is older than Kubernetes 1.29: it would put new pods in the place of lost ones, and their numbers would be \
         those of other machines; take one that is newer, or hosts over ssh"
    )]
    Old,
    /// The user ended it.
    #[error("it was ended before all pods ran")]
    Ended,
}

/// What to do about a refusal.
const fn remedy(code: u16) -> &'static str {
    match code {
        401 => ": the credentials are not accepted, or have expired: log in again",
        403 => ": rights are missing: `prony lab rbac` prints the role that has them",
        404 => ": is there such a namespace in this cluster? `kubectl create namespace NAME` makes one",
        422 => ": the cluster does not take it as it is written",
        _ => "",
    }
}

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    /// Of HTTP.
    pub(crate) method: &'static str,
    /// With its query.
    pub(crate) path: String,
    /// What goes along.
    pub(crate) body: Option<Value>,
    /// What it does, for messages: completes "the cluster refuses to".
    pub(crate) what: String,
}

/// A cluster's API.
pub(crate) trait Api: Send + Sync {
    /// Asks once. Ends within bounded time.
    fn call(&self, call: &Call) -> Result<Value, ClusterError>;

    /// Starts a command in the container of a pod. What it reads and writes is the channel. Ends within bounded time.
    fn exec(&self, namespace: &str, pod: &str, command: &[String]) -> Result<Channel, ClusterError>;
}

/// How often something is asked that failed in a way that passes.
const TRIES: u32 = 4;

/// Asks, and again after a moment where nobody answered or the cluster was too busy.
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
            // The first try was heard, and its answer was not.
            Err(ClusterError::Refused { code: 409, .. }) if tries > 1 && call.method == "POST" => {
                break api.call(&call.made())?;
            }
            other => break other?,
        }
    };
    serde_json::from_value(value).map_err(|error| ClusterError::Silent {
        reason: format!(
            "what it answered to `{} {}` is not understood: {error}",
            call.method, call.path
        ),
    })
}

impl ClusterError {
    /// Whether it may be otherwise a moment later.
    fn passes(&self) -> bool {
        match self {
            Self::Silent { .. } => true,
            Self::Refused { code, .. } => matches!(code, 429 | 500 | 502 | 503 | 504),
            Self::Absent | Self::Config { .. } | Self::Pods { .. } | Self::Old | Self::Ended => false,
        }
    }
}

impl Call {
    /// Reads.
    pub(crate) fn get(path: String, what: impl Into<String>) -> Self {
        Self {
            method: "GET",
            path,
            body: None,
            what: what.into(),
        }
    }

    /// Makes.
    pub(crate) fn post(path: String, body: Value, what: impl Into<String>) -> Self {
        Self {
            method: "POST",
            path,
            body: Some(body),
            what: what.into(),
        }
    }

    /// Removes, and with it all that it owns.
    pub(crate) fn delete(path: String, what: impl Into<String>) -> Self {
        let body = json!({ "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background" });
        Self {
            method: "DELETE",
            path,
            body: Some(body),
            what: what.into(),
        }
    }

    /// Reads what this would have made.
    fn made(&self) -> Self {
        let name = self
            .body
            .as_ref()
            .and_then(|body| body["metadata"]["name"].as_str());
        let path = format!("{}/{}", self.path, name.unwrap_or_default());
        Self::get(path, self.what.clone())
    }
}

/// Where jobs of a namespace are.
pub(crate) fn jobs(namespace: &str) -> String {
    format!("/apis/batch/v1/namespaces/{namespace}/jobs")
}

/// Where its pods are.
pub(crate) fn pods(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods")
}

/// Where what went wrong in it is told.
pub(crate) fn warnings(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/events?fieldSelector=type%3DWarning")
}

/// The query for what has this label.
pub(crate) fn labelled(label: &str, value: &str) -> String {
    format!("?labelSelector={}%3D{value}", label.replace('/', "%2F"))
}

/// What more such a query says where only the object of this name is asked for.
pub(crate) fn named(name: &str) -> String {
    format!("&fieldSelector=metadata.name%3D{name}")
}
