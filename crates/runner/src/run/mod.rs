//! A run: the trials of a plan, round by round.

mod given;
mod shared;
mod turns;

use crate::RunContext;
use crate::noise::Repeats;
use crate::trial::{Trial, TurnsOf, run_trial};
use crate::{Built, Progress};
use given::{Given, given};
use prony_config::contract::Contract;
use prony_config::{Catalogue, Design, Entry, Plan, PlannedTrial, Service, Starts};
use prony_host::Wants;
use prony_records::{Exclusion, Fault, ServiceId, Stage, TrialRecord};
use shared::Shared;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant, SystemTime};

/// All that a run needs.
pub struct Run<'a> {
    /// What is to be done.
    pub plan: &'a Plan,
    /// Services and contracts.
    pub catalogue: &'a Catalogue,
    /// Where and how.
    pub bench: RunContext<'a>,
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
    /// A host of the lab is lost and did not come back, for this reason, which names it.
    HostLost(String),
}

/// Repeats of a trial in which the bench failed.
const VOID_REPEATS: u32 = 2;
/// Places in a row that were void in spite of repeats, after which nothing is repeated any more: what fails is there to stay.
const HOPELESS: u32 = 2;

/// Does all trials of a plan that are not done yet. `Err`: a record could not be kept.
pub fn run_plan(run: &Run<'_>, watcher: &mut dyn Watcher) -> Result<RunEnd, String> {
    let lab = run.bench.lab;
    let Some(given) = given(run, watcher) else {
        return Ok(RunEnd::Interrupted);
    };
    if !lab.is_one_host() {
        return all_rounds(run, &given, watcher);
    }
    let host = run.bench.host();
    let topology = host.topology();
    let placement = lab.place(Wants::default());
    // What this thread does while a service is measured must not be done on the service's CPUs. Where pinning is not
    // allowed it may be, and the noise shows.
    let _ = host.pin_self(&placement.generator().cpus);
    let end = all_rounds(run, &given, watcher);
    let _ = host.pin_self(&topology.cpus());
    end
}

