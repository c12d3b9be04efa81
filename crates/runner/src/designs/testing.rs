//! Helpers for tests of designs, which are pure functions from results to steps.

use crate::history::{Attempt, History};
use crate::schedule::{Block, Design, Outcome, Step, StepResult, WarmUp, WarmUpOutcome};
use prony_config::{Channel, Entry, GroupPlan, Plan, PlannedTrial, WarmUpChoice};
use prony_host::CompilerKind;
use prony_load::{Load, Protocol};
use prony_records::{Classification, Exclusion, Fault, Recording, TrialStage};
use std::collections::BTreeMap;

/// A plan of these services, under a closed load for each number of connections.
pub(super) fn plan(services: &[&str], loads: &[u32], rounds: u32) -> Plan {
    let group = |connections: &u32| GroupPlan {
        contract: "hello".to_owned(),
        workload: format!("on {connections}"),
        load: Load::closed(*connections, 1),
        warm_up: WarmUpChoice::FixedNs(1_000_000_000),
        duration_ns: 2_000_000_000,
        timeout_ns: 1_000_000_000,
        search: None,
        rank_by: None,
        start: None,
        rounds: None,
        over: None,
        requests_per_connection: None,
        resumption: None,
        baselines: [].into(),
    };
    let entries = (0..loads.len()).flat_map(|group| {
        services.iter().map(move |service| Entry {
            service: (*service).to_owned(),
            variant: "current".to_owned(),
            channel: Channel::Http1,
            group,
            expected_warm_up_ns: 0,
        })
    });
    Plan {
        seed: 7,
        groups: loads.iter().map(group).collect(),
        entries: entries.collect(),
        ..Plan::of_group("toys", rounds, group(&1), &[], Protocol::Http1)
    }
}

pub(super) fn history(plan: &Plan) -> History<'_> {
    History::new(plan, Vec::new(), None, 2)
}

/// An attempt at a trial; `failed` is the fault and the stage of its failure.
pub(super) fn attempt(plan: &Plan, planned: PlannedTrial, failed: Option<(Fault, TrialStage)>) -> Attempt {
    let result = match failed {
        None => Ok(measurement()),
        Some((fault, stage)) => Err(Exclusion {
            stage,
            reason: "it failed".to_owned(),
            log_tail: Vec::new(),
            fault,
        }),
    };
    Attempt {
        record: crate::trial::record(plan, planned, None, result),
        planned,
        is_shown: false,
    }
}

fn measurement() -> prony_records::Measurement {
    let measurement = serde_json::json!({
        "recording": recording(100, 100),
        "service": prony_records::Resources::default(),
        "start_up": prony_records::StartUp::default(),
    });
    serde_json::from_value(measurement).expect("a measurement")
}

/// A recording of one second with this many requests and valid replies.
pub(super) fn recording(due: u64, valid: u64) -> Recording {
    let recording = serde_json::json!({
        "schema": 1, "target": "http://127.0.0.1/", "protocol": "http1", "load": { "kind": "open" },
        "duration_s": 1.0, "timeout_ns": 1_000_000_000,
        "requests": { "offered": due, "sent": due, "completed": due, "valid": valid },
        "throughput_per_s": due, "goodput_per_s": valid,
        "outcomes": { "valid": valid, "unexpected": 0, "status": due - valid, "timeout": 0, "refused": 0, "reset": 0, "dropped": 0 },
        "status_codes": BTreeMap::from([("503", due - valid)]), "bytes": { "sent": 0, "received": 0 },
        "response_time_ns": null, "service_time_ns": null, "schedule_lag_ns": null,
        "connections": { "asked": 64, "established": 64, "reconnects": 0 },
        "generator": { "threads": 1, "cpu_s": 0.1, "busiest_thread": 0.1, "transport": "epoll", "saturated": false },
        "intervals": [], "histogram": prony_records::Histogram::new().encode(), "warnings": []
    });
    serde_json::from_value(recording).expect("a recording")
}

/// The outcome of a successful step.
pub(super) fn good(step: &Step) -> Outcome {
    match step {
        Step::WarmUp(runs, _) => {
            let warm = WarmUpOutcome {
                classification: Classification::Settled,
                compiler: Some(CompilerKind::Compiles),
                slow_reply: None,
            };
            Outcome::Warm(vec![warm; runs.len()])
        }
        Step::Measure(runs) => Outcome::Measured(vec![recording(100, 100); runs.len()]),
        Step::Pause(_) => Outcome::Paused {
            memory_bytes: Some(1 << 20),
            available_bytes: Some(8 << 30),
        },
        _ => Outcome::Done,
    }
}

/// The steps of a block with these outcomes. The run is cancelled during the step with the number `cancel_at`.
pub(super) fn steps(
    design: &dyn Design,
    block: &Block,
    cancel_at: Option<usize>,
    outcome: &mut dyn FnMut(&Step) -> Outcome,
) -> Vec<Step> {
    let mut results: Vec<StepResult> = Vec::new();
    while let Some(step) = design.next_step(block, &results) {
        assert!(results.len() < 2_000, "no end");
        let outcome = outcome(&step);
        let is_ending = cancel_at.is_some_and(|at| results.len() >= at);
        results.push(StepResult {
            step,
            outcome,
            is_ending,
        });
    }
    results.into_iter().map(|result| result.step).collect()
}

/// A step as text: `start 0`, `measure 1`.
pub(super) fn word(step: &Step) -> String {
    let name = match step {
        Step::Start(_) => "start",
        Step::Check(_) => "check",
        Step::WarmUp(_, WarmUp::Rehearsal(_)) => "rehearse",
        Step::WarmUp(..) => "warm",
        Step::Measure(_) => "measure",
        Step::Pause(_) => "pause",
        Step::Resume(_) => "resume",
        Step::Recheck(_) => "recheck",
        Step::AwaitIdle(_) => "idle",
        Step::Evict(_) => "evict",
        Step::FindFiles(_) => "find files",
        Step::Rest(..) => "rest",
        Step::RecordStart(_) => "record",
        Step::Warn(..) => "warn",
        Step::GiveUp(..) => "give up",
        Step::Stop(_) => "stop",
    };
    let slots: Vec<String> = step.slots().iter().map(ToString::to_string).collect();
    format!("{name} {}", slots.join("+"))
}

pub(super) fn words(steps: &[Step]) -> String {
    steps.iter().map(word).collect::<Vec<_>>().join(", ")
}
