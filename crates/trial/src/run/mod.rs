//! A run: the trials of a plan, round by round.

mod noise;

use crate::Progress;
use crate::build::Built;
use crate::trial::{Bench, Trial, run_trial};
use noise::Repeats;
use prony_host::Wants;
use prony_measurement::{Exclusion, ServiceId, Stage, TrialRecord};
use prony_plan::{Catalogue, Entry, Plan, PlannedTrial, Service};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant, SystemTime};

pub use noise::{NoiseLimits, idle};

/// All that a run needs.
pub struct Run<'a> {
    /// What is to be done.
    pub plan: &'a Plan,
    /// Services and contracts.
    pub catalogue: &'a Catalogue,
    /// Where and how.
    pub bench: Bench<'a>,
    /// For each build of the plan every service, built or not.
    pub built: &'a [BTreeMap<ServiceId, Result<Built, Exclusion>>],
    /// Places that are already done: a run that goes on.
    pub done: &'a BTreeSet<u32>,
}

/// What a run is told and asked while it runs.
pub trait Watcher {
    /// Something happened.
    fn saw(&mut self, progress: Progress);

    /// A trial is done. It must be kept before this returns; an error ends the run.
    fn append(&mut self, record: &TrialRecord) -> Result<(), String>;

    /// A round is done: what the next one holds.
    fn next_round(&mut self, done: u32) -> NextRound;
}

/// What the next round holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextRound {
    /// Every entry of the plan.
    All,
    /// These entries of the plan, by their index: nothing more is to be learnt of the others.
    Only(BTreeSet<usize>),
    /// Nothing: the run is over, for this reason.
    End(RunEnd),
}

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// Every trial of the plan is done.
    Complete,
    /// What was found is precise enough.
    Precise,
    /// The time was up.
    BudgetSpent,
    /// The user asked to end.
    Interrupted,
}

/// Trials of one entry that may fail in the same way before the rest of them is not tried any more.
const TRIES: u32 = 2;

/// Does all trials of a plan that are not done yet. `Err`: a record could not be kept.
pub fn run_plan(run: &Run<'_>, watcher: &mut dyn Watcher) -> Result<RunEnd, String> {
    let topology = run.bench.host.topology();
    let generator = topology.split(Wants::default()).generator;
    // What this thread does while a service is measured must not be done on the service's CPUs. Where pinning is not
    // allowed it may be, and the noise shows.
    let _ = run.bench.host.pin_self(&generator);
    let end = all_rounds(run, watcher);
    let _ = run.bench.host.pin_self(&topology.cpus());
    end
}

fn all_rounds(run: &Run<'_>, watcher: &mut dyn Watcher) -> Result<RunEnd, String> {
    let mut state = State::new(run);
    for round in 0..run.plan.rounds {
        if state.is_over_budget() {
            return Ok(RunEnd::BudgetSpent);
        }
        for planned in run.plan.round(round) {
            if run.done.contains(&planned.place) || !state.takes_part(planned.entry) {
                continue;
            }
            if run.bench.cancel.is_asked() {
                return Ok(RunEnd::Interrupted);
            }
            if !state.one(planned, watcher)? {
                return Ok(RunEnd::Interrupted);
            }
        }
        watcher.saw(Progress::Round { round });
        if round + 1 < run.plan.rounds {
            match watcher.next_round(round) {
                NextRound::End(end) => return Ok(end),
                NextRound::All => state.goes_on_with(None, round + 1, watcher),
                NextRound::Only(entries) => state.goes_on_with(Some(entries), round + 1, watcher),
            }
        }
    }
    Ok(RunEnd::Complete)
}

struct State<'a> {
    run: &'a Run<'a>,
    began: Instant,
    repeats: Repeats,
    /// By entry: how its last trials failed, and how many of them in a row.
    failures: BTreeMap<usize, (Exclusion, u32)>,
    /// The entries that the round holds; `None`: all.
    only: Option<BTreeSet<usize>>,
}

impl<'a> State<'a> {
    fn new(run: &'a Run<'a>) -> Self {
        let repeats = Repeats::new(run.bench.options.noise);
        Self {
            run,
            began: Instant::now(),
            repeats,
            failures: BTreeMap::new(),
            only: None,
        }
    }

