//! The verdict of `--strict`: did every service give numbers, and nothing but right replies?

use prony_config::Catalogue;
use prony_records::{Outcome, Recording, Stage, TrialRecord, that_count};
use std::collections::BTreeMap;

/// What `--strict` found.
pub struct Verdict {
    /// Services that passed, counted for each workload.
    pub passed: usize,
    /// What is wrong with the others.
    pub faults: Vec<String>,
    /// Services that cannot be built here and say so themselves, with the reason.
    pub unavailable: Vec<String>,
}

/// Whether any service gave a number.
pub fn is_measured(trials: &[TrialRecord]) -> bool {
    trials.iter().any(|trial| trial.result.is_ok())
}

/// Judges each service under each workload by its last trial. Under a load that a service can bear, each request gets the reply
/// that the contract expects: any other status or reply, a timeout, a connection that ended or was refused, and a request that
/// could not be sent are faults. A service that says of itself that its build needs something
/// that not every machine reaches is no fault where it cannot be built.
pub fn strictly(trials: &[TrialRecord], catalogue: &Catalogue) -> Verdict {
    let mut last: BTreeMap<(String, &str, &str), &TrialRecord> = BTreeMap::new();
    for trial in that_count(trials) {
        last.insert(
            (trial.service.to_string(), &trial.contract, &trial.workload),
            trial,
        );
    }
    let mut verdict = Verdict {
        passed: 0,
        faults: Vec::new(),
        unavailable: Vec::new(),
    };
    for ((service, contract, workload), trial) in last {
        let fault = match &trial.result {
            Ok(measurement) => errors(&measurement.recording),
            Err(excluded)
                if matches!(excluded.stage, Stage::Toolchain | Stage::Build)
                    && is_optional(catalogue, trial) =>
            {
                let told = format!("UNAVAILABLE {service}: {}", excluded.reason);
                if !verdict.unavailable.contains(&told) {
                    verdict.unavailable.push(told);
                }
                continue;
            }
            Err(excluded) => Some(format!("{}{}", excluded.reason, tail(&excluded.log_tail))),
        };
        match fault {
            None => verdict.passed += 1,
            Some(fault) => verdict
                .faults
                .push(format!("FAILED {service} {contract}/{workload}: {fault}")),
        }
    }
    verdict
}

/// The requests of a measurement that got no valid reply, where there are any.
fn errors(recording: &Recording) -> Option<String> {
    let outcomes = &recording.outcomes;
    if outcomes.errors() == 0 {
        return None;
    }
    let kinds = Outcome::ALL
        .into_iter()
        .filter(|&outcome| outcome != Outcome::Valid);
    let kinds = kinds.filter(|&outcome| outcomes.of(outcome) > 0);
    let kinds: Vec<String> = kinds
        .map(|outcome| format!("{} {}", outcomes.of(outcome), words(outcome)))
        .collect();
    let first = recording.unexpected_replies.first().map(|wrong| {
        format!(
            "; {}: {}: expected {}, got {}",
            wrong.operation, wrong.what, wrong.expected, wrong.got
        )
    });
    Some(format!(
        "{} of {} requests under load failed: {}{}",
        outcomes.errors(),
        outcomes.total(),
        kinds.join(", "),
        first.unwrap_or_default()
    ))
}

/// What became of requests, in words after their number.
const fn words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Valid => "valid",
        Outcome::Unexpected => "unexpected replies",
        Outcome::Status => "unexpected statuses",
        Outcome::Timeout => "timeouts",
        Outcome::ConnectError => "connect errors",
        Outcome::Reset => "resets",
        Outcome::Dropped => "dropped",
    }
}

fn is_optional(catalogue: &Catalogue, trial: &TrialRecord) -> bool {
    let (name, variant) = (&trial.service.service, &trial.service.variant);
    let found = catalogue
        .services
        .iter()
        .find(|service| &service.name == name && &service.variant == variant);
    found.is_some_and(|service| service.unavailable_hint.is_some())
}

fn tail(lines: &[String]) -> String {
    lines.iter().flat_map(|line| ["\n    ", line]).collect()
}
