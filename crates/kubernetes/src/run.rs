//! The pods of one run: creates them, waits for them, and removes them.

use crate::connection::Connection;
use crate::error::ClusterError;
use crate::manifest::{OwnerLabels, RUN, job};
use crate::spec::{Cluster, Group, Pod, PodRequest};
use crate::status::{PodsState, fate, standing};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Event, Pod as ClusterPod};
use kube::api::ListParams;
use kube::{Resource as _, ResourceExt as _};
use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::{Duration, Instant};

/// The reason for waiting is reported after this time.
const TOLD_AFTER: Duration = Duration::from_secs(3);

/// The pods of a run. Dropping it removes them.
pub struct Run {
    connection: Connection,
    cluster: Cluster,
    name: String,
    jobs: Vec<String>,
    pods: Vec<Pod>,
}

impl Run {
    /// Creates the pods and waits until all of them run.
    pub fn begin(cluster: &Cluster, groups: &[Group], begin: &PodRequest<'_>) -> Result<Self, ClusterError> {
        Self::on(Connection::open(cluster)?, cluster, groups, begin)
    }

    /// The same with an existing connection to the API.
    pub(crate) fn on(
        connection: Connection,
        cluster: &Cluster,
        groups: &[Group],
        begin: &PodRequest<'_>,
    ) -> Result<Self, ClusterError> {
        let mut run = Self {
            connection,
            cluster: cluster.clone(),
            name: fresh_name(),
            jobs: Vec::new(),
            pods: Vec::new(),
        };
        run.make(groups, begin.what)?;
        run.pods = run.wait(groups, begin)?;
        for (node, shared) in run.shared_nodes() {
            (begin.tell)(&format!(
                "{} share the node {node} and disturb each other",
                shared.join(" and ")
            ));
        }
        Ok(run)
    }

    /// The pods. All of them were running when the run began.
    pub fn pods(&self) -> &[Pod] {
        &self.pods
    }

    pub(crate) const fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) const fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Why a pod does not run any more, if the cluster knows.
    pub(crate) fn fate(&self, pod: &str) -> Option<String> {
        // Only this pod: many may be lost at the same time.
        let selected = self.selected().fields(&format!("metadata.name={pod}"));
        let seen = self.connection.list_once(&selected, "list pods");
        fate(&seen.ok()?, pod)
    }

    /// Selects the pods of this run.
    fn selected(&self) -> ListParams {
        ListParams::default().labels(&format!("{RUN}={}", self.name))
    }

    /// Creates one job per group. The first job owns all others.
    fn make(&mut self, groups: &[Group], what: &str) -> Result<(), ClusterError> {
        let asker = OwnerLabels {
            run: self.name.clone(),
            what: what.to_owned(),
        };
        let mut owner = None;
        for group in groups {
            let job = job(&self.cluster, group, &asker, owner.clone());
            // Before the request, since its reply may be lost. Removing a job that does not exist does no harm.
            self.jobs.push(job.name_any());
            let made = self.connection.create(&job)?;
            // An old cluster drops the unknown field, and would replace a lost pod.
            if made
                .spec
                .as_ref()
                .and_then(|spec| spec.backoff_limit_per_index)
                .is_none()
            {
                return Err(ClusterError::Old);
            }
            owner = owner.or_else(|| made.owner_ref(&()));
        }
        Ok(())
    }

    fn wait(&self, groups: &[Group], begin: &PodRequest<'_>) -> Result<Vec<Pod>, ClusterError> {
        let since = Instant::now();
        let selected = self.selected();
        let warnings = ListParams::default().fields("type=Warning");
        let mut told = String::new();
        loop {
            let seen: Vec<ClusterPod> = self.connection.list(&selected, "list pods")?;
            let mut now = standing(groups, &self.name, &seen, &[]);
            if !matches!(now, PodsState::Ready(_)) {
                // Events only explain the wait. Without the right to read them the explanation is shorter.
                let events: Vec<Event> = self.connection.list(&warnings, "list events").unwrap_or_default();
                now = standing(groups, &self.name, &seen, &events);
            }
            let waits = match now {
                PodsState::Ready(pods) => return Ok(pods),
                PodsState::Never(text) => return Err(ClusterError::Pods { text }),
                PodsState::Waiting(text) => text,
            };
            if !(begin.goes_on)() {
                return Err(ClusterError::Ended);
            }
            if since.elapsed() >= self.cluster.within {
                return Err(ClusterError::Pods {
                    text: format!(
                        "after {} s {waits}: request less, free resources on the nodes, or wait longer (`within` of \
                         [kubernetes])",
                        self.cluster.within.as_secs()
                    ),
                });
            }
            if since.elapsed() >= TOLD_AFTER && waits != told {
                (begin.tell)(&format!("waiting for pods: {waits}"));
                told = waits;
            }
            std::thread::sleep(self.connection.pause());
        }
    }

    /// Nodes with more than one pod, and the names of these pods' hosts.
    fn shared_nodes(&self) -> Vec<(&str, Vec<&str>)> {
        let mut nodes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for pod in &self.pods {
            nodes.entry(&pod.node).or_default().push(&pod.host);
        }
        nodes.into_iter().filter(|(_, hosts)| hosts.len() > 1).collect()
    }
}

