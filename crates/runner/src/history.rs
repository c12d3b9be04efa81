//! What has been measured so far, and what is to be tried again. The rules for retries are here and nowhere else.
//!
//! - An infrastructure failure is repeated at once, twice at most. Two trials in a row that failed so in spite of it end this:
//!   the cause is there to stay.
//! - A service that fails by its own error is tried once more in the same round. Two failures mean that it has no trial in this
//!   round; the same in two rounds, and it is not started again.
//! - A disturbed trial is repeated once.
//!
//! Every attempt is kept. An earlier session of the same run counts for what it measured, not for what it tried.

use crate::NoiseLimits;
use crate::noise::disturbance;
use crate::trial::service_id;
use prony_config::{Plan, PlannedTrial};
use prony_records::{Exclusion, Fault, TrialRecord, TrialStage, Warning, WarningKind};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Repeats of a trial in which the infrastructure failed.
const INFRASTRUCTURE_RETRIES: usize = 2;
/// Trials in a row whose infrastructure failed in spite of repeats, after which nothing is repeated any more.
const HOPELESS: u32 = 2;
/// Failures of its own by which a service has no trial in a round.
const OWN_FAILURES: usize = 2;
/// Rounds without a trial after which a service is not started again.
const FAILED_ROUNDS: usize = 2;
/// Trials that were disturbed again when they were repeated, after which repeating is given up: the noise is there to stay.
const FRUITLESS: u32 = 3;

/// The place of a trial in the plan.
pub type TrialId = u32;

/// A trial that was done, or could not be.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Attempt {
    /// Its record.
    pub record: TrialRecord,
    /// Its place and entry in the plan.
    pub planned: PlannedTrial,
    /// Whether its end has been shown.
    pub is_told: bool,
}

/// The trials of a run so far.
#[derive(Debug)]
pub struct History<'a> {
    plan: &'a Plan,
    limits: Option<NoiseLimits>,
    /// CPUs of the machine.
    cpus: usize,
    /// The trials that an earlier session measured.
    earlier: BTreeSet<u32>,
    /// The trials whose last window an earlier session measured before it was killed.
    provisional: BTreeSet<u32>,
    /// The attempts of each trial in this session, by its number.
    tried: BTreeMap<u32, Vec<AttemptResult>>,
    /// By entry: the rounds in which it failed by its own error, with the place of the trial, and the last reason.
    own_failures: BTreeMap<usize, (BTreeMap<u32, TrialId>, Exclusion)>,
    /// The round that goes on.
    round: u32,
    /// The records of all sessions, without their series.
    records: Vec<TrialRecord>,
    /// The entries that later rounds hold; `None`: all.
    only: Option<BTreeSet<usize>>,
    elapsed: Duration,
    /// Trials in a row whose infrastructure failed, each with its retries used.
    hopeless: u32,
    fruitless: u32,
    gave_up_told: bool,
}

/// The result of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
enum AttemptResult {
    Measured,
    /// It was measured, and disturbed in this way.
    Disturbed(String),
    OwnFailure,
    /// It could not be started at all: it was not built, or is excluded.
    NotStarted,
    Infrastructure(String),
}

impl<'a> History<'a> {
    /// The history of a run that goes on after these trials. A trial is repeated that was disturbed beyond `limits` on a machine
    /// of `cpus` CPUs.
    pub fn new(plan: &'a Plan, stored: Vec<TrialRecord>, limits: Option<NoiseLimits>, cpus: usize) -> Self {
        let (provisional, complete): (Vec<&TrialRecord>, Vec<&TrialRecord>) =
            stored.iter().partition(|record| record.provisional);
        let measured = complete.iter().filter(|record| record.void().is_none());
        let provisional = provisional.iter().map(|record| record.place).collect();
        Self {
            plan,
            limits,
            cpus,
            earlier: measured.map(|record| record.place).collect(),
            provisional,
            tried: BTreeMap::new(),
            own_failures: BTreeMap::new(),
            round: 0,
            records: stored.into_iter().map(without_series).collect(),
            only: None,
            elapsed: Duration::ZERO,
            hopeless: 0,
            fruitless: 0,
            gave_up_told: false,
        }
    }

    /// Time since the session began. It is data here: a design reads no clock.
    pub const fn elapsed(&self) -> Duration {
        self.elapsed
    }

