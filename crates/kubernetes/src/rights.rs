//! The rights that prony needs, all within one namespace, and a role that grants them.

use serde_json::json;
use std::fmt::{self, Write as _};

/// A permission in a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permission {
    /// The API group; empty: the core group.
    pub group: &'static str,
    /// The resource: `jobs`, `pods/exec`.
    pub resource: &'static str,
    pub verb: &'static str,
}

impl fmt::Display for Permission {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.verb, self.resource)
    }
}

/// API group, resource and verbs. To run a command in a pod, older clusters require `get`, newer ones `create`.
const RULES: &[(&str, &str, &[&str])] = &[
    ("batch", "jobs", &["create", "delete", "get", "list"]),
    ("", "pods", &["delete", "list"]),
    ("", "pods/exec", &["create", "get"]),
    ("", "events", &["list"]),
];

/// All rights that prony needs.
pub fn rights() -> impl Iterator<Item = Permission> {
    let each = |&(group, resource, verbs): &'static (&'static str, &'static str, &'static [&'static str])| {
        verbs.iter().map(move |&verb| Permission {
            group,
            resource,
            verb,
        })
    };
    RULES.iter().flat_map(each)
}

/// The subject of a role binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleSubject {
    /// A user name, as known to the cluster.
    User(String),
    Group(String),
    /// A service account in the namespace.
    ServiceAccount(String),
}

/// A role with these rights and its binding, as YAML for `kubectl apply -f -`.
pub fn role(namespace: &str, subject: &RoleSubject) -> String {
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
        RoleSubject::User(name) => format!(
            "{{kind: User, name: {}, apiGroup: rbac.authorization.k8s.io}}",
            json!(name)
        ),
        RoleSubject::Group(name) => format!(
            "{{kind: Group, name: {}, apiGroup: rbac.authorization.k8s.io}}",
            json!(name)
        ),
        RoleSubject::ServiceAccount(name) => {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_has_every_right_and_is_of_one_namespace() {
        insta::assert_snapshot!(
            "role",
            role("bench", &RoleSubject::ServiceAccount("prony".to_owned()))
        );
        let user = role("bench", &RoleSubject::User("oidc:ann@example.org".to_owned()));
        assert!(
            user.contains("{kind: User, name: \"oidc:ann@example.org\","),
            "{user}"
        );
        let group = role("bench", &RoleSubject::Group("perf".to_owned()));
        assert!(group.contains("{kind: Group, name: \"perf\","), "{group}");
    }
}
