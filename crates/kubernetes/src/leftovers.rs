//! Finds and removes leftovers of earlier runs in a namespace.

use crate::api::{Api, Call, ClusterError, ask, jobs, labelled, pods};
use crate::connect::connect;
use crate::manifest::MANAGED;
use crate::spec::Cluster;
use crate::status::{List, ObjectName};
use serde::Serialize;
use std::time::Duration;

/// Pause before a failed request is repeated.
const PAUSE: Duration = Duration::from_millis(300);
/// The label of a pod with the name of its job.
const OF_JOB: &str = "batch.kubernetes.io/job-name";

/// An object of prony in a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftoverObject {
    /// `job` or `pod`. Pods of an existing job are removed with it, and are not listed.
    pub kind: &'static str,
    /// The name in the cluster.
    pub name: String,
    /// The command that created it: `prony run hello`; `None` if unknown.
    pub what: Option<String>,
    /// The creation time, in the cluster's format.
    pub since: Option<String>,
}

/// Finds all objects with prony's label. They may belong to a run in progress.
pub fn left(cluster: &Cluster) -> Result<Vec<LeftoverObject>, ClusterError> {
    left_at(&*connect(cluster)?, &cluster.namespace)
}

/// Removes objects found by [`left`]. Objects that no longer exist are ignored.
pub fn remove(cluster: &Cluster, found: &[LeftoverObject]) -> Result<(), ClusterError> {
    remove_at(&*connect(cluster)?, &cluster.namespace, found)
}

fn left_at(api: &dyn Api, namespace: &str) -> Result<Vec<LeftoverObject>, ClusterError> {
    let labelled = labelled(MANAGED.0, MANAGED.1);
    let list = |path: String, what| ask::<List<ObjectName>>(api, &Call::get(path + &labelled, what), PAUSE);
    let jobs = list(jobs(namespace), "list jobs")?.items;
    let pods = list(pods(namespace), "list pods")?.items;
    let of = |kind| {
        move |one: &ObjectName| LeftoverObject {
            kind,
            name: one.metadata.name.clone(),
            what: one.metadata.annotations.get("prony/what").cloned(),
            since: one.metadata.creation_timestamp.clone(),
        }
    };
    let alone = pods.iter().filter(|pod| {
        let job = pod.metadata.labels.get(OF_JOB);
        let is_there = |job: &String| jobs.iter().any(|one| one.metadata.name == *job);
        let goes = pod.metadata.deletion_timestamp.is_some();
        !goes && job.is_none_or(|job| !is_there(job))
    });
    let going = |job: &&ObjectName| job.metadata.deletion_timestamp.is_none();
    let mut left: Vec<LeftoverObject> = jobs.iter().filter(going).map(of("job")).collect();
    left.extend(alone.map(of("pod")));
    Ok(left)
}

fn remove_at(api: &dyn Api, namespace: &str, found: &[LeftoverObject]) -> Result<(), ClusterError> {
    for one in found {
        let folder = if one.kind == "job" {
            jobs(namespace)
        } else {
            pods(namespace)
        };
        let call = Call::delete(
            format!("{folder}/{}", one.name),
            format!("remove the {} {}", one.kind, one.name),
        );
        match ask::<serde_json::Value>(api, &call, PAUSE) {
            Ok(_) | Err(ClusterError::Refused { code: 404, .. }) => {}
            Err(error) => return Err(error),
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
        let found = left_at(&*fake, "bench").expect("listed");
        let kinds: Vec<&str> = found.iter().map(|one| one.kind).collect();
        assert_eq!(kinds, ["job", "job"], "their pods go with them");
        assert_eq!(found[0].what.as_deref(), Some("prony run hello"));
        assert_eq!(found[0].since.as_deref(), Some("2026-01-01T00:00:00Z"));
        remove_at(&*fake, "bench", &found).expect("removed");
        assert_eq!(left_at(&*fake, "bench").expect("listed"), []);
        remove_at(&*fake, "bench", &found).expect("gone already");
    }
}