    pub(crate) fn set_elapsed(&mut self, elapsed: Duration) {
        self.elapsed = elapsed;
    }

    /// All records so far, without their series.
    pub fn records(&self) -> &[TrialRecord] {
        &self.records
    }

    /// Whether later rounds hold this entry of the plan.
    pub fn takes_part(&self, entry: usize) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(&entry))
    }

    /// A round begins.
    pub(crate) const fn begin_round(&mut self, round: u32) {
        self.round = round;
    }

    /// Later rounds hold these entries alone. Returns whether that is another choice than before.
    pub(crate) fn hold_only(&mut self, entries: Option<BTreeSet<usize>>) -> bool {
        let changes = self.only != entries;
        self.only = entries;
        changes
    }

    /// The trials among these that are to be done: those never measured, and those to be tried again.
    pub fn pending(&self, trials: &[PlannedTrial]) -> Vec<PlannedTrial> {
        let is_open =
            |planned: &PlannedTrial| self.is_missing(planned) && !self.provisional.contains(&planned.place);
        let is_pending = |planned: &&PlannedTrial| is_open(planned) || self.again(planned.place).is_some();
        trials.iter().filter(is_pending).copied().collect()
    }

    /// Whether a trial has neither a complete a measurement nor a failure of the service that stands.
    pub fn is_missing(&self, planned: &PlannedTrial) -> bool {
        if !self.takes_part(planned.entry) || self.earlier.contains(&planned.place) {
            return false;
        }
        match self.tried(planned.place) {
            [] => true,
            [.., AttemptResult::Infrastructure(_)] => self.again(planned.place).is_some(),
            _ => false,
        }
    }

    /// Why a trial that was tried is to be tried again; `None`: it is not.
    pub fn again(&self, place: TrialId) -> Option<String> {
        let tried = self.tried(place);
        let count = |wanted: fn(&AttemptResult) -> bool| tried.iter().filter(|one| wanted(one)).count();
        match tried.last()? {
            AttemptResult::Infrastructure(reason) => {
                let retries =
                    count(|one| matches!(one, AttemptResult::Infrastructure(_))) <= INFRASTRUCTURE_RETRIES;
                (retries && self.hopeless < HOPELESS).then(|| format!("infrastructure failure: {reason}"))
            }
            AttemptResult::OwnFailure => {
                let failed = count(|one| *one == AttemptResult::OwnFailure) < OWN_FAILURES;
                failed.then(|| "the service failed; it has a second try in this round".to_owned())
            }
            AttemptResult::Disturbed(reason) => {
                let is_first =
                    count(|one| matches!(one, AttemptResult::Measured | AttemptResult::Disturbed(_))) == 1;
                (is_first && self.fruitless < FRUITLESS).then(|| reason.clone())
            }
            AttemptResult::Measured | AttemptResult::NotStarted => None,
        }
    }

    /// Why a service under the load of this entry is not started again, where it is not.
    pub fn exclusion(&self, entry: usize) -> Option<Exclusion> {
        let (rounds, last) = self.own_failures.get(&entry)?;
        let is_settled =
            |(round, place): &(&u32, &TrialId)| **round < self.round || self.again(**place).is_none();
        let rounds = rounds.iter().filter(is_settled).count();
        (rounds >= FAILED_ROUNDS).then(|| Exclusion {
            reason: format!(
                "not started again after failures of its own in {rounds} rounds: {}",
                last.reason
            ),
            ..last.clone()
        })
    }

    /// Whether a trial has failed and is not tried again.
    pub fn has_failed(&self, planned: &PlannedTrial) -> bool {
        let own = || self.records.iter().filter(|record| record.place == planned.place);
        own().next().is_some()
            && own().all(|record| record.result.is_err())
            && self.pending(std::slice::from_ref(planned)).is_empty()
    }

    /// All failures of the service of an entry, under its load.
    pub fn failures_of(&self, entry: usize) -> impl Iterator<Item = &Exclusion> {
        let entry = &self.plan.entries[entry];
        let own = self
            .records
            .iter()
            .filter(move |record| record.service == service_id(entry));
        own.filter_map(|record| record.result.as_ref().err())
    }

    /// Why a trial whose infrastructure failed is not tried any more; `None`: the last one did not fail so, or is tried again.
    pub(crate) fn gave_up(&self) -> Option<&str> {
        let last = self.records.last()?;
        let excluded = last.void().filter(|_| self.again(last.place).is_none())?;
        Some(&excluded.reason)
    }

    fn tried(&self, place: u32) -> &[AttemptResult] {
        self.tried.get(&place).map_or(&[], Vec::as_slice)
    }

    /// Says in the record of a trial that it is the repetition of a disturbed one.
    pub(crate) fn mark(&self, attempt: &mut Attempt) {
        let [.., AttemptResult::Disturbed(reason)] = self.tried(attempt.record.place) else {
            return;
        };
        let still = self.disturbance(&attempt.record);
        if let Ok(measurement) = &mut attempt.record.result {
            let text = format!("the trial was repeated because the first one was disturbed: {reason}");
            measurement
                .warnings
                .push(Warning::new(WarningKind::Repeated, text));
            let noise =
                still.map(|still| Warning::new(WarningKind::Noise, format!("so was the second: {still}")));
            measurement.warnings.extend(noise);
        }
    }

    /// Takes an attempt.
    pub(crate) fn add(&mut self, attempt: Attempt) {
        let Attempt { record, planned, .. } = attempt;
        let was_disturbed = matches!(self.tried(record.place), [.., AttemptResult::Disturbed(_)]);
        let tried = match &record.result {
            Ok(_) => self
                .disturbance(&record)
                .map_or(AttemptResult::Measured, AttemptResult::Disturbed),
            Err(excluded) if matches!(excluded.stage, TrialStage::Toolchain | TrialStage::Build) => {
                AttemptResult::NotStarted
            }
            Err(excluded) if excluded.fault == Fault::Infrastructure => {
                AttemptResult::Infrastructure(excluded.reason.clone())
            }
            Err(_) if self.exclusion(planned.entry).is_some() => AttemptResult::NotStarted,
            Err(_) => AttemptResult::OwnFailure,
        };
        if was_disturbed {
            let again = matches!(tried, AttemptResult::Disturbed(_));
            self.fruitless = if again { self.fruitless + 1 } else { 0 };
        }
        self.tried.entry(record.place).or_default().push(tried);
        self.count(&record, planned.entry);
        self.records.push(without_series(record));
    }

    /// What an attempt means for those after it.
    fn count(&mut self, record: &TrialRecord, entry: usize) {
        let Err(excluded) = &record.result else {
            self.hopeless = 0;
            if let Some((rounds, _)) = self.own_failures.get_mut(&entry) {
                rounds.remove(&record.round);
            }
            return;
        };
        let is_own = matches!(self.tried(record.place), [.., AttemptResult::OwnFailure]);
        if is_own {
            let failures = self.own_failures.entry(entry);
            let (rounds, last) = failures.or_insert_with(|| (BTreeMap::new(), excluded.clone()));
            rounds.insert(record.round, record.place);
            *last = excluded.clone();
        }
        if excluded.fault != Fault::Infrastructure {
            self.hopeless = 0;
        } else if self.again(record.place).is_none() {
            self.hopeless += 1;
        }
    }

    /// Once, when repeating disturbed trials has become pointless.
    pub(crate) fn take_warning(&mut self) -> Option<Warning> {
        if self.fruitless < FRUITLESS || self.gave_up_told {
            return None;
        }
        self.gave_up_told = true;
        let text =
            format!("{FRUITLESS} disturbed trials were disturbed again: trials are no longer repeated");
        Some(Warning::new(WarningKind::Noise, text))
    }

    fn disturbance(&self, record: &TrialRecord) -> Option<String> {
        disturbance(record, self.limits?, self.cpus)
    }

    /// The trials of a plan from this place on that are open, with those that are to be tried again.
    pub(crate) fn open_from(&self, place: u32) -> Vec<PlannedTrial> {
        let later: Vec<PlannedTrial> = self.plan.trials().skip(place as usize).collect();
        self.pending(&later)
    }
}

/// A record as decisions need it: intervals and samples take most of its memory.
fn without_series(mut record: TrialRecord) -> TrialRecord {
    if let Ok(measurement) = &mut record.result {
        measurement.warm_up_samples = Vec::new();
        if let Some(steadiness) = &mut measurement.steadiness {
            steadiness.intervals = Vec::new();
        }
    }
    record
}
