//! Checks a testbed before a run.

use crate::testbed::clocks::error_ns as clock_error_ns;
use crate::testbed::json_lines_process::{JsonLinesProcess, Task};
use crate::testbed::{LinkSpeed, Member, Testbed};
use prony_host::{CpuGrant, HostError, free_bytes};
use prony_kubernetes::Pod;
use prony_records::TestbedHost;
pub use prony_records::TestbedLink as Link;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// The state of a testbed before a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Preflight {
    /// Version of this JSON format.
    pub schema: u32,
    /// The hosts by name.
    pub hosts: BTreeMap<String, HostFound>,
    /// The network from each worker to the service, and from the service to its backing service, if they are on different
    /// hosts.
    pub links: Vec<Link>,
    /// Problems that prevent a run or reduce its accuracy, the most severe first.
    pub findings: Vec<Finding>,
}

/// The state of a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostFound {
    /// Its roles and environment.
    #[serde(flatten)]
    pub host: TestbedHost,
    /// Uncertainty of its clock in ns.
    pub clock_error_ns: u64,
    /// Share of its CPU time that other programs use.
    pub others: Option<f64>,
    /// Free bytes on the disk that its agent uses.
    pub free_bytes: Option<u64>,
    /// The resources that a pod actually received from its node; `None` if the host is not a pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<CpuGrant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Figures will be less accurate.
    Costs,
    /// The run cannot start.
    Blocks,
}

/// A problem that prevents a run or reduces its accuracy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub host: String,
    pub text: String,
    pub remedy: String,
    pub severity: Severity,
}

/// How long the CPU usage of a host is observed.
const WATCHED: Duration = Duration::from_millis(500);
/// Above this share of CPU time used by other programs, the figures of a host vary too much.
const OTHERS: f64 = 0.05;
/// Disk space that a run needs on a host in bytes.
const ROOM: u64 = 1 << 30;
/// Open files of a worker with a thousand connections.
const FILES: u64 = 1_200;
/// Above this clock uncertainty, in ns, the workers start visibly apart.
const CLOCK_NS: u64 = 5_000_000;
/// Minimum throughput of one connection on a gigabit network in bits per second.
const GIGABIT: f64 = 0.8e9;
/// A link is slow if its speed is below this share of the fastest link to the same host.
const UNEQUAL: f64 = 0.5;
/// Throttled time, in ns, that is acceptable for a pod that has done nothing yet.
const THROTTLED_NS: u64 = 1_000_000_000;
/// Timeout for each end of a link measurement.
const LINK: Duration = Duration::from_secs(20);

impl Preflight {
    /// The findings that prevent a run, each with its remedy.
    pub fn blocks(&self) -> Vec<String> {
        let blocks = self
            .findings
            .iter()
            .filter(|finding| finding.severity == Severity::Blocks);
        blocks
            .map(|finding| format!("{}: {}: {}", finding.host, finding.text, finding.remedy))
            .collect()
    }

    /// Checks all hosts in parallel, then the links one after the other.
    pub fn of(testbed: &Testbed) -> Result<Self, HostError> {
        let results: Vec<Result<HostFound, HostError>> = std::thread::scope(|scope| {
            let each = testbed
                .members()
                .iter()
                .map(|member| scope.spawn(|| look(testbed, member)));
            let all: Vec<_> = each.collect();
            let ends = all.into_iter().map(std::thread::ScopedJoinHandle::join);
            ends.map(|end| end.expect("invariant: looking does not panic"))
                .collect()
        });
        let mut hosts = BTreeMap::new();
        let mut findings = Vec::new();
        for (member, found) in testbed.members().iter().zip(results) {
            let found = found?;
            findings.extend(judge(&member.name, &found));
            if let (Some(pod), Some(granted)) = (&member.pod, &found.granted) {
                findings.extend(judge_pod(pod, granted));
            }
            hosts.insert(member.name.clone(), found);
        }
        let mut links = Vec::new();
        for (from, to) in ways(testbed) {
            match link(from, to) {
                Ok(link) => links.push(link),
                Err(reason) => findings.push(Finding {
                    host: from.name.clone(),
                    text: format!(
                        "{} ({}) cannot be reached from this host: {reason}",
                        to.name,
                        to.host.address()
                    ),
                    remedy: format!(
                        "open the ports between the two hosts in their firewalls, or correct `address` in [host.{}]",
                        to.name
                    ),
                    severity: Severity::Blocks,
                }),
            }
        }
        findings.extend(slow(&links));
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        Ok(Self {
            schema: 1,
            hosts,
            links,
            findings,
        })
    }
}

