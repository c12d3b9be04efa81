//! The verdict of `--strict`: did every service give numbers, and only right replies?

use prony_measurement::{Stage, TrialRecord, that_count};
use prony_plan::Catalogue;
use std::collections::BTreeMap;

/// What `--strict` found.
pub struct Verdict {
    /// Services that passed, counted for each workload.
    pub passed: usize,
    /// What is wrong with the others.
    pub faults: Vec<String>,
}

/// Whether any service gave a number.
pub fn is_measured(trials: &[TrialRecord]) -> bool {
    trials.iter().any(|trial| trial.result.is_ok())
}

/// Judges each service under each workload by its last trial. A service that says of itself that its build needs something
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
    };
    for ((service, contract, workload), trial) in last {
        let fault = match &trial.result {
            Ok(measurement) if measurement.recording.outcomes.wrong_reply > 0 => Some(format!(
                "{} wrong replies under load",
                measurement.recording.outcomes.wrong_reply
            )),
            Ok(_) => None,
            Err(excluded)
                if matches!(excluded.stage, Stage::Toolchain | Stage::Build)
                    && is_optional(catalogue, trial) =>
            {
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