    fn takes_part(&self, entry: usize) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(&entry))
    }

    /// Says who is left out, each time that it changes.
    fn goes_on_with(&mut self, only: Option<BTreeSet<usize>>, round: u32, watcher: &mut dyn Watcher) {
        if self.only == only {
            return;
        }
        self.only = only;
        let plan = self.run.plan;
        let left_out = plan
            .entries
            .iter()
            .enumerate()
            .filter(|(index, _)| !self.takes_part(*index))
            .map(|(_, entry)| (id_of(entry), plan.group_of(entry).workload.clone()));
        watcher.saw(Progress::LeavesOut {
            round,
            services: left_out.collect(),
        });
    }

    fn is_over_budget(&self) -> bool {
        self.run
            .plan
            .budget_ns
            .is_some_and(|budget| self.began.elapsed() >= Duration::from_nanos(budget))
    }

    /// Does one trial; says whether to go on.
    fn one(&mut self, planned: PlannedTrial, watcher: &mut dyn Watcher) -> Result<bool, String> {
        let entry = &self.run.plan.entries[planned.entry];
        watcher.saw(self.begins(planned, entry));
        let Some(record) = self.attempt(planned, entry, watcher) else {
            return Ok(false);
        };
        watcher.append(&record)?;
        watcher.saw(Progress::Ended(Box::new(record.clone())));
        self.remember(planned.entry, &record);
        let Some(reason) = self
            .repeats
            .wants(&record, self.run.bench.host.topology().cpus().len())
        else {
            return Ok(true);
        };
        if self.run.bench.cancel.is_asked() {
            return Ok(true);
        }
        watcher.saw(Progress::Repeats {
            reason: reason.clone(),
        });
        let Some(mut again) = self.attempt(planned, entry, watcher) else {
            return Ok(false);
        };
        self.repeats.mark(&mut again, &reason);
        watcher.append(&again)?;
        watcher.saw(Progress::Ended(Box::new(again)));
        if let Some(warning) = self.repeats.given_up() {
            watcher.saw(Progress::Warning(warning));
        }
        Ok(true)
    }

    fn attempt(
        &self,
        planned: PlannedTrial,
        entry: &Entry,
        watcher: &mut dyn Watcher,
    ) -> Option<TrialRecord> {
        let (service, contract) = match self.parts(entry) {
            Ok(parts) => parts,
            Err(reason) => return Some(self.without_service(planned, entry, reason)),
        };
        let number = self.run.plan.build_of(planned.round) as usize;
        let services = self.run.built.get(number);
        let built = match services.and_then(|services| services.get(&id_of(entry))) {
            Some(Ok(built)) => built,
            Some(Err(excluded)) => return Some(self.without_service(planned, entry, excluded.clone())),
            None => {
                let reason = "it was not built".to_owned();
                let excluded = Exclusion {
                    stage: Stage::Build,
                    reason,
                    log_tail: Vec::new(),
                };
                return Some(self.without_service(planned, entry, excluded));
            }
        };
        if let Some((excluded, TRIES..)) = self.failures.get(&planned.entry) {
            let reason = format!(
                "not tried again after {TRIES} failures in a row: {}",
                excluded.reason
            );
            return Some(self.without_service(
                planned,
                entry,
                Exclusion {
                    reason,
                    ..excluded.clone()
                },
            ));
        }
        let trial = Trial {
            plan: self.run.plan,
            planned,
            service,
            built,
            contract,
        };
        run_trial(&self.run.bench, &trial, &mut |progress| watcher.saw(progress))
    }

    fn parts(&self, entry: &Entry) -> Result<(&'a Service, &'a prony_contract::Contract), Exclusion> {
        let catalogue = self.run.catalogue;
        let gone = |what: &str| Exclusion {
            stage: Stage::Build,
            reason: format!("{what} is no longer in this checkout"),
            log_tail: Vec::new(),
        };
        let group = self.run.plan.group_of(entry);
        let contract = catalogue
            .contract(&group.contract)
            .map_err(|_| gone(&group.contract))?;
        let named = |service: &&Service| service.name == entry.service && service.variant == entry.variant;
        let service = catalogue.services.iter().find(named);
        Ok((
            service.ok_or_else(|| gone(&format!("{}/{}", entry.service, entry.variant)))?,
            contract,
        ))
    }

    /// The row of a trial that was not even begun.
    fn without_service(&self, planned: PlannedTrial, entry: &Entry, excluded: Exclusion) -> TrialRecord {
        let group = self.run.plan.group_of(entry);
        TrialRecord {
            place: planned.place,
            round: planned.round,
            build: self.run.plan.build_number(planned.round),
            service: id_of(entry),
            contract: group.contract.clone(),
            workload: group.workload.clone(),
            load: group.load_record(),
            started_at: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            took_s: 0.0,
            result: Err(excluded),
        }
    }

    /// A service that fails its check or does not start will do so again; one that failed under load may be unlucky.
    fn remember(&mut self, entry: usize, record: &TrialRecord) {
        match &record.result {
            Ok(_) => {
                self.failures.remove(&entry);
            }
            Err(excluded) => {
                let known = self
                    .failures
                    .get(&entry)
                    .filter(|(before, _)| before.stage == excluded.stage);
                let count = known.map_or(0, |(_, count)| *count);
                let first = known.map_or_else(|| excluded.clone(), |(before, _)| before.clone());
                self.failures.insert(entry, (first, count + 1));
            }
        }
    }

    fn begins(&self, planned: PlannedTrial, entry: &Entry) -> Progress {
        let plan = self.run.plan;
        let left = plan.trials().skip(planned.place as usize);
        let open = left.filter(|trial| !self.run.done.contains(&trial.place) && self.takes_part(trial.entry));
        Progress::Begins {
            number: planned.place + 1,
            of: plan.len(),
            round: planned.round,
            service: id_of(entry),
            workload: plan.group_of(entry).workload.clone(),
            remaining: open
                .map(|trial| plan.expected_trial(&plan.entries[trial.entry]))
                .sum(),
        }
    }
}

fn id_of(entry: &Entry) -> ServiceId {
    ServiceId {
        service: entry.service.clone(),
        variant: entry.variant.clone(),
    }
}
