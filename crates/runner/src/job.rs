//! The job of a generator for one load of a trial.

use crate::TrialPlacement;
use crate::schedule::{LoadPath, LoadRun, WarmUp};
use crate::trial::Trial;
use prony_config::{ConfigError, GroupPlan, Service, WarmUpChoice, WorkerKind};
use prony_load::{
    Check, Job, Load, PhaseDurations, Profile, Rate, Target, Template, TransportChoice,
    WarmUp as GeneratorWarmUp,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// Length of an interval, the unit in which steadiness is judged.
const INTERVAL_NS: u64 = 100_000_000;
/// Share of bodies that are compared if comparing is expensive.
const COMPARED: f64 = 0.05;
/// Age at which a connection of a light load is replaced, ns.
const LIGHT_CONNECTION_NS: u64 = 500_000_000;
/// Requests after which it is replaced: code that opens connections is compiled after thousands of them, and would otherwise be
/// compiled in the measurement, which opens all of its connections anew.
const LIGHT_CONNECTION_REQUESTS: u32 = 8;
/// Number of unexpected replies that are recorded.
const KEPT: u32 = 5;
/// Longest time until loads that begin together are all running.
const PATIENCE: Duration = Duration::from_mins(1);

/// A target without TLS.
pub fn target_of(host: &str, port: u16) -> Target {
    Target {
        url: format!("http://{host}:{port}"),
        host: host.to_owned(),
        port,
        authority: format!("{host}:{port}"),
        tls: None,
        connect: prony_load::ConnectOptions::default(),
        credentials: None,
    }
}

/// The path past a service, to its backing service.
#[derive(Debug, Clone)]
pub(crate) struct DirectPath {
    pub(crate) target: Target,
    /// Headers that replace those of the contract, by name.
    pub(crate) headers: BTreeMap<String, String>,
}

impl DirectPath {
    /// Sends the requests of a job on this path.
    pub(crate) fn redirect(self, job: &mut Job) {
        job.target = self.target;
        for operation in &mut job.workload.operations {
            for header in &mut operation.request.headers {
                let own = (self.headers.iter()).find(|(name, _)| name.eq_ignore_ascii_case(&header.name));
                if let Some((_, value)) = own {
                    header.value = Template::literal(value.as_str());
                }
            }
        }
    }
}

/// The job for a load with this warm-up.
pub(crate) fn job(
    trial: &Trial<'_>,
    target: &Target,
    placement: &TrialPlacement,
    (run, warm_up): (&LoadRun, WarmUp),
) -> Result<Job, ConfigError> {
    let (group, protocol) = (trial.group(), trial.entry().channel.protocol());
    let mut target = target.clone();
    if let Some(tls) = &mut target.tls {
        tls.choices.whole_handshakes |= group.resumption == Some(false);
    }
    let load = match warm_up {
        WarmUp::Light { width, .. } => light(&group.load, width, trial.service, placement),
        WarmUp::Planned(_) if group.search.is_some() => closed(&group.load),
        _ => at_rate(&group.load, run.rate),
    };
    let load = match run.path {
        Some(LoadPath::Via {
            streams: Some(streams),
        }) => Load::closed(streams, 1),
        _ => load,
    };
    // So that all processes of a service take part.
    let is_renewed = matches!(warm_up, WarmUp::Light { .. }) && load.members().is_none();
    let generator = &placement.placement.generator().cpus;
    let threads = generator.len().clamp(1, load.shareable().max(1) as usize);
    Ok(Job {
        target,
        protocol,
        load,
        workload: trial.contract.workload(&group.workload, protocol)?,
        phases: PhaseDurations {
            warm_up: generator_warm_up(warm_up),
            measurement_ns: run.length.as_nanos() as u64,
            // By then every request has ended, with a reply or its timeout.
            drain_ns: group.timeout_ns,
        },
        timeout_ns: group.timeout_ns,
        check: Check {
            share: COMPARED,
            keep: KEPT,
        },
        threads: threads as u32,
        cpus: generator.as_slice().to_vec(),
        transport: TransportChoice::Auto,
        interval_ns: INTERVAL_NS,
        // All windows of one cycle have the same seed; each cycle has another one.
        seed: trial
            .seed()
            .wrapping_add(run.window.map_or(0, |window| u64::from(window.cycle))),
        limits: prony_load::Limits {
            requests_per_connection: requests_per_connection(group, is_renewed),
            connection_age_ns: is_renewed.then_some(LIGHT_CONNECTION_NS),
            ..prony_load::Limits::default()
        },
        log: None,
        share: None,
        count_replies: !trial.contract.after().is_empty(),
    })
}

/// Requests of a connection; `None`: no limit. Under a light load a connection has as many as a user, and few.
fn requests_per_connection(group: &GroupPlan, is_renewed: bool) -> Option<u32> {
    if !is_renewed {
        return group.requests_per_connection;
    }
    let planned = match group.load {
        Load::Users {
            requests_per_user, ..
        } => Some(requests_per_user),
        _ => group.requests_per_connection,
    };
    Some(planned.unwrap_or(u32::MAX).min(LIGHT_CONNECTION_REQUESTS))
}

/// The warm-up of the job. If the runner decides when it ends, there is a limit in case the command never arrives.
fn generator_warm_up(warm_up: WarmUp) -> GeneratorWarmUp {
    let until_told = |limit: Duration| GeneratorWarmUp::UntilTold {
        limit_ns: limit.as_nanos() as u64,
    };
    match warm_up {
        WarmUp::Planned(WarmUpChoice::FixedNs(ns)) => GeneratorWarmUp::FixedNs(ns),
        WarmUp::Planned(WarmUpChoice::Steady { most_ns, .. })
        | WarmUp::Light {
            choice: WarmUpChoice::Steady { most_ns, .. } | WarmUpChoice::FixedNs(most_ns),
            ..
        }
        | WarmUp::Rehearsal(WarmUpChoice::Steady { most_ns, .. } | WarmUpChoice::FixedNs(most_ns)) => {
            until_told(Duration::from_nanos(most_ns) * 2)
        }
        WarmUp::Together(length) => until_told(length + PATIENCE),
        WarmUp::Settle(length) => GeneratorWarmUp::FixedNs(length.as_nanos() as u64),
    }
}

/// The light load of a warm-up: one request after the other on `width` times two connections for each process that listens, if the
/// planned load has as many. The members of a room are two.
fn light(planned: &Load, width: u32, service: &Service, placement: &TrialPlacement) -> Load {
    let processes = match service.workers.kind {
        Some(WorkerKind::Processes) => placement.placement.service.cpus.len().max(1) as u32,
        _ => 1,
    };
    let smallest = 2 * processes;
    let connections = smallest
        .saturating_mul(width)
        .min(planned.connections().max(smallest));
    let members = planned.members().map(|_| 2);
    Load::Closed {
        // Rooms are whole.
        connections: connections - connections % members.unwrap_or(1),
        in_flight: 1,
        think_ns: 0,
        growth: None,
        members,
    }
}

/// The load that warms up for a search of a rate. The rates that will be tried are unknown, and most are close to the highest.
fn closed(planned: &Load) -> Load {
    match planned {
        Load::Open {
            connections,
            in_flight,
            members,
            ..
        } => Load::Closed {
            connections: *connections,
            in_flight: *in_flight,
            think_ns: 0,
            growth: None,
            members: *members,
        },
        other => other.clone(),
    }
}

/// A load with its rate replaced, if `rate` is given.
fn at_rate(load: &Load, rate: Option<f64>) -> Load {
    let mut load = load.clone();
    if let (Load::Open { arrival, .. }, Some(rate)) = (&mut load, rate) {
        arrival.profile = Profile::Constant {
            rate: Rate::per_second(rate).expect("invariant: a search stays above 0"),
        };
    }
    load
}
