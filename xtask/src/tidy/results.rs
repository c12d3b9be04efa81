//! Whether the results of `results/` may be published: all of one commit, without contradictions.

use super::figures::PRECISION;
use super::figures::precision::{Precision, Report, reports};
use super::repository::Repository;
use anyhow::{Context as _, Result};
use std::collections::BTreeSet;

const INDEX: &str = "results/README.md";
/// Warnings that mean that the figures of a row contradict each other.
const CONTRADICTIONS: [&str; 2] = ["littles_law", "cpu_contradiction"];

/// Each study was measured by one version, at the commit that `results/README.md` names, without changes, and its figures do not
/// contradict each other.
pub(super) fn results_may_be_published(repository: &Repository) -> Vec<String> {
    faults(repository).unwrap_or_else(|error| vec![format!("{INDEX}: {error:#}")])
}

fn faults(repository: &Repository) -> Result<Vec<String>> {
    let index = repository.text(INDEX);
    let (_, description) = index.split_once(PRECISION).context("no table of precision")?;
    let (description, _) = description.split_once("-->").context("a mark does not end")?;
    let precision: Precision = toml::from_str(description)?;
    let mut faults = Vec::new();
    let mut versions = BTreeSet::new();
    for (folder, report) in reports(repository)? {
        let report = report.with_context(|| format!("results/{folder}"))?;
        let commit = report.environment.commit.as_deref().unwrap_or("unknown");
        let is_current = commit == precision.commit;
        if precision.older.contains(&folder) {
            if is_current {
                faults.push(format!(
                    "results/{folder}: commit {commit}, but it is in the list of older results"
                ));
            }
            continue;
        }
        if !is_current {
            faults.push(format!(
                "results/{folder}: commit {commit}, expected {}",
                precision.commit
            ));
        }
        versions.insert(report.environment.prony.clone());
        faults.extend(doubts(&folder, &report));
    }
    if versions.len() > 1 {
        faults.push(format!("results/: several versions: {versions:?}"));
    }
    Ok(faults)
}

/// Warnings that no published row may have.
fn doubts(folder: &str, report: &Report) -> Vec<String> {
    let kinds: BTreeSet<&str> = report.warnings().map(|warning| warning.kind.as_str()).collect();
    let contradictions = CONTRADICTIONS.iter().filter(|kind| kinds.contains(*kind));
    contradictions
        .map(|kind| format!("results/{folder}: a row has the warning {kind}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX_PAGE: &str = "<!-- precision\ncommit = \"abc\"\nolder = [\"old\"]\n-->\n";

    fn report(commit: &str, warning: &str) -> String {
        format!(
            r#"{{"started_at":"2026-11-28T23:50:00Z","ended_at":"2026-11-29T01:00:10Z","environment":{{"prony":"0.2.0","commit":"{commit}"}},
            "groups":[{{"ranked_by":"cpu_ns_per_request","services":[{{"service":"a","warnings":[{{"kind":"{warning}","level":"warning"}}]}}]}}]}}"#
        )
    }

    fn found(new: &str, old: &str) -> Vec<String> {
        let files = [
            ("results/README.md", INDEX_PAGE),
            ("results/new/report.json", new),
            ("results/old/report.json", old),
        ];
        results_may_be_published(&Repository::of(&files))
    }

    #[test]
    fn all_are_of_the_commit_except_those_that_are_said_to_be_older() {
        assert_eq!(
            found(&report("abc", "noise"), &report("0ld+dirty", "littles_law")),
            [""; 0]
        );
        assert_eq!(
            found(&report("abc+dirty", "noise"), &report("abc", "noise")),
            [
                "results/new: commit abc+dirty, expected abc",
                "results/old: commit abc, but it is in the list of older results"
            ]
        );
    }

    #[test]
    fn a_contradiction_is_a_fault() {
        assert_eq!(
            found(&report("abc", "littles_law"), &report("0ld", "noise")),
            ["results/new: a row has the warning littles_law"]
        );
    }
}
