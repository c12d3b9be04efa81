//! The verdict of `--strict`: whether every service was measured, with valid replies only.

use prony_config::Catalogue;
use prony_records::{Fault, Recording, TrialRecord, TrialStage, that_count};
use std::collections::BTreeMap;

pub struct Verdict {
    /// Number of pairs of service and workload that passed.
    pub passed: usize,
    /// A line for each fault.
    pub faults: Vec<String>,
    /// A line for each pair that passed only after a failed attempt.
    pub flaky: Vec<String>,
    /// Services that cannot be built here and declare this, with the reason.
    pub unavailable: Vec<String>,
}

/// Whether any service was measured.
pub fn is_measured(trials: &[TrialRecord]) -> bool {
    trials.iter().any(|trial| trial.result.is_ok())
}

/// Judges each service under each workload by its last trial. Under a load that a service can sustain, every request must get
/// the reply that the contract expects: any other status or reply, a timeout, a connection that was closed or could not be
/// opened, and a dropped request are faults. A failed build is not a fault if the service declares that its build needs
/// something that is not available everywhere.
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
        flaky: Vec::new(),
        unavailable: Vec::new(),
    };
    for ((service, contract, workload), trial) in last {
        let fault = match &trial.result {
            Ok(measurement) => errors(&measurement.recording),
            Err(excluded)
                if matches!(excluded.stage, TrialStage::Toolchain | TrialStage::Build)
                    && is_optional(catalogue, trial) =>
            {
                let line = format!("UNAVAILABLE {service}: {}", excluded.reason);
                if !verdict.unavailable.contains(&line) {
                    verdict.unavailable.push(line);
                }
                continue;
            }
            Err(excluded) => Some(format!("{}{}", excluded.reason, tail(&excluded.log_tail))),
        };
        match fault {
            None => {
                verdict.passed += 1;
                if let Some(failed) = failed_attempt(trials, trial) {
                    verdict
                        .flaky
                        .push(format!("FLAKY {service} {contract}/{workload}: {failed}"));
                }
            }
            Some(fault) => verdict
                .faults
                .push(format!("FAILED {service} {contract}/{workload}: {fault}")),
        }
    }
    verdict
}

/// Why an earlier attempt at this trial failed, if the service failed by itself.
fn failed_attempt<'a>(trials: &'a [TrialRecord], counted: &TrialRecord) -> Option<&'a str> {
    let attempts = trials
        .iter()
        .filter(|trial| trial.number == counted.number && !trial.provisional);
    attempts
        .filter_map(|trial| trial.result.as_ref().err())
        .find(|excluded| excluded.fault == Fault::Service)
        .map(|excluded| excluded.reason.as_str())
}

/// The requests of a measurement without a valid reply, if there are any.
fn errors(recording: &Recording) -> Option<String> {
    let outcomes = &recording.outcomes;
    if outcomes.errors() == 0 {
        return None;
    }
    Some(format!(
        "{} of {} requests under load failed: {}",
        outcomes.errors(),
        outcomes.total(),
        recording.errors_in_words()
    ))
}

fn is_optional(catalogue: &Catalogue, trial: &TrialRecord) -> bool {
    let found = catalogue.variant(&trial.service.service, &trial.service.variant);
    found.is_some_and(|service| service.unavailable_hint.is_some())
}

fn tail(lines: &[String]) -> String {
    lines.iter().flat_map(|line| ["\n    ", line]).collect()
}
