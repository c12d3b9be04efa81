//! The check matrix of a run: one row for each service, contract and protocol.

use crate::check_services::unchecked;
use prony_config::{Catalogue, Plan};
use prony_records::{CheckMatrix, SCHEMA, ServiceCheck, TrialRecord, TrialStage};
use std::collections::BTreeMap;

/// Service, variant, contract and protocol.
type Key = (String, String, String, Option<String>);

/// The matrix, updated after each trial.
pub(super) struct Checks<'a> {
    plan: &'a Plan,
    catalogue: &'a Catalogue,
    rows: BTreeMap<Key, ServiceCheck>,
    changed: bool,
}

impl<'a> Checks<'a> {
    /// Continues with the stored matrix of the run, if there is one.
    pub(super) fn new(plan: &'a Plan, catalogue: &'a Catalogue, known: Option<CheckMatrix>) -> Self {
        let rows = known.map(|matrix| matrix.services).unwrap_or_default();
        Self {
            plan,
            catalogue,
            rows: rows.into_iter().map(|row| (key(&row), row)).collect(),
            changed: false,
        }
    }

    /// Adds a check. A case that failed once stays failed.
    pub(super) fn add(&mut self, check: &ServiceCheck) {
        let before = self.rows.get(&key(check));
        let after = match before {
            Some(known) if !known.cases.is_empty() => merged(known, check),
            _ => check.clone(),
        };
        if before != Some(&after) {
            self.rows.insert(key(&after), after);
            self.changed = true;
        }
    }

    /// Adds the end of a trial. If it failed before its check, the row has the reason, until the service is checked.
    pub(super) fn ended(&mut self, record: &TrialRecord) {
        let Err(excluded) = &record.result else {
            return;
        };
        if !matches!(
            excluded.stage,
            TrialStage::Toolchain | TrialStage::Build | TrialStage::Start
        ) {
            return;
        }
        let planned = self.plan.round(record.round);
        let Some(planned) = planned.iter().find(|planned| planned.number == record.number) else {
            return;
        };
        let entry = &self.plan.entries[planned.entry];
        let row = unchecked(
            &record.service,
            (&record.contract, entry.channel),
            excluded,
            self.catalogue.variant(&entry.service, &entry.variant),
        );
        if let std::collections::btree_map::Entry::Vacant(entry) = self.rows.entry(key(&row)) {
            entry.insert(row);
            self.changed = true;
        }
    }

    /// The matrix, if it has changed since the last call.
    pub(super) fn take_changed(&mut self) -> Option<CheckMatrix> {
        std::mem::take(&mut self.changed).then(|| CheckMatrix {
            schema: SCHEMA,
            services: self.rows.values().cloned().collect(),
        })
    }
}

fn key(row: &ServiceCheck) -> Key {
    (
        row.service.clone(),
        row.variant.clone(),
        row.contract.clone(),
        row.protocol.clone(),
    )
}

fn merged(known: &ServiceCheck, check: &ServiceCheck) -> ServiceCheck {
    let mut row = known.clone();
    row.passed &= check.passed;
    row.took_ms = known.took_ms.zip(check.took_ms).map(|(one, other)| one + other);
    for case in &check.cases {
        if !row.cases.contains(case) {
            row.cases.push(case.clone());
        }
    }
    row.operations.extend(check.operations.clone());
    for (name, has) in &check.traits {
        *row.traits.entry(name.clone()).or_insert(true) &= *has;
    }
    let new = check
        .failures
        .iter()
        .filter(|failure| known.failures.iter().all(|known| known.case != failure.case));
    row.failures.extend(new.cloned());
    for warning in &check.warnings {
        if !row.warnings.contains(warning) {
            row.warnings.push(warning.clone());
        }
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_records::CaseFailure;

    fn check(cases: &[&str], failed: &[&str]) -> ServiceCheck {
        ServiceCheck {
            service: "toy".to_owned(),
            variant: "current".to_owned(),
            contract: "hello".to_owned(),
            protocol: Some("http".to_owned()),
            passed: failed.is_empty(),
            cases: cases.iter().map(|&case| case.to_owned()).collect(),
            operations: BTreeMap::new(),
            traits: BTreeMap::new(),
            failures: failed
                .iter()
                .map(|&case| CaseFailure {
                    case: case.to_owned(),
                    expected: "right".to_owned(),
                    got: "wrong".to_owned(),
                })
                .collect(),
            warnings: Vec::new(),
            skipped: Vec::new(),
            unavailable: None,
            took_ms: None,
        }
    }

    #[test]
    fn what_failed_once_has_failed() {
        let row = merged(&check(&["a", "b"], &["b"]), &check(&["a", "b", "c"], &["c"]));
        let row = merged(&row, &check(&["a", "b"], &[]));
        assert!(!row.passed);
        assert_eq!(row.cases, ["a", "b", "c"]);
        let failed: Vec<&str> = row.failures.iter().map(|failure| failure.case.as_str()).collect();
        assert_eq!(failed, ["b", "c"]);
    }
}
