//! A round whose services take turns, group by group.

use super::{State, VOID_REPEATS, Watcher};
use crate::Progress;
use crate::trial::{InterleavedOptions, run_turns};
use prony_config::PlannedTrial;
use prony_records::{Exclusion, Stage};

impl State<'_> {
    /// The trials of a round, the services of each group in turns; says whether to go on. Windows of one cycle are compared,
    /// so a group that a killed run left in the middle is done again as a whole.
    pub(super) fn in_turns(
        &mut self,
        round: u32,
        turns: InterleavedOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<bool, String> {
        let plan = self.run.plan;
        for group in 0..plan.groups.len() {
            let is_of_group = |planned: &PlannedTrial| plan.entries[planned.entry].group == group;
            let all: Vec<PlannedTrial> = plan
                .round(round)
                .into_iter()
                .filter(|planned| is_of_group(planned) && self.takes_part(planned.entry))
                .collect();
            if all.iter().all(|planned| self.run.done.contains(&planned.place)) {
                continue;
            }
            if self.run.bench.cancel.is_asked() || !self.group_in_turns(&all, turns, watcher)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A group that lost a host is done again as a whole, a few times: windows of one cycle belong together.
    fn group_in_turns(
        &mut self,
        all: &[PlannedTrial],
        turns: InterleavedOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<bool, String> {
        let mut repeats = 0;
        loop {
            let (goes_on, fault) = self.group_once(all, turns, watcher)?;
            let Some(fault) = fault.filter(|_| goes_on && !self.run.bench.testbed.is_one_host()) else {
                return Ok(goes_on);
            };
            if repeats == VOID_REPEATS || self.run.bench.cancel.is_asked() {
                let is_lost = self.run.bench.testbed.lost().is_some();
                self.lost = is_lost.then_some(fault);
                return Ok(!is_lost);
            }
            repeats += 1;
            watcher.saw(Progress::Repeats {
                reason: format!("infrastructure failure: {fault}"),
            });
        }
    }

    /// The group once; says whether to go on, and how the bench failed where it did.
    fn group_once(
        &mut self,
        all: &[PlannedTrial],
        turns: InterleavedOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<(bool, Option<String>), String> {
        let (mut trials, mut records) = (Vec::new(), Vec::new());
        for &planned in all {
            let entry = &self.run.plan.entries[planned.entry];
            match self.trial(planned, entry) {
                Ok(trial) => trials.push(trial),
                Err(excluded) => records.push(self.without_service(planned, entry, excluded)),
            }
        }
        let done = run_turns(&self.run.bench, &trials, turns, &mut |progress| {
            watcher.saw(match progress {
                Progress::Enters { place } => match all.iter().find(|planned| planned.place == place) {
                    Some(&planned) => self.begins(planned, &self.run.plan.entries[planned.entry]),
                    None => return,
                },
                other => other,
            });
        });
        let interrupted = done.is_none();
        records.extend(done.unwrap_or_default());
        let mut fault = None;
        for record in records {
            let is_built = |excluded: &&Exclusion| !matches!(excluded.stage, Stage::Toolchain | Stage::Build);
            let failed = record.void().filter(is_built);
            fault = fault.or_else(|| failed.map(|excluded| excluded.reason.clone()));
            watcher.append(&record)?;
            if let Some(planned) = all.iter().find(|planned| planned.place == record.place) {
                self.remember(planned.entry, &record);
            }
            watcher.saw(Progress::Ended(Box::new(record)));
        }
        Ok((!interrupted, fault))
    }
}
