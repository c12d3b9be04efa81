//! The final lines with the results.

use super::select::Id;
use super::verify::Verdict;
use crate::run::print_line;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The verdicts of all selected variants.
pub(super) struct Outcome {
    pub(super) verdicts: BTreeMap<Id, Verdict>,
}

impl Outcome {
    pub(super) const fn new(verdicts: BTreeMap<Id, Verdict>) -> Self {
        Self { verdicts }
    }

    /// Fails entries that the change under test adds or edits and that cannot be verified here.
    pub(super) fn refuse_entries(&mut self, edited: &BTreeSet<Id>) {
        for (id, verdict) in &mut self.verdicts {
            let reason = match verdict {
                Verdict::Unavailable(reason) if edited.contains(id) => std::mem::take(reason),
                _ => continue,
            };
            let reason = format!("its entry is new or edited, and cannot be verified here: {reason}");
            *verdict = Verdict::Failed(reason);
        }
    }

    fn count(&self, is: impl Fn(&Verdict) -> bool) -> usize {
        self.verdicts.values().filter(|verdict| is(verdict)).count()
    }

    /// Whether nothing failed and nothing was left out. `strictly`: also without second attempts.
    pub(super) fn is_good(&self, strictly: bool) -> bool {
        self.verdicts.values().all(|verdict| match verdict {
            Verdict::Passed { .. } | Verdict::Unavailable(_) => true,
            Verdict::Flaky(_) => !strictly,
            Verdict::Failed(_) | Verdict::NotTried => false,
        })
    }

    /// Prints the last lines.
    pub(super) fn print(&self, valid: usize, variants: usize) {
        for line in self.lines(valid, variants) {
            print_line(&line);
        }
    }

    fn lines(&self, valid: usize, variants: usize) -> Vec<String> {
        let mut lines = Vec::new();
        for (id, verdict) in &self.verdicts {
            match verdict {
                Verdict::Unavailable(reason) => lines.push(format!("cannot be built here: {id}: {reason}")),
                Verdict::Flaky(first) => lines.push(format!("flaky: {id}: {first}")),
                Verdict::Failed(reason) => lines.push(format!("failed: {id}: {reason}")),
                Verdict::Passed { .. } | Verdict::NotTried => {}
            }
        }
        let not_tried = self
            .verdicts
            .iter()
            .filter(|(_, verdict)| **verdict == Verdict::NotTried);
        let not_tried: Vec<String> = not_tried.map(|(id, _)| id.to_string()).collect();
        if !not_tried.is_empty() {
            lines.push(format!("not verified for lack of time: {}", not_tried.join(" ")));
            lines.push(format!(
                "to verify them: make test-services SERVICES=\"{}\"",
                not_tried.join(" ")
            ));
        }
        let passed = self.count(|verdict| matches!(verdict, Verdict::Passed { .. }));
        let flaky = self.count(|verdict| matches!(verdict, Verdict::Flaky(_)));
        let failed = self.count(|verdict| matches!(verdict, Verdict::Failed(_)));
        let unavailable = self.count(|verdict| matches!(verdict, Verdict::Unavailable(_)));
        lines.push(format!(
            "verified now {}, valid entries {valid} of {variants}, cannot be built here {unavailable}",
            passed + flaky
        ));
        let mut last = format!(
            "services: {} passed, {} failed",
            passed + flaky,
            failed + not_tried.len()
        );
        if unavailable > 0 {
            let _ = write!(last, ", {unavailable} skipped");
        }
        if flaky > 0 {
            let _ = write!(last, ", {flaky} of them flaky");
        }
        lines.push(last);
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(verdicts: &[(&str, Verdict)]) -> Outcome {
        let verdicts = verdicts
            .iter()
            .map(|(name, verdict)| (Id::new(name, "current"), verdict.clone()));
        Outcome::new(verdicts.collect())
    }

    const PASSED: Verdict = Verdict::Passed {
        seconds: 1.0,
        cached: false,
    };

    #[test]
    fn unverified_variants_fail_and_are_listed_with_the_command_that_verifies_them() {
        let outcome = outcome(&[("a", PASSED), ("b", Verdict::NotTried), ("c", Verdict::NotTried)]);
        assert!(!outcome.is_good(false));
        let lines = outcome.lines(1, 3).join("\n");
        assert!(
            lines.contains("make test-services SERVICES=\"b/current c/current\""),
            "{lines}"
        );
        assert!(lines.ends_with("services: 1 passed, 2 failed"), "{lines}");
    }

    #[test]
    fn a_flaky_variant_is_reported_and_fails_in_strict_mode() {
        let outcome = outcome(&[("a", PASSED), ("b", Verdict::Flaky("hello: 3 resets".to_owned()))]);
        assert!(outcome.is_good(false) && !outcome.is_good(true));
        let lines = outcome.lines(2, 2).join("\n");
        assert!(lines.contains("flaky: b/current: hello: 3 resets"), "{lines}");
        assert!(
            lines.ends_with("services: 2 passed, 0 failed, 1 of them flaky"),
            "{lines}"
        );
    }

    #[test]
    fn an_unavailable_variant_has_a_reason_and_gets_no_new_entry() {
        let unavailable = Verdict::Unavailable("no .NET SDK".to_owned());
        let mut outcome = outcome(&[("a", PASSED), ("b", unavailable)]);
        assert!(outcome.is_good(true));
        let lines = outcome.lines(1, 2).join("\n");
        assert!(
            lines.contains("cannot be built here: b/current: no .NET SDK"),
            "{lines}"
        );
        assert!(
            lines.ends_with("services: 1 passed, 0 failed, 1 skipped"),
            "{lines}"
        );
        outcome.refuse_entries(&BTreeSet::from([Id::new("b", "current")]));
        assert!(!outcome.is_good(false));
    }
}
