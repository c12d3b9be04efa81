//! What the generator of a trial is told.

use super::Trial;
use crate::TrialPlacement;
use prony_config::WarmUpChoice;
use prony_config::contract::ContractError;
use prony_load::{Check, Job, Phases, Target, TransportChoice, WarmUp};

/// Length of an interval: what steadiness is judged by.
const INTERVAL_NS: u64 = 100_000_000;
/// Share of the bodies that are compared where comparing is not cheap.
const COMPARED: f64 = 0.05;
/// Wrong replies that are kept.
const KEPT: u32 = 5;

/// A plain target.
pub fn target_of(host: &str, port: u16) -> Target {
    Target {
        url: format!("http://{host}:{port}"),
        host: host.to_owned(),
        port,
        authority: format!("{host}:{port}"),
        tls: None,
        reach: prony_load::Reach::default(),
    }
}

pub(super) fn job(trial: &Trial<'_>, target: &Target, seat: &TrialPlacement) -> Result<Job, ContractError> {
    let (group, protocol) = (trial.group(), trial.entry().protocol);
    let generator = &seat.placement.generator().cpus;
    let threads = generator.len().clamp(1, group.load.shareable().max(1) as usize);
    Ok(Job {
        target: target.clone(),
        protocol,
        load: group.load.clone(),
        workload: trial.contract.workload(&group.workload, protocol)?,
        phases: Phases {
            warm_up: match (seat.lane, group.warm_up) {
                (Some(lane), _) => WarmUp::UntilTold {
                    limit_ns: lane.warm_up_limit.as_nanos() as u64,
                },
                (None, WarmUpChoice::FixedNs(ns)) => WarmUp::FixedNs(ns),
                (None, WarmUpChoice::Steady { most_ns, .. }) => WarmUp::UntilTold { limit_ns: most_ns },
            },
            measurement_ns: group.duration_ns,
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
        seed: trial.seed(),
        search: group.search.clone(),
        limits: prony_load::Limits::default(),
        log: None,
        share: None,
        count_replies: !trial.contract.after().is_empty(),
    })
}
