//! Why an operation on a cluster failed, and what to do about it.

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

#[cfg(feature = "kubernetes")]
impl ClusterError {
    /// Whether the error may be temporary.
    pub(crate) fn passes(&self) -> bool {
        match self {
            Self::Silent { .. } => true,
            Self::Refused { code, .. } => matches!(code, 429 | 500 | 502 | 503 | 504),
            Self::Absent | Self::Config { .. } | Self::Pods { .. } | Self::Old | Self::Ended => false,
        }
    }
}