fn all_rounds<'a>(
    run: &'a Run<'a>,
    given: &'a Given<'a>,
    watcher: &mut dyn Watcher,
) -> Result<RunEnd, String> {
    let mut state = State::new(run, given);
    for round in 0..run.plan.rounds {
        if state.is_over_budget() {
            return Ok(RunEnd::BudgetSpent);
        }
        let goes_on = match run.plan.design {
            Design::Sequence if run.plan.starts == Starts::Shared => {
                state.in_shared_starts(round, watcher)?
            }
            Design::Sequence => state.in_sequence(round, watcher)?,
            Design::Turns { window_ns, cycles } => {
                let window = Duration::from_nanos(window_ns);
                state.in_turns(round, TurnsOf { window, cycles }, watcher)?
            }
        };
        if !goes_on {
            return Ok(state.lost.map_or(RunEnd::Interrupted, RunEnd::HostLost));
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
    given: &'a Given<'a>,
    began: Instant,
    repeats: Repeats,
    /// By entry: how it failed by a fault of its own. It is not started again.
    failures: BTreeMap<usize, Exclusion>,
    /// The start that serves the trials, where they share one.
    shared: Option<Shared>,
    /// The entries that the round holds; `None`: all.
    only: Option<BTreeSet<usize>>,
    /// Places in a row whose trials were all void.
    void_places: u32,
    /// Why a host is lost that did not come back.
    lost: Option<String>,
}

impl<'a> State<'a> {
    fn new(run: &'a Run<'a>, given: &'a Given<'a>) -> Self {
        let repeats = Repeats::new(run.bench.options.noise);
        Self {
            run,
            given,
            began: Instant::now(),
            repeats,
            failures: BTreeMap::new(),
            shared: None,
            only: None,
            void_places: 0,
            lost: None,
        }
    }

    /// The trials of a round, one after the other; says whether to go on.
    fn in_sequence(&mut self, round: u32, watcher: &mut dyn Watcher) -> Result<bool, String> {
        for planned in self.run.plan.round(round) {
            if self.run.done.contains(&planned.place) || !self.takes_part(planned.entry) {
                continue;
            }
            if self.run.bench.cancel.is_asked() || !self.one(planned, watcher)? {
                return Ok(false);
            }
        }
        Ok(true)
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
        let all = 0..self.run.plan.entries.len();
        let entries = all.filter(|entry| !self.takes_part(*entry)).collect();
        watcher.saw(Progress::LeavesOut { round, entries });
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
        if self.skip(planned, watcher)? {
            return Ok(true);
        }
        let Some(record) = self.attempt_until_it_counts(planned, entry, watcher)? else {
            return Ok(false);
        };
        self.remember(planned.entry, &record);
        if let Some(excluded) = record.void()
            && self.run.bench.lab.lost().is_some()
        {
            self.lost = Some(excluded.reason.clone());
            return Ok(false);
        }
        let Some(reason) = self
            .repeats
            .wants(&record, self.run.bench.host().topology().cpus().len())
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

    /// Tries until it is not the bench that fails, a few times. `None`: the user asked to stop now.
    fn attempt_until_it_counts(
        &mut self,
        planned: PlannedTrial,
        entry: &Entry,
        watcher: &mut dyn Watcher,
    ) -> Result<Option<TrialRecord>, String> {
        let mut repeats = 0;
        loop {
            let Some(record) = self.attempt(planned, entry, watcher) else {
                return Ok(None);
            };
            watcher.append(&record)?;
            watcher.saw(Progress::Ended(Box::new(record.clone())));
            let Some(excluded) = record.void() else {
                self.void_places = 0;
                return Ok(Some(record));
            };
            let hopeless =
                self.void_places >= HOPELESS || matches!(excluded.stage, Stage::Toolchain | Stage::Build);
            if repeats == VOID_REPEATS || hopeless || self.run.bench.cancel.is_asked() {
                self.void_places += 1;
                return Ok(Some(record));
            }
            repeats += 1;
            watcher.saw(Progress::Repeats {
                reason: format!("the bench failed, not the service: {}", excluded.reason),
            });
        }
    }

    fn attempt(
        &mut self,
        planned: PlannedTrial,
        entry: &Entry,
        watcher: &mut dyn Watcher,
    ) -> Option<TrialRecord> {
        match self.trial(planned, entry) {
            Ok(trial) => {
                let watch = &mut |progress| watcher.saw(progress);
                match &mut self.shared {
                    None => run_trial(&self.run.bench, &trial, watch),
                    Some(shared) => shared.attempt(&self.run.bench, &trial, watch),
                }
            }
            Err(excluded) => Some(self.without_service(planned, entry, excluded)),
        }
    }

    /// What the trial needs; why there is none where the service was not built or has failed.
    fn trial(&self, planned: PlannedTrial, entry: &Entry) -> Result<Trial<'a>, Exclusion> {
        let (service, contract) = self.parts(entry)?;
        let number = self.run.plan.build_of(planned.round) as usize;
        let services = self.run.built.get(number);
        let built = match services.and_then(|services| services.get(&id_of(entry))) {
            Some(built) => built.as_ref().map_err(Clone::clone)?,
            None => {
                return Err(Exclusion {
                    stage: Stage::Build,
                    reason: "it was not built".to_owned(),
                    log_tail: Vec::new(),
                    fault: Fault::Service,
                });
            }
        };
        if let Some(excluded) = self.failures.get(&planned.entry) {
            return Err(Exclusion {
                reason: format!(
                    "not started again after a failure of its own: {}",
                    excluded.reason
                ),
                ..excluded.clone()
            });
        }
        Ok(Trial {
            plan: self.run.plan,
            planned,
            service,
            built,
            contract,
        })
    }

    fn parts(&self, entry: &Entry) -> Result<(&'a Service, &'a Contract), Exclusion> {
        let catalogue = self.run.catalogue;
        let gone = |what: &str| Exclusion {
            stage: Stage::Build,
            reason: format!("{what} is no longer in this checkout"),
            log_tail: Vec::new(),
            fault: Fault::Service,
        };
        let group = self.run.plan.group_of(entry);
        let contract = given::contract(self.given, catalogue, &group.contract);
        let contract = contract.unwrap_or_else(|| Err(gone(&group.contract)))?;
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
            start: None,
            service: id_of(entry),
            contract: group.contract.clone(),
            workload: group.workload.clone(),
            load: group.load_record(),
            rank_by: group.ranked_by(),
            started_at: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            took_s: 0.0,
            result: Err(excluded),
        }
    }

    /// A service that failed by a fault of its own is not started again: what the bench does wrong is repeated at once.
    fn remember(&mut self, entry: usize, record: &TrialRecord) {
        if let Err(excluded) = &record.result
            && excluded.fault == Fault::Service
        {
            self.failures.entry(entry).or_insert_with(|| excluded.clone());
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
