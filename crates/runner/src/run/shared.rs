//! A round whose process starts serve several trials each: all workloads and loads of one contract.

use super::{State, Watcher};
use crate::RunContext;
use crate::trial::{SharedService, Trial, run_on};
use crate::{NextRound, Progress};
use prony_config::PlannedTrial;
use prony_records::{Exclusion, Fault, Stage, TrialRecord, Warning, WarningKind};

/// What was found when a start ended, and the place of the first trial that it served.
type Ended = (u32, Result<Option<Warning>, Exclusion>);

/// The starts of one service in a round: one, and another one for each fault of the bench.
pub(super) struct Shared {
    /// Its trials in their order.
    trials: Vec<PlannedTrial>,
    service: Option<SharedService>,
    /// How it failed by a fault of its own, with the workload: the rest of its workloads is not tried in this round.
    failed: Option<Exclusion>,
}

impl Shared {
    pub(super) fn attempt(
        &mut self,
        bench: &RunContext<'_>,
        trial: &Trial<'_>,
        watch: &mut dyn FnMut(Progress),
    ) -> Option<TrialRecord> {
        let here = (self.trials.iter()).position(|planned| planned.place == trial.planned.place);
        let ahead = here.map_or(&[][..], |here| &self.trials[here + 1..]);
        let record = run_on(&mut self.service, bench, (trial, ahead), watch)?;
        if let Err(excluded) = &record.result
            && excluded.fault == Fault::Service
        {
            self.failed = Some(Exclusion {
                reason: format!(
                    "not tried after the failure of its start under `{}`: {}",
                    record.workload, excluded.reason
                ),
                ..excluded.clone()
            });
        }
        Some(record)
    }

    fn end(self) -> Option<Ended> {
        self.service.map(|service| (service.first(), service.end()))
    }
}

/// Keeps the trials of a start until it has ended: what is found then is true of all of them.
struct Holding<'a> {
    watcher: &'a mut dyn Watcher,
    records: Vec<TrialRecord>,
}

impl Watcher for Holding<'_> {
    fn saw(&mut self, progress: Progress) {
        self.watcher.saw(progress);
    }

    fn append(&mut self, record: &TrialRecord) -> Result<(), String> {
        self.records.push(record.clone());
        Ok(())
    }

    fn next_round(&mut self, done: u32) -> NextRound {
        self.watcher.next_round(done)
    }
}

impl State<'_> {
    /// The trials of a round, start by start; says whether to go on. What a killed run left of a start is done by another one.
    pub(super) fn in_shared_starts(&mut self, round: u32, watcher: &mut dyn Watcher) -> Result<bool, String> {
        for mut start in self.run.plan.starts(round) {
            start.retain(|planned| !self.run.done.contains(&planned.place) && self.takes_part(planned.entry));
            let goes_on =
                start.is_empty() || !self.run.bench.cancel.is_asked() && self.start(&start, watcher)?;
            if !goes_on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn start(&mut self, trials: &[PlannedTrial], watcher: &mut dyn Watcher) -> Result<bool, String> {
        self.shared = Some(Shared {
            trials: trials.to_vec(),
            service: None,
            failed: None,
        });
        let mut holding = Holding {
            watcher,
            records: Vec::new(),
        };
        let mut goes_on = true;
        for &planned in trials {
            goes_on = !self.run.bench.cancel.is_asked() && self.one(planned, &mut holding)?;
            if !goes_on {
                break;
            }
        }
        let records = holding.records;
        let ended = self.shared.take().and_then(Shared::end);
        for mut record in records {
            let entry = trials.iter().find(|planned| planned.place == record.place);
            if let Some((first, verdict)) = &ended
                && record.start.is_some_and(|start| start.first == *first)
            {
                judged(&mut record, verdict, watcher);
                if let Some(planned) = entry {
                    self.remember(planned.entry, &record);
                }
            }
            watcher.append(&record)?;
        }
        Ok(goes_on)
    }

    /// Whether the trial is not tried, since its start has failed: then its row says so. What failed before any load is
    /// true of every workload; what failed under one of them leaves the others their chance in the next round.
    pub(super) fn skip(&mut self, planned: PlannedTrial, watcher: &mut dyn Watcher) -> Result<bool, String> {
        let failed = self.shared.as_ref().and_then(|shared| shared.failed.clone());
        let Some(excluded) = failed else {
            return Ok(false);
        };
        let entry = &self.run.plan.entries[planned.entry];
        let record = self.without_service(planned, entry, excluded.clone());
        if matches!(
            excluded.stage,
            Stage::Toolchain | Stage::Build | Stage::Start | Stage::Check
        ) {
            self.remember(planned.entry, &record);
        }
        watcher.append(&record)?;
        watcher.saw(Progress::Ended(Box::new(record)));
        Ok(true)
    }
}

fn judged(record: &mut TrialRecord, verdict: &Result<Option<Warning>, Exclusion>, watcher: &mut dyn Watcher) {
    match (verdict, &mut record.result) {
        (Ok(warning), Ok(measurement)) => measurement.warnings.extend(warning.clone()),
        (Err(excluded), Ok(_)) => {
            let text = format!("{} {}: {}", record.service, record.workload, excluded.reason);
            watcher.saw(Progress::Warning(Warning::new(WarningKind::Note, text)));
            record.result = Err(excluded.clone());
        }
        (_, Err(_)) => {}
    }
}
