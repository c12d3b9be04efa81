//! Runs in order: the studies, each with its runs over time, and the services, each with all rankings that ever
//! included it.

use super::paths;
use super::run::{Ranking, SiteRun};
use crate::service_names;
use prony_records::load_id;
use prony_statistics::ServiceSummary;
use std::collections::{BTreeMap, BTreeSet};

/// The runs of a suite, the oldest first; there is always one.
pub(super) struct Study<'a> {
    pub(super) runs: Vec<&'a SiteRun>,
}

/// A service in a ranking of one run.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) run: &'a SiteRun,
    pub(super) board: &'a Ranking,
    pub(super) row: &'a ServiceSummary,
}

/// A variant of a service in the same ranking in all runs of a suite, the oldest first; there is always one.
pub(super) struct VariantHistory<'a> {
    pub(super) entries: Vec<Entry<'a>>,
    /// Path of its badge.
    pub(super) badge: String,
}

impl<'a> Study<'a> {
    pub(super) fn latest(&self) -> &'a SiteRun {
        self.runs.last().copied().expect("invariant: a study has a run")
    }
}

impl<'a> VariantHistory<'a> {
    pub(super) fn latest(&self) -> Entry<'a> {
        self.entries
            .last()
            .copied()
            .expect("invariant: a line has an entry")
    }

    fn continues_with(&self, entry: &Entry<'_>) -> bool {
        let mine = self.latest();
        mine.run.suite == entry.run.suite
            && (mine.row.id == entry.row.id
                || service_names::info(&entry.run.services, &entry.row.id)
                    .is_some_and(|info| info.is_or_was(&mine.row.id)))
            && mine.board.is_same_work(entry.board)
    }
}

/// The studies by the names of their suites.
pub(super) fn studies(runs: &[SiteRun]) -> Vec<Study<'_>> {
    let mut by_suite: BTreeMap<&str, Vec<&SiteRun>> = BTreeMap::new();
    for run in runs {
        by_suite.entry(&run.suite).or_default().push(run);
    }
    by_suite
        .into_values()
        .map(|runs| Study { runs: in_time(runs) })
        .collect()
}

/// The oldest first.
pub(super) fn in_time(mut runs: Vec<&SiteRun>) -> Vec<&SiteRun> {
    runs.sort_by(|one, other| (one.began(), &one.run).cmp(&(other.began(), &other.run)));
    runs
}

/// The lines of each service, by its name.
pub(super) fn services<'a>(studies: &[Study<'a>]) -> BTreeMap<&'a str, Vec<VariantHistory<'a>>> {
    let mut all: BTreeMap<&str, Vec<VariantHistory<'_>>> = BTreeMap::new();
    let mut taken = BTreeSet::new();
    for &run in studies.iter().flat_map(|study| &study.runs) {
        for board in &run.boards {
            for row in &board.group.services {
                let entry = Entry { run, board, row };
                let lines = all.entry(&row.id.service).or_default();
                match lines.iter_mut().find(|line| line.continues_with(&entry)) {
                    Some(line) => line.entries.push(entry),
                    None => lines.push(VariantHistory {
                        badge: free(&mut taken, entry),
                        entries: vec![entry],
                    }),
                }
            }
        }
    }
    all
}

/// Two loads may have the same description: then the path of the later one has its identity.
fn free(taken: &mut BTreeSet<String>, entry: Entry<'_>) -> String {
    let title = entry.board.title();
    let titles = [
        title.clone(),
        format!("{title} {}", load_id(&entry.board.group.load)),
    ];
    let numbered = (2..=u32::MAX).map(|number| format!("{title} {number}"));
    let mut paths = titles
        .into_iter()
        .chain(numbered)
        .map(|title| paths::badge(&entry.row.id, &entry.run.suite, &title));
    let path = paths.find(|path| !taken.contains(path));
    let path = path.expect("invariant: there is always a further number");
    taken.insert(path.clone());
    path
}
