//! The job of a generator for one load of a trial.

use crate::TrialPlacement;
use crate::schedule::{LoadRun, WarmUp};
use crate::trial::Trial;
use crate::warm_up::WarmUpProgress;
use prony_config::WarmUpChoice;
use prony_config::contract::ContractError;
use prony_load::{
    Check, Job, Load, PhaseDurations, Profile, Rate, Target, TransportChoice, WarmUp as GeneratorWarmUp,
};
use std::time::Duration;

/// Length of an interval: what steadiness is judged by.
const INTERVAL_NS: u64 = 100_000_000;
/// Share of the bodies that are compared where comparing is not cheap.
const COMPARED: f64 = 0.05;
/// Wrong replies that are kept.
const KEPT: u32 = 5;
/// Longest time for loads that begin together to come to the same point.
const PATIENCE: Duration = Duration::from_mins(1);

/// A plain target.
pub fn target_of(host: &str, port: u16) -> Target {
    Target {
        url: format!("http://{host}:{port}"),
        host: host.to_owned(),
        port,
        authority: format!("{host}:{port}"),
        tls: None,
        connect: prony_load::ConnectOptions::default(),
    }
}

/// The job of a run that warms up like this.
pub(crate) fn job(
    trial: &Trial<'_>,
    target: &Target,
    placement: &TrialPlacement,
    (run, warm_up): (&LoadRun, WarmUp),
) -> Result<Job, ContractError> {
    let (group, protocol) = (trial.group(), trial.entry().protocol);
    let load = at_rate(&group.load, run.rate);
    let generator = &placement.placement.generator().cpus;
    let threads = generator.len().clamp(1, load.shareable().max(1) as usize);
    Ok(Job {
        target: target.clone(),
        protocol,
        load,
        workload: trial.contract.workload(&group.workload, protocol)?,
        phases: PhaseDurations {
            warm_up: until(warm_up),
            measurement_ns: run.length.as_nanos() as u64,
            // Every request has ended by then, with a reply or by its timeout.
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
        // Windows of one cycle are alike, windows of different cycles are not the same again.
        seed: trial
            .seed()
            .wrapping_add(run.window.map_or(0, |window| u64::from(window.cycle))),
        limits: prony_load::Limits::default(),
        log: None,
        share: None,
        count_replies: !trial.contract.after().is_empty(),
    })
}

/// The warm-up of the job. If the runner decides when it ends, there is a limit in case the command never arrives.
fn until(warm_up: WarmUp) -> GeneratorWarmUp {
    let told_by = |limit: Duration| GeneratorWarmUp::UntilTold {
        limit_ns: limit.as_nanos() as u64,
    };
    match warm_up {
        WarmUp::Planned(WarmUpChoice::FixedNs(ns)) => GeneratorWarmUp::FixedNs(ns),
        WarmUp::Planned(WarmUpChoice::Steady { most_ns, .. }) => {
            GeneratorWarmUp::UntilTold { limit_ns: most_ns }
        }
        WarmUp::ByCpuTime(choice) => told_by(WarmUpProgress::new(choice).wall() * 2),
        WarmUp::Together(length) => told_by(length + PATIENCE),
        WarmUp::Settle(length) => GeneratorWarmUp::FixedNs(length.as_nanos() as u64),
    }
}

/// A load at another constant rate, where one is given.
fn at_rate(load: &Load, rate: Option<f64>) -> Load {
    let mut load = load.clone();
    if let (Load::Open { arrival, .. }, Some(rate)) = (&mut load, rate) {
        arrival.profile = Profile::Constant {
            rate: Rate::per_second(rate).expect("invariant: a search stays above 0"),
        };
    }
    load
}
