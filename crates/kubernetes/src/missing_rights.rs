//! The rights that prony needs and the user of a cluster lacks.

use crate::connection::Connection;
use crate::error::ClusterError;
use crate::rights::{Permission, rights};
use crate::spec::Cluster;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};

/// The rights that the user of this cluster lacks.
pub fn lacking(cluster: &Cluster) -> Result<Vec<Permission>, ClusterError> {
    lacking_at(&Connection::open(cluster)?, &cluster.namespace)
}

fn lacking_at(connection: &Connection, namespace: &str) -> Result<Vec<Permission>, ClusterError> {
    let mut lacking = Vec::new();
    for right in rights() {
        let answer = connection.review(&review(right, namespace))?;
        if !answer.status.is_some_and(|status| status.allowed) {
            lacking.push(right);
        }
    }
    Ok(lacking)
}

fn review(right: Permission, namespace: &str) -> SelfSubjectAccessReview {
    let (resource, below) = right.resource.split_once('/').unwrap_or((right.resource, ""));
    SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(ResourceAttributes {
                namespace: Some(namespace.to_owned()),
                group: Some(right.group.to_owned()),
                resource: Some(resource.to_owned()),
                subresource: Some(below.to_owned()),
                verb: Some(right.verb.to_owned()),
                ..ResourceAttributes::default()
            }),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    #[test]
    fn what_is_missing_is_named() {
        let fake = Fake::default();
        assert_eq!(lacking_at(&fake.connection(), "bench").expect("asked"), []);
        fake.deny("create", "pods/exec");
        fake.deny("delete", "jobs");
        let told: Vec<String> = lacking_at(&fake.connection(), "bench")
            .expect("asked")
            .iter()
            .map(Permission::to_string)
            .collect();
        assert_eq!(told, ["delete jobs", "create pods/exec"]);
    }
}