impl Drop for Run {
    /// Jobs that cannot be removed now end at their deadline, and `prony testbed clean` finds them.
    fn drop(&mut self) {
        for job in &self.jobs {
            let removed = self
                .connection
                .delete::<Job>(job, &format!("remove the job {job}"));
            // Do not wait for an unresponsive cluster again: all other jobs are deleted with the first.
            if matches!(removed, Err(ClusterError::Silent { .. })) {
                break;
            }
        }
    }
}

/// Eight random hexadecimal digits, unique among concurrent runs.
fn fresh_name() -> String {
    format!("{:08x}", RandomState::new().build_hasher().finish() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{Fake, begin, ends};
    use crate::manifest::tests::{cluster, groups};
    use serde_json::Value;
    use std::cell::Cell;
    use std::sync::Arc;

    #[test]
    fn pods_are_made_waited_for_and_removed() {
        let fake = Arc::new(Fake::default());
        let run = begin(&fake).expect("pods");
        let hosts: Vec<&str> = run.pods().iter().map(|pod| pod.host.as_str()).collect();
        assert_eq!(hosts, ["app", "load-0", "load-1"]);
        let jobs = fake.jobs();
        assert_eq!(jobs.len(), 2);
        assert_eq!(jobs[0]["metadata"].get("ownerReferences"), None);
        assert_eq!(
            jobs[1]["metadata"]["ownerReferences"][0]["uid"], jobs[0]["metadata"]["uid"],
            "deleting the first deletes all"
        );
        drop(run);
        assert_eq!(fake.jobs(), Vec::<Value>::new());
    }

    #[test]
    fn two_runs_have_names_of_their_own() {
        let fake = Arc::new(Fake::default());
        let (one, other) = (begin(&fake).expect("pods"), begin(&fake).expect("pods"));
        assert_ne!(one.name, other.name);
        drop(one);
        assert_eq!(fake.jobs().len(), 2, "the jobs of the other run stay");
    }

    #[test]
    fn what_fails_in_a_way_that_passes_is_tried_again() {
        let fake = Arc::new(Fake::default());
        fake.fail("POST", &[503]);
        fake.fail("GET", &[429, 500]);
        begin(&fake).expect("pods in the end");
        // The job was created but the reply was lost: creating it again finds it.
        fake.fail_after("POST", &[504]);
        begin(&fake).expect("pods in the end");
        assert_eq!(fake.jobs(), Vec::<Value>::new());
    }

    #[test]
    fn refusals_say_what_to_do_and_leave_nothing() {
        for (code, part) in [
            (401, "log in again"),
            (403, "`prony testbed rbac`"),
            (404, "kubectl create namespace"),
        ] {
            let fake = Arc::new(Fake::default());
            fake.fail("POST", &[code]);
            ends(begin(&fake), &["refuses to create the job prony-", part]);
            // The second request of a run.
            let fake = Arc::new(Fake::default());
            fake.fail("GET", &[code]);
            ends(begin(&fake), &["refuses to list pods", part]);
            assert_eq!(fake.jobs(), Vec::<Value>::new());
        }
        let fake = Arc::new(Fake::default());
        fake.fail("POST", &[503, 503, 503, 503]);
        ends(begin(&fake), &["(503)"]);
    }

    #[test]
    fn a_quota_ends_the_wait_and_a_lack_of_nodes_ends_it_in_time() {
        let fake = Arc::new(Fake::default());
        fake.refuse_pods("pods is forbidden: exceeded quota: small");
        ends(begin(&fake), &["app is not allowed", "exceeded quota: small"]);
        assert_eq!(fake.jobs(), Vec::<Value>::new());
        let fake = Arc::new(Fake::default());
        fake.no_node("0/2 nodes are available: 2 Insufficient cpu.");
        ends(
            begin(&fake),
            &["after 2 s", "0/2 nodes are available: 2 Insufficient cpu."],
        );
        assert_eq!(fake.jobs(), Vec::<Value>::new());
    }

    #[test]
    fn a_lost_pod_is_told_and_nobody_takes_its_place() {
        let fake = Arc::new(Fake::default());
        let run = begin(&fake).expect("pods");
        let names = || run.pods().iter().map(|pod| pod.name.clone());
        assert!(names().all(|name| run.fate(&name).is_none()));
        fake.lose("load", 1);
        assert_eq!(fake.failed("load"), [1], "at once");
        let fates: Vec<Option<String>> = names().map(|name| run.fate(&name)).collect();
        assert_eq!((&fates[0], &fates[1]), (&None, &None), "the others run on");
        assert!(
            fates[2]
                .as_ref()
                .is_some_and(|told| told.contains("the pod is gone"))
        );
        assert_eq!(fake.running(), 2, "and it is not replaced");
    }

    #[test]
    fn a_cluster_that_would_make_new_pods_is_refused() {
        let fake = Arc::new(Fake::default());
        fake.is_old();
        ends(begin(&fake), &["older than Kubernetes 1.29", "replace lost pods"]);
        assert_eq!(fake.jobs(), Vec::<Value>::new());
    }

    #[test]
    fn an_image_that_is_not_there_ends_the_wait_at_once() {
        let fake = Arc::new(Fake::default());
        fake.no_image(
            "ErrImageNeverPull",
            "Container image \"debian:12\" is not present",
        );
        ends(
            begin(&fake),
            &["app (prony-", "does not start", "is not present", "IfNotPresent"],
        );
        assert_eq!(fake.jobs(), Vec::<Value>::new());
    }

    #[test]
    fn a_namespace_that_goes_takes_its_pods_along() {
        let fake = Arc::new(Fake::default());
        let run = begin(&fake).expect("pods");
        let name = run.pods()[1].name.clone();
        fake.remove_jobs();
        assert!(
            run.fate(&name)
                .is_some_and(|told| told.contains("the pod is gone"))
        );
        fake.fail("GET", &[404]);
        assert_eq!(run.fate(&name), None, "unknown");
        // The jobs that it removes no longer exist.
        fake.fail("DELETE", &[404, 404]);
        drop(run);
    }

    #[test]
    fn ten_runs_leave_nothing() {
        let fake = Arc::new(Fake::default());
        for _ in 0..10 {
            begin(&fake).expect("pods");
        }
        assert_eq!((fake.jobs(), fake.running()), (Vec::<Value>::new(), 0));
    }

    /// Five hundred workers are created, waited for and removed; the messages stay short.
    #[test]
    fn five_hundred_pods_are_waited_for_in_few_words() {
        const WORKERS: u32 = 500;
        let mut groups = groups();
        groups[1].replicas = WORKERS;
        let fake = Arc::new(Fake::default());
        fake.no_node("0/2 nodes are available.");
        let began = Instant::now();
        let wanted = Cell::new(false);
        let asked = PodRequest {
            what: "",
            tell: &|_| {},
            goes_on: &|| wanted.get(),
        };
        let start = || Run::on(fake.connection(), &cluster(), &groups, &asked);
        ends(start(), &["cancelled before all pods ran"]);
        let PodsState::Waiting(told) = standing(&groups, "abc", &[], &[]) else {
            panic!("pods exist")
        };
        assert!(told.ends_with("; and 497 more") && told.len() < 300, "{told}");
        fake.with_nodes();
        wanted.set(true);
        let run = start().expect("pods");
        let hosts: Vec<&str> = run.pods().iter().map(|pod| pod.host.as_str()).collect();
        assert_eq!((hosts.len(), hosts[0], hosts[500]), (501, "app", "load-499"));
        fake.lose("load", 250);
        let lost = |number: usize| run.fate(&run.pods()[number].name).is_some();
        assert_eq!([250, 251, 252].map(lost), [false, true, false]);
        drop(run);
        println!(
            "{WORKERS} pods were created, queried and removed in {:.0} ms",
            began.elapsed().as_secs_f64() * 1e3
        );
    }

    #[test]
    fn it_ends_when_nobody_wants_it_any_more() {
        let fake = Arc::new(Fake::default());
        fake.no_node("none");
        let begin = PodRequest {
            what: "",
            tell: &|_| {},
            goes_on: &|| false,
        };
        let ended = Run::on(fake.connection(), &cluster(), &groups(), &begin);
        ends(ended, &["cancelled before all pods ran"]);
        assert_eq!(fake.jobs(), Vec::<Value>::new());
    }

    #[test]
    fn pods_on_one_node_are_told() {
        let fake = Arc::new(Fake::default());
        fake.one_node();
        let told = std::cell::RefCell::new(Vec::new());
        let begin = PodRequest {
            what: "",
            tell: &|text| told.borrow_mut().push(text.to_owned()),
            goes_on: &|| true,
        };
        Run::on(fake.connection(), &cluster(), &groups(), &begin).expect("pods");
        assert_eq!(
            told.into_inner(),
            ["app and load-0 and load-1 share the node n1 and disturb each other"]
        );
    }
}