/// The pairs of hosts that exchange data in a trial.
fn ways(testbed: &Testbed) -> Vec<(&Member, &Member)> {
    let (service, backing_service) = (testbed.service(), testbed.backing_service());
    let workers = testbed.workers().map(|worker| (worker, service));
    let mut ways: Vec<_> = workers.chain([(service, backing_service)]).collect();
    ways.retain(|(from, to)| from.name != to.name);
    ways
}

fn look(testbed: &Testbed, member: &Member) -> Result<HostFound, HostError> {
    let host = testbed.seen(member);
    let usage = member.host.watch(WATCHED);
    let others = usage.and_then(|usage| usage.share(usage.busy_ns));
    let free = match &member.remote {
        Some(remote) => remote.free_bytes(),
        None => free_bytes(&member.logs),
    };
    let granted = member
        .pod
        .as_ref()
        .map(|_| run_task(member, &["granted"]))
        .transpose();
    let granted = granted.map_err(|text| HostError::There {
        host: member.name.clone(),
        text,
    })?;
    Ok(HostFound {
        host,
        clock_error_ns: clock_error_ns(member)?,
        others,
        free_bytes: free,
        granted: granted.map(|(_, granted)| granted),
    })
}

/// Whether a pod has the requested CPUs, and has them exclusively.
fn judge_pod(pod: &Pod, granted: &CpuGrant) -> Vec<Finding> {
    let costs = |text: String, remedy: &str| Finding {
        host: pod.host.clone(),
        text,
        remedy: remedy.to_owned(),
        severity: Severity::Costs,
    };
    let (allowed, asked) = (granted.allowed.len(), pod.cpus as usize);
    let mut findings = Vec::new();
    if allowed > asked {
        let text = format!(
            "its CPUs are not exclusive: it may run on {allowed} CPUs of the node {} and a quota limits it to {asked}",
            pod.node
        );
        findings.push(costs(
            text,
            "set the CPU manager policy of the kubelet on that node to `static`, or run nothing else on the node",
        ));
    }
    let has = granted.quota.unwrap_or(allowed as f64).min(allowed as f64);
    if has < asked as f64 {
        let text = format!(
            "it has {has} CPUs of the node {}, but {asked} were requested",
            pod.node
        );
        findings.push(costs(
            text,
            "check the limits of the namespace and the CPUs of the node",
        ));
    }
    if let Some(throttled) = granted.throttled_ns.filter(|throttled| *throttled > THROTTLED_NS) {
        let text = format!("its CPU quota has throttled it for {} ms", throttled / 1_000_000);
        findings.push(costs(
            text,
            "check what else runs in the pod: it should contain nothing else",
        ));
    }
    findings
}

fn judge(name: &str, found: &HostFound) -> Vec<Finding> {
    let finding = |severity, text: String, remedy: &str| Finding {
        host: name.to_owned(),
        text,
        remedy: remedy.to_owned(),
        severity,
    };
    let mut findings = Vec::new();
    let environment = &found.host.environment;
    if let Some(others) = found.others.filter(|others| *others > OTHERS) {
        let text = format!("other programs use {:.0} % of its CPU time", 100.0 * others);
        findings.push(finding(
            Severity::Costs,
            text,
            "stop these programs, or use `prony run --interleaved`",
        ));
    }
    if let Some(free) = found.free_bytes.filter(|free| *free < ROOM) {
        let text = format!("only {} MiB of disk space are free", free >> 20);
        findings.push(finding(
            Severity::Blocks,
            text,
            "free some disk space: a run needs 1 GiB",
        ));
    }
    let is_worker = found.host.roles.iter().any(|role| role == "load");
    if let Some(files) = environment
        .open_files_limit
        .filter(|files| is_worker && *files < FILES)
    {
        let text = format!("the limit of open files is {files}");
        findings.push(finding(
            Severity::Costs,
            text,
            "raise it (`ulimit -n 65536`) for loads with many connections",
        ));
    }
    if found.clock_error_ns > CLOCK_NS {
        let text = format!(
            "the uncertainty of its clock is {:.1} ms",
            found.clock_error_ns as f64 / 1e6
        );
        findings.push(finding(
            Severity::Costs,
            text,
            "use a closer host or a longer measurement",
        ));
    }
    let costs = environment.findings.iter();
    findings.extend(costs.map(|cost| finding(Severity::Costs, cost.text.clone(), &cost.remedy)));
    findings
}

