//! What is found of a lab before anything is measured in it.

use crate::testbed::clocks::error_ns as clock_error_ns;
use crate::testbed::json_lines_process::{Talk, Task};
use crate::testbed::{Lab, LinkSpeed, Member};
use prony_host::{Granted, HostError, free_bytes};
use prony_kubernetes::Pod;
use prony_records::LabHost;
pub use prony_records::LabLink as Link;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// What a lab is like before a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Preflight {
    /// Version of this JSON.
    pub schema: u32,
    /// Each host, by name.
    pub hosts: BTreeMap<String, HostFound>,
    /// The network from each worker to the service, and from the service to its companion, where they are apart.
    pub links: Vec<Link>,
    /// What stands against a run or costs accuracy, the worst first.
    pub findings: Vec<Finding>,
}

/// What a host is like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostFound {
    /// Its roles, and the machine.
    #[serde(flatten)]
    pub host: LabHost,
    /// How well its clock is known, ns.
    pub clock_error_ns: u64,
    /// Share of its CPU time that others take.
    pub others: Option<f64>,
    /// Free bytes where it works.
    pub free_bytes: Option<u64>,
    /// What a pod was really given of its node; `None`: it is no pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<Granted>,
}

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Numbers will be less exact.
    Costs,
    /// There will be no numbers.
    Blocks,
}

/// Something that stands against a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Where.
    pub host: String,
    /// What.
    pub text: String,
    /// What to do.
    pub remedy: String,
    /// How much it weighs.
    pub severity: Severity,
}

/// How long a host is watched for others.
const WATCHED: Duration = Duration::from_millis(500);
/// Share of a host in the hands of others beyond which its numbers swim.
const OTHERS: f64 = 0.05;
/// Room that a run needs on a host, bytes.
const ROOM: u64 = 1 << 30;
/// Files that a worker needs for a thousand connections and its own.
const FILES: u64 = 1_200;
/// A clock that is known no better makes the start uneven, ns.
const CLOCK_NS: u64 = 5_000_000;
/// What one connection gets through a network of a gigabit at least, bits per second.
const GIGABIT: f64 = 0.8e9;
/// Share of the fastest way to a host below which another way to it is slow.
const UNEQUAL: f64 = 0.5;
/// Time for which a pod that did nothing yet may have been kept from its CPUs, ns.
const THROTTLED_NS: u64 = 1_000_000_000;
/// Longest wait for one end of the measurement of a link.
const LINK: Duration = Duration::from_secs(20);

impl Preflight {
    /// What blocks a run, each with what to do.
    pub fn blocks(&self) -> Vec<String> {
        let blocks = self
            .findings
            .iter()
            .filter(|finding| finding.severity == Severity::Blocks);
        blocks
            .map(|finding| format!("{}: {}: {}", finding.host, finding.text, finding.remedy))
            .collect()
    }

