//! What is found of a lab before anything is measured in it.

use crate::generator::clock_error_ns;
use crate::{Lab, LinkSpeed, Member};
use prony_host::{Cpus, HostError, Isolation, Limits, Process, ProcessSpec, Stdio, free_bytes};
use prony_measurement::LabHost;
pub use prony_measurement::LabLink as Link;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read};
use std::time::{Duration, Instant};

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
/// Longest measurement of a link.
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
            hosts.insert(member.name.clone(), found);
        }
        let mut links = Vec::new();
        for (from, to) in ways(lab) {
            match link(from, to) {
                Ok(speed) => links.push(Link {
                    from: from.name.clone(),
                    to: to.name.clone(),
                    round_trip_ns: speed.round_trip_ns,
                    bits_per_s: speed.bits_per_s,
                }),
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
    Ok(HostFound {
        host,
        clock_error_ns: clock_error_ns(member)?,
        others,
        free_bytes: free,
    })
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

/// Measures the way between two hosts with a prony on each.
fn link(from: &Member, to: &Member) -> Result<LinkSpeed, String> {
    let address = to.host.address();
    let (mut server, output) =
        start(to, &["link", "--listen", address]).map_err(|error| error.to_string())?;
    let Some(port) = first_line(output) else {
        return Err(said(&mut *server, &to.name));
    };
    let target = format!("{address}:{}", port.trim());
    let (mut client, output) = start(from, &["link", "--to", &target]).map_err(|error| error.to_string())?;
    let line = first_line(output).ok_or_else(|| said(&mut *client, &from.name))?;
    serde_json::from_str(&line).map_err(|_| format!("the prony on {} said `{}`", from.name, line.trim()))
}

/// A process with what it writes.
type Started = (Box<dyn Process>, Box<dyn Read + Send>);

fn start(member: &Member, words: &[&str]) -> Result<Started, HostError> {
    let spec = ProcessSpec {
        name: "the measurement of a link".to_owned(),
        command: member.prony(words),
        container: None,
        folder: member.logs.clone(),
        environment: BTreeMap::new(),
        cpus: Cpus::default(),
        supervisor_cpus: Cpus::default(),
        limits: Limits::default(),
        isolation: Isolation::WherePossible,
        network: None,
        stdio: Stdio::Piped,
        log: member.logs.join("link.log"),
        log_bytes: 1 << 16,
        grace: Duration::from_secs(1),
        stop_signal: None,
        sample_every: None,
    };
    let mut process = member.host.start(&spec)?;
    let (_, output) = process.take_pipes().ok_or_else(|| HostError::Start {
        name: spec.name,
        reason: "it has no pipes".to_owned(),
    })?;
    Ok((process, output))
}

/// The first line that a process writes, where one comes in time.
fn first_line(output: Box<dyn Read + Send>) -> Option<String> {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(output).read_line(&mut line);
        let _ = sender.send(read.ok().filter(|length| *length > 0).map(|_| line));
    });
    receiver.recv_timeout(LINK).ok().flatten()
}

/// What a process said at its end.
fn said(process: &mut dyn Process, host: &str) -> String {
    let until = Instant::now() + Duration::from_secs(1);
    while process.ended().is_none() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    let last = process.log_tail(2).join(" | ");
    if last.is_empty() {
        format!("nothing came within {} s on {host}", LINK.as_secs())
    } else {
        last
    }
}