/// Links that are slower than a gigabit network or much slower than another link to the same host.
fn slow(links: &[Link]) -> Vec<Finding> {
    let fastest = |to: &str| {
        let all = links.iter().filter(|link| link.to == to);
        all.map(|link| link.bits_per_s).fold(0.0, f64::max)
    };
    let slow = links
        .iter()
        .filter(|link| link.bits_per_s < GIGABIT.max(UNEQUAL * fastest(&link.to)));
    slow.map(|link| Finding {
        host: link.from.clone(),
        text: format!(
            "its link to {} carries {:.3} Gbit/s instead of the expected {:.3}",
            link.to,
            link.bits_per_s / 1e9,
            GIGABIT.max(fastest(&link.to)) / 1e9
        ),
        remedy: "check cables, switches and other traffic, or use loads that need less bandwidth: otherwise the network is the limit, not \
                 the service"
            .to_owned(),
        severity: Severity::Costs,
    })
    .collect()
}

/// Measures the network from each worker of a testbed to the target host of a load, unless both are the same host or this
/// machine. Fails at the first link that cannot be used.
pub fn links_to(testbed: &Testbed, to: &Member) -> Result<Vec<Link>, String> {
    let apart = testbed
        .workers()
        .filter(|worker| worker.name != to.name && !(worker.is_on_this_machine() && to.is_on_this_machine()));
    apart.map(|worker| link(worker, to)).collect()
}

/// Measures the network between two hosts with a prony process on each.
fn link(from: &Member, to: &Member) -> Result<Link, String> {
    let address = to.host.address();
    let (_server, port): (_, u16) = run_task(to, &["link", "--listen", address])?;
    let (_client, speed): (_, LinkSpeed) = run_task(from, &["link", "--to", &format!("{address}:{port}")])?;
    Ok(Link {
        from: from.name.clone(),
        to: to.name.clone(),
        round_trip_ns: speed.round_trip_ns,
        bits_per_s: speed.bits_per_s,
    })
}

/// Starts one end of a measurement and returns it with the first value that it reports.
fn run_task<T: DeserializeOwned>(
    member: &Member,
    arguments: &[&str],
) -> Result<(JsonLinesProcess, T), String> {
    let what = Task {
        name: "the measurement",
        arguments,
        folder: None,
        place: None,
        log: Path::new("link.log"),
    };
    let mut process = JsonLinesProcess::begin(member, what).map_err(|error| error.to_string())?;
    let first = process.receive(LINK)?;
    let first =
        first.ok_or_else(|| format!("{} reported nothing for {} s", process.who(), LINK.as_secs()))?;
    Ok((process, first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(from: &str, to: &str, gigabits: f64) -> Link {
        Link {
            from: from.to_owned(),
            to: to.to_owned(),
            round_trip_ns: 100_000,
            bits_per_s: gigabits * 1e9,
        }
    }

    #[test]
    fn a_pod_is_told_when_it_has_other_cpus_than_were_asked_for() {
        let pod = Pod {
            host: "app".to_owned(),
            name: "prony-abc-app-0-x".to_owned(),
            address: "10.0.0.1".to_owned(),
            node: "n1".to_owned(),
            image: None,
            cpus: 2,
        };
        let run_task = |allowed: &str, quota, throttled_ns| -> Vec<String> {
            let granted = CpuGrant {
                allowed: allowed.parse().expect("CPUs"),
                quota,
                throttled_ns,
            };
            judge_pod(&pod, &granted)
                .into_iter()
                .map(|finding| finding.text)
                .collect()
        };
        assert!(run_task("4-5", Some(2.0), Some(5_000)).is_empty());
        assert!(run_task("4-5", None, None).is_empty());
        assert_eq!(
            run_task("0-7", Some(2.0), None),
            ["its CPUs are not exclusive: it may run on 8 CPUs of the node n1 and a quota limits it to 2"]
        );
        assert_eq!(
            run_task("3", None, None),
            ["it has 1 CPUs of the node n1, but 2 were requested"]
        );
        assert_eq!(
            run_task("4-5", Some(1.5), Some(3_000_000_000)),
            [
                "it has 1.5 CPUs of the node n1, but 2 were requested",
                "its CPU quota has throttled it for 3000 ms"
            ]
        );
    }

    #[test]
    fn a_way_is_slow_by_itself_or_beside_another() {
        let named = |links: &[Link]| -> Vec<String> {
            slow(links)
                .into_iter()
                .map(|finding| format!("{}: {}", finding.host, finding.text))
                .collect()
        };
        assert!(named(&[link("one", "app", 0.94), link("two", "app", 0.94)]).is_empty());
        assert!(named(&[link("one", "app", 9.4), link("app", "db", 0.94)]).is_empty());
        assert_eq!(
            named(&[link("one", "app", 0.094)]),
            ["one: its link to app carries 0.094 Gbit/s instead of the expected 0.800"]
        );
        assert_eq!(
            named(&[link("one", "app", 9.4), link("two", "app", 0.94)]),
            ["two: its link to app carries 0.940 Gbit/s instead of the expected 9.400"]
        );
    }
}
