//! The rights that prony needs, all of them within one namespace: which are missing, and the role that has them.

use crate::api::{Api, Call, ClusterError, ask};
use crate::connect::connect;
use crate::spec::Cluster;
use serde::Deserialize;
use serde_json::json;
use std::fmt::{self, Write as _};
use std::time::Duration;

/// Time before a question that failed is asked again.
const PAUSE: Duration = Duration::from_millis(300);

/// Something that may be done in a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Right {
    /// The group of the API; empty: the core.
    pub group: &'static str,
    /// What it is done with: `jobs`, `pods/exec`.
    pub resource: &'static str,
    /// What is done.
    pub verb: &'static str,
}

impl fmt::Display for Right {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.verb, self.resource)
    }
}

/// What is done with what. Older clusters ask for `get` where a command is run in a pod, newer ones for `create`.
const RULES: &[(&str, &str, &[&str])] = &[
    ("batch", "jobs", &["create", "delete", "get", "list"]),
    ("", "pods", &["delete", "list"]),
    ("", "pods/exec", &["create", "get"]),
    ("", "events", &["list"]),
];

/// All that prony needs.
pub fn rights() -> impl Iterator<Item = Right> {
    let each = |&(group, resource, verbs): &'static (&'static str, &'static str, &'static [&'static str])| {
        verbs.iter().map(move |&verb| Right {
            group,
            resource,
            verb,
        })
    };
    RULES.iter().flat_map(each)
}

/// Whom a role is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A user, as the cluster knows them.
    User(String),
    /// A group of users.
    Group(String),
    /// An account of the namespace, for programs.
    ServiceAccount(String),
}

/// A role with these rights and its binding, as YAML that `kubectl apply -f -` takes.
pub fn role(namespace: &str, subject: &Subject) -> String {
    let mut text = format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {{name: prony, namespace: {namespace}}}\nrules:\n"
    );
    for (group, resource, verbs) in RULES {
        let _ = writeln!(
            text,
            "- {{apiGroups: [\"{group}\"], resources: [{resource}], verbs: [{}]}}",
            verbs.join(", ")
        );
    }
    let subject = match subject {
        Subject::User(name) => format!(
            "{{kind: User, name: {}, apiGroup: rbac.authorization.k8s.io}}",
            json!(name)
        ),
        Subject::Group(name) => format!(
            "{{kind: Group, name: {}, apiGroup: rbac.authorization.k8s.io}}",
            json!(name)
        ),
        Subject::ServiceAccount(name) => {
            format!(
                "{{kind: ServiceAccount, name: {}, namespace: {namespace}}}",
                json!(name)
            )
        }
    };
    let _ = write!(
        text,
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {{name: prony, namespace: {namespace}}}\n\
         roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: prony}}\nsubjects:\n- {subject}\n"
    );
    text
}

/// Those of the rights that the user of this cluster does not have.
pub fn lacking(cluster: &Cluster) -> Result<Vec<Right>, ClusterError> {
    lacking_at(&*connect(cluster)?, &cluster.namespace)
}

#[derive(Deserialize)]
struct Review {
    status: Status,
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    allowed: bool,
}

fn lacking_at(api: &dyn Api, namespace: &str) -> Result<Vec<Right>, ClusterError> {
    let mut lacking = Vec::new();
    for right in rights() {
        let (resource, below) = right.resource.split_once('/').unwrap_or((right.resource, ""));
        let body = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": { "resourceAttributes": {
                "namespace": namespace,
                "group": right.group,
                "resource": resource,
                "subresource": below,
                "verb": right.verb,
            } },
        });
        let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews".to_owned();
        let review: Review = ask(api, &Call::post(path, body, "say which rights there are"), PAUSE)?;
        if !review.status.allowed {
            lacking.push(right);
        }
    }
    Ok(lacking)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    #[test]
    fn what_is_missing_is_named() {
        let fake = Fake::default();
        assert_eq!(lacking_at(&fake, "bench").expect("asked"), []);
        fake.deny("create", "pods/exec");
        fake.deny("delete", "jobs");
        let told: Vec<String> = lacking_at(&fake, "bench")
            .expect("asked")
            .iter()
            .map(Right::to_string)
            .collect();
        assert_eq!(told, ["delete jobs", "create pods/exec"]);
    }

    #[test]
    fn a_role_has_every_right_and_is_of_one_namespace() {
        insta::assert_snapshot!(
            "role",
            role("bench", &Subject::ServiceAccount("prony".to_owned()))
        );
        let user = role("bench", &Subject::User("oidc:ann@example.org".to_owned()));
        assert!(
            user.contains("{kind: User, name: \"oidc:ann@example.org\","),
            "{user}"
        );
        let group = role("bench", &Subject::Group("perf".to_owned()));
        assert!(group.contains("{kind: Group, name: \"perf\","), "{group}");
    }
}
