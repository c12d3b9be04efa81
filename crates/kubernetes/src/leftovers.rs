//! Finds and removes leftovers of earlier runs in a namespace.

use crate::connection::Connection;
use crate::error::ClusterError;
use crate::manifest::{MANAGED, WHAT};
use crate::spec::{Cluster, LeftoverObject};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::ListParams;

/// The label of a pod with the name of its job.
const OF_JOB: &str = "batch.kubernetes.io/job-name";

/// Finds all objects with prony's label. They may belong to a run in progress.
pub fn left(cluster: &Cluster) -> Result<Vec<LeftoverObject>, ClusterError> {
    left_at(&Connection::open(cluster)?)
}

/// Removes objects found by [`left`]. Objects that no longer exist are ignored.
pub fn remove(cluster: &Cluster, found: &[LeftoverObject]) -> Result<(), ClusterError> {
    remove_at(&Connection::open(cluster)?, found)
}

fn left_at(connection: &Connection) -> Result<Vec<LeftoverObject>, ClusterError> {
    let managed = ListParams::default().labels(&format!("{}={}", MANAGED.0, MANAGED.1));
    let jobs: Vec<Job> = connection.list(&managed, "list jobs")?;
    let pods: Vec<Pod> = connection.list(&managed, "list pods")?;
    let exists = |name: &String| jobs.iter().any(|job| job.metadata.name.as_ref() == Some(name));
    let has_no_job = |pod: &&Pod| !pod.labels().get(OF_JOB).is_some_and(exists);
    let jobs = jobs.iter().filter(|job| stays(*job));
    let pods = pods.iter().filter(|pod| stays(*pod)).filter(has_no_job);
    Ok(jobs
        .map(|job| leftover("job", job))
        .chain(pods.map(|pod| leftover("pod", pod)))
        .collect())
}

/// Whether an object is not being removed already.
fn stays(object: &impl ResourceExt) -> bool {
    object.meta().deletion_timestamp.is_none()
}

fn leftover(kind: &'static str, object: &impl ResourceExt) -> LeftoverObject {
    LeftoverObject {
        kind,
        name: object.name_any(),
        what: object.annotations().get(WHAT).cloned(),
        since: object.creation_timestamp().map(|time| time.0.to_string()),
    }
}

fn remove_at(connection: &Connection, found: &[LeftoverObject]) -> Result<(), ClusterError> {
    for LeftoverObject { kind, name, .. } in found {
        let what = format!("remove the {kind} {name}");
        if *kind == "job" {
            connection.delete::<Job>(name, &what)?;
        } else {
            connection.delete::<Pod>(name, &what)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{Fake, begin};
    use std::sync::Arc;

    #[test]
    fn what_a_crash_left_is_found_and_removed() {
        let fake = Arc::new(Fake::default());
        let run = begin(&fake).expect("pods");
        // Like a controller that loses power.
        std::mem::forget(run);
        let found = left_at(&fake.connection()).expect("listed");
        let kinds: Vec<&str> = found.iter().map(|one| one.kind).collect();
        assert_eq!(kinds, ["job", "job"], "their pods go with them");
        assert_eq!(found[0].what.as_deref(), Some("prony run hello"));
        assert_eq!(found[0].since.as_deref(), Some("2026-01-01T00:00:00Z"));
        remove_at(&fake.connection(), &found).expect("removed");
        assert_eq!(left_at(&fake.connection()).expect("listed"), []);
        remove_at(&fake.connection(), &found).expect("gone already");
    }
}