    /// Looks at every host at the same time, then at the links one after the other.
    pub fn of(lab: &Lab) -> Result<Self, HostError> {
        let looked: Vec<Result<HostFound, HostError>> = std::thread::scope(|scope| {
            let each = lab
                .members()
                .iter()
                .map(|member| scope.spawn(|| look(lab, member)));
            let all: Vec<_> = each.collect();
            let ends = all.into_iter().map(std::thread::ScopedJoinHandle::join);
            ends.map(|end| end.expect("invariant: looking does not panic"))
                .collect()
        });
        let mut hosts = BTreeMap::new();
        let mut findings = Vec::new();
        for (member, found) in lab.members().iter().zip(looked) {
            let found = found?;
            findings.extend(judge(&member.name, &found));
            if let (Some(pod), Some(granted)) = (&member.pod, &found.granted) {
                findings.extend(judge_pod(pod, granted));
            }
            hosts.insert(member.name.clone(), found);
        }
        let mut links = Vec::new();
        for (from, to) in ways(lab) {
            match link(from, to) {
                Ok(link) => links.push(link),
                Err(reason) => findings.push(Finding {
                    host: from.name.clone(),
                    text: format!(
                        "{} ({}) is not reached from there: {reason}",
                        to.name,
                        to.host.address()
                    ),
                    remedy: format!(
                        "open the ports between both in their firewalls, or mend `address` under [host.{}]",
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

/// The ways that bytes go in a trial.
fn ways(lab: &Lab) -> Vec<(&Member, &Member)> {
    let (service, companion) = (lab.service(), lab.companion());
    let workers = lab.workers().map(|worker| (worker, service));
    let mut ways: Vec<_> = workers.chain([(service, companion)]).collect();
    ways.retain(|(from, to)| from.name != to.name);
    ways
}

fn look(lab: &Lab, member: &Member) -> Result<HostFound, HostError> {
    let host = lab.seen(member);
    let usage = member.host.watch(WATCHED);
    let others =
        usage.map(|usage| usage.busy_ns as f64 / (usage.window_ns as f64 * f64::from(usage.cpus)).max(1.0));
    let free = match &member.remote {
        Some(remote) => remote.free_bytes(),
        None => free_bytes(&member.logs),
    };
    let granted = member
        .pod
        .as_ref()
        .map(|_| told(member, &["granted"]))
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

/// Whether a pod has the CPUs that were asked for, and to itself.
fn judge_pod(pod: &Pod, granted: &Granted) -> Vec<Finding> {
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
            "its CPUs are not its own: it may run on {allowed} CPUs of the node {}, and is held to {asked} by a quota",
            pod.node
        );
        findings.push(costs(
            text,
            "give the kubelet of the node the CPU manager policy `static`, or keep everything else off that node",
        ));
    }
    let has = granted.quota.unwrap_or(allowed as f64).min(allowed as f64);
    if has < asked as f64 {
        let text = format!(
            "it has {has} CPUs of the node {}, where {asked} were asked for",
            pod.node
        );
        findings.push(costs(
            text,
            "look at the limits of the namespace and at the CPUs of the node",
        ));
    }
    if let Some(throttled) = granted.throttled_ns.filter(|throttled| *throttled > THROTTLED_NS) {
        let text = format!(
            "a quota kept it from its CPUs for {} ms already",
            throttled / 1_000_000
        );
        findings.push(costs(text, "look at what else runs in its pod: nothing should"));
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
        let text = format!("others use {:.0} % of its CPU time", 100.0 * others);
        findings.push(finding(
            Severity::Costs,
            text,
            "end what runs there, or use `prony run --turns`",
        ));
    }
    if let Some(free) = found.free_bytes.filter(|free| *free < ROOM) {
        let text = format!("{} MiB are free where it works", free >> 20);
        findings.push(finding(
            Severity::Blocks,
            text,
            "make room there: a run needs a GiB",
        ));
    }
    let is_worker = found.host.roles.iter().any(|role| role == "load");
    if let Some(files) = environment
        .open_files_limit
        .filter(|files| is_worker && *files < FILES)
    {
        let text = format!("a process there may have {files} files open");
        findings.push(finding(
            Severity::Costs,
            text,
            "raise it (`ulimit -n 65536`) for loads of many connections",
        ));
    }
    if found.clock_error_ns > CLOCK_NS {
        let text = format!(
            "its clock is known to {:.1} ms only",
            found.clock_error_ns as f64 / 1e6
        );
        findings.push(finding(
            Severity::Costs,
            text,
            "use a host that is nearer, or a longer measurement",
        ));
    }
    let costs = environment.findings.iter();
    findings.extend(costs.map(|cost| finding(Severity::Costs, cost.text.clone(), &cost.remedy)));
    findings
}

/// The ways that carry less than a network of a gigabit does, or much less than another way to the same host.
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
            "its way to {} carries {:.3} Gbit/s, where {:.3} would be usual",
            link.to,
            link.bits_per_s / 1e9,
            GIGABIT.max(fastest(&link.to)) / 1e9
        ),
        remedy: "look at cables, switches and other traffic, or keep to loads that need less: else the network is the limit, not \
                 the service"
            .to_owned(),
        severity: Severity::Costs,
    })
    .collect()
}

/// The network from each worker of a lab to a host that the load goes to, where they are apart and not both this machine. The
/// first way that is closed is told.
pub fn links_to(lab: &Lab, to: &Member) -> Result<Vec<Link>, String> {
    let apart = lab
        .workers()
        .filter(|worker| worker.name != to.name && !(worker.is_on_this_machine() && to.is_on_this_machine()));
    apart.map(|worker| link(worker, to)).collect()
}

/// Measures the way between two hosts with a prony on each.
fn link(from: &Member, to: &Member) -> Result<Link, String> {
    let address = to.host.address();
    let (_server, port): (_, u16) = told(to, &["link", "--listen", address])?;
    let (_client, speed): (_, LinkSpeed) = told(from, &["link", "--to", &format!("{address}:{port}")])?;
    Ok(Link {
        from: from.name.clone(),
        to: to.name.clone(),
        round_trip_ns: speed.round_trip_ns,
        bits_per_s: speed.bits_per_s,
    })
}

/// What one end of a measurement tells first, and that end.
fn told<T: DeserializeOwned>(member: &Member, arguments: &[&str]) -> Result<(Talk, T), String> {
    let what = Task {
        name: "the measurement",
        arguments,
        folder: None,
        place: None,
        log: Path::new("link.log"),
    };
    let mut talk = Talk::begin(member, what).map_err(|error| error.to_string())?;
    let first = talk.hear(LINK)?;
    let first = first.ok_or_else(|| format!("{} said nothing for {} s", talk.who(), LINK.as_secs()))?;
    Ok((talk, first))
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
        let told = |allowed: &str, quota, throttled_ns| -> Vec<String> {
            let granted = Granted {
                allowed: allowed.parse().expect("CPUs"),
                quota,
                throttled_ns,
            };
            judge_pod(&pod, &granted)
                .into_iter()
                .map(|finding| finding.text)
                .collect()
        };
        assert!(told("4-5", Some(2.0), Some(5_000)).is_empty());
        assert!(told("4-5", None, None).is_empty());
        assert_eq!(
            told("0-7", Some(2.0), None),
            ["its CPUs are not its own: it may run on 8 CPUs of the node n1, and is held to 2 by a quota"]
        );
        assert_eq!(
            told("3", None, None),
            ["it has 1 CPUs of the node n1, where 2 were asked for"]
        );
        assert_eq!(
            told("4-5", Some(1.5), Some(3_000_000_000)),
            [
                "it has 1.5 CPUs of the node n1, where 2 were asked for",
                "a quota kept it from its CPUs for 3000 ms already"
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
            ["one: its way to app carries 0.094 Gbit/s, where 0.800 would be usual"]
        );
        assert_eq!(
            named(&[link("one", "app", 9.4), link("two", "app", 0.94)]),
            ["two: its way to app carries 0.940 Gbit/s, where 9.400 would be usual"]
        );
    }
}
