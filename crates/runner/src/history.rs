//! What has been measured so far, and what is retried. All rules for retries are here.
//!
//! - An infrastructure failure is retried at once, at most twice. After two trials in a row that failed in spite of their retries
//!   there are no more retries: the cause is permanent.
//! - A service that fails by its own error is tried once more in the same round. After two failures it has no trial in this round;
//!   after two such rounds it is not started again.
//! - A disturbed trial is repeated once.
//!
//! Every attempt is stored. Of earlier sessions of the same run, measurements and failures of services count: a service that hangs
//! does not cost its time again. Their infrastructure failures do not count.

use crate::NoiseLimits;
use crate::noise::disturbance;
use crate::trial::{original, service_id};
use prony_config::{Plan, PlannedTrial};
use prony_records::{Exclusion, Fault, TrialRecord, TrialStage, Warning, WarningKind};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Retries of a trial after infrastructure failures.
const INFRASTRUCTURE_RETRIES: usize = 2;
/// After this number of trials in a row that failed in spite of retries, there are no more retries.
const PERMANENT_FAILURES: u32 = 2;
/// Failures by its own error after which a service has no trial in a round.
const OWN_FAILURES: usize = 2;
/// Rounds without a trial after which a service is not started again.
pub(crate) const FAILED_ROUNDS: usize = 2;
/// After this number of repeated trials in a row that were disturbed again, disturbed trials are no longer repeated.
const DISTURBED_REPEATS: u32 = 3;

/// The number of a trial in the plan.
pub type TrialId = u32;

/// One attempt at a trial.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Attempt {
    pub record: TrialRecord,
    pub planned: PlannedTrial,
    /// Whether its end has been shown.
    pub is_shown: bool,
}

/// The trials of a run so far.
#[derive(Debug)]
pub struct History<'a> {
    plan: &'a Plan,
    limits: Option<NoiseLimits>,
    /// CPUs of the machine.
    cpus: usize,
    /// Trials that an earlier session measured.
    measured_earlier: BTreeSet<u32>,
    /// Trials of which an earlier session measured windows before it was killed.
    provisional: BTreeSet<u32>,
    /// The attempts of each trial in this session, and its failures by the service's own error in earlier ones, by its number.
    attempts: BTreeMap<u32, Vec<AttemptResult>>,
    /// By entry: the rounds in which the service failed by its own error, with the number of the trial, and the last failure.
    own_failures: BTreeMap<usize, (BTreeMap<u32, TrialId>, Exclusion)>,
    /// The current round.
    round: u32,
    /// Records of all sessions, without their series.
    records: Vec<TrialRecord>,
    /// The number of records of earlier sessions.
    earlier: usize,
    /// Entries of the plan that take part in further rounds; `None`: all.
    participants: Option<BTreeSet<usize>>,
    elapsed: Duration,
    /// Trials in a row that had infrastructure failures in spite of their retries.
    permanent_failures: u32,
    /// Repeated trials in a row that were disturbed again.
    disturbed_repeats: u32,
    has_warned: bool,
}

/// The result of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
enum AttemptResult {
    Measured,
    /// Measured, but disturbed as described.
    Disturbed(String),
    OwnFailure,
    /// Not built, or excluded.
    NotStarted,
    Infrastructure(String),
}

impl<'a> History<'a> {
    /// The history of a run with these stored trials. A trial is repeated if its noise on a machine with `cpus` CPUs exceeds `limits`.
    pub fn new(plan: &'a Plan, stored: Vec<TrialRecord>, limits: Option<NoiseLimits>, cpus: usize) -> Self {
        let (provisional, complete): (Vec<&TrialRecord>, Vec<&TrialRecord>) =
            stored.iter().partition(|record| record.provisional);
        let measured = complete.iter().filter(|record| record.result.is_ok());
        let provisional = provisional.iter().map(|record| record.number).collect();
        let mut history = Self {
            plan,
            limits,
            cpus,
            measured_earlier: measured.map(|record| record.number).collect(),
            provisional,
            attempts: BTreeMap::new(),
            own_failures: BTreeMap::new(),
            round: 0,
            earlier: stored.len(),
            records: stored.into_iter().map(without_series).collect(),
            participants: None,
            elapsed: Duration::ZERO,
            permanent_failures: 0,
            disturbed_repeats: 0,
            has_warned: false,
        };
        history.count_earlier_failures();
        history
    }

    /// Counts the stored failures of services as if they had occurred in this session.
    fn count_earlier_failures(&mut self) {
        let planned: Vec<PlannedTrial> = self.plan.trials().collect();
        let own = |record: &&TrialRecord| record.result.is_err() && record.void().is_none();
        let failed: Vec<TrialRecord> = self.records.iter().filter(own).cloned().collect();
        for record in failed {
            let Some(planned) = planned.get(record.number as usize) else {
                continue;
            };
            if self.measured_earlier.contains(&record.number) {
                continue;
            }
            // Exclusions depend on the round.
            self.round = record.round;
            self.add_result(&record, planned.entry);
        }
        self.round = 0;
    }

    /// Counts stored failures of builds that have failed again: there is nothing to measure. A service that can be built now is
    /// measured. `is_built`: whether the service of a trial was built now.
    pub(crate) fn count_failed_builds(&mut self, is_built: impl Fn(&PlannedTrial) -> bool) {
        let unbuilt: BTreeSet<u32> = self.records.iter().filter_map(unbuilt).collect();
        for planned in self.plan.trials().filter(|planned| !is_built(planned)) {
            if unbuilt.contains(&planned.number) {
                let attempts = self.attempts.entry(planned.number).or_default();
                attempts.push(AttemptResult::NotStarted);
            }
        }
    }

    /// Time that the run took so far, in all sessions. Designs use this instead of a clock.
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

    /// The records of this session, without their series.
    pub(crate) fn session_records(&self) -> &[TrialRecord] {
        &self.records[self.earlier..]
    }

    /// How long an earlier start of this entry's build needed under its planned load until CPU time per request was stable, s; the
    /// longest of all. `None`: that was not shown yet.
    pub(crate) fn settled_after_s(&self, entry: usize) -> Option<f64> {
        let planned = &self.plan.entries[entry];
        let group = self.plan.group_of(planned);
        let build = original(&service_id(planned));
        let same = self.records.iter().filter(|record| {
            original(&record.service) == build
                && record.workload == group.workload
                && record.load == group.load_record()
        });
        let settled = same.filter_map(|record| {
            let steadiness = record.result.as_ref().ok()?.steadiness.as_ref()?;
            steadiness.settled_after_s
        });
        settled.reduce(f64::max)
    }

    /// Whether this entry of the plan takes part in further rounds.
    pub fn takes_part(&self, entry: usize) -> bool {
        let participants = self.participants.as_ref();
        participants.is_none_or(|participants| participants.contains(&entry))
    }

    pub(crate) const fn begin_round(&mut self, round: u32) {
        self.round = round;
    }

    /// Restricts further rounds to these entries. Returns whether this is a change.
    pub(crate) fn restrict_to(&mut self, entries: Option<BTreeSet<usize>>) -> bool {
        let changes = self.participants != entries;
        self.participants = entries;
        changes
    }

    /// The pending trials among these: those that were never measured, and those that are retried.
    pub fn pending(&self, trials: &[PlannedTrial]) -> Vec<PlannedTrial> {
        let is_open =
            |planned: &PlannedTrial| self.is_missing(planned) && !self.provisional.contains(&planned.number);
        let is_pending =
            |planned: &&PlannedTrial| is_open(planned) || self.retry_reason(planned.number).is_some();
        trials.iter().filter(is_pending).copied().collect()
    }

    /// Whether a trial has neither a complete measurement nor a final failure of the service.
    pub fn is_missing(&self, planned: &PlannedTrial) -> bool {
        if !self.takes_part(planned.entry) || self.measured_earlier.contains(&planned.number) {
            return false;
        }
        match self.attempts(planned.number) {
            [] => true,
            [.., AttemptResult::Infrastructure(_)] => self.retry_reason(planned.number).is_some(),
            _ => false,
        }
    }

    /// Why a trial is retried; `None` if it is not.
    pub fn retry_reason(&self, number: TrialId) -> Option<String> {
        let attempts = self.attempts(number);
        let count =
            |is_counted: fn(&AttemptResult) -> bool| attempts.iter().filter(|one| is_counted(one)).count();
        match attempts.last()? {
            AttemptResult::Infrastructure(reason) => {
                let retries =
                    count(|one| matches!(one, AttemptResult::Infrastructure(_))) <= INFRASTRUCTURE_RETRIES;
                (retries && self.permanent_failures < PERMANENT_FAILURES)
                    .then(|| format!("infrastructure failure: {reason}"))
            }
            AttemptResult::OwnFailure => {
                let failed = count(|one| *one == AttemptResult::OwnFailure) < OWN_FAILURES;
                failed.then(|| "the service failed; it has a second try in this round".to_owned())
            }
            AttemptResult::Disturbed(reason) => {
                let is_first =
                    count(|one| matches!(one, AttemptResult::Measured | AttemptResult::Disturbed(_))) == 1;
                (is_first && self.disturbed_repeats < DISTURBED_REPEATS).then(|| reason.clone())
            }
            AttemptResult::Measured | AttemptResult::NotStarted => None,
        }
    }

    /// Why the service of this entry is not started again; `None` if it may be.
    pub fn exclusion(&self, entry: usize) -> Option<Exclusion> {
        let (rounds, last) = self.own_failures.get(&entry)?;
        let is_settled = |(round, number): &(&u32, &TrialId)| {
            **round < self.round || self.retry_reason(**number).is_none()
        };
        let rounds = rounds.iter().filter(is_settled).count();
        (rounds >= FAILED_ROUNDS).then(|| Exclusion {
            reason: format!(
                "not started again after failures of its own in {rounds} rounds: {}",
                last.reason
            ),
            ..last.clone()
        })
    }

    /// Whether a trial has failed and is not retried.
    pub fn has_failed(&self, planned: &PlannedTrial) -> bool {
        let own = || {
            self.records
                .iter()
                .filter(|record| record.number == planned.number)
        };
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

    /// The infrastructure failure of the last trial, if it is not retried.
    pub(crate) fn final_infrastructure_failure(&self) -> Option<&str> {
        let last = self.records.last()?;
        match self.attempts(last.number) {
            [.., AttemptResult::Infrastructure(reason)] if self.retry_reason(last.number).is_none() => {
                Some(reason)
            }
            _ => None,
        }
    }

    fn attempts(&self, number: u32) -> &[AttemptResult] {
        self.attempts.get(&number).map_or(&[], Vec::as_slice)
    }

    /// Adds warnings to the record of a repeated trial.
    pub(crate) fn add_repeat_warnings(&self, attempt: &mut Attempt) {
        let [.., AttemptResult::Disturbed(reason)] = self.attempts(attempt.record.number) else {
            return;
        };
        let still = self.disturbance(&attempt.record);
        if let Ok(measurement) = &mut attempt.record.result {
            let text = format!("Repeated: the first trial was disturbed ({reason}).");
            measurement
                .warnings
                .push(Warning::new(WarningKind::Repeated, text));
            let noise = still.map(|still| {
                let text = format!("The repeat was disturbed as well: {still}.");
                Warning::new(WarningKind::Noise, text)
            });
            measurement.warnings.extend(noise);
        }
    }

    /// Adds an attempt.
    pub(crate) fn add(&mut self, attempt: Attempt) {
        let Attempt { record, planned, .. } = attempt;
        self.add_result(&record, planned.entry);
        self.records.push(without_series(record));
    }

    fn add_result(&mut self, record: &TrialRecord, entry: usize) {
        let was_disturbed = matches!(self.attempts(record.number), [.., AttemptResult::Disturbed(_)]);
        let result = match &record.result {
            Ok(_) => self
                .disturbance(record)
                .map_or(AttemptResult::Measured, AttemptResult::Disturbed),
            Err(_) if unbuilt(record).is_some() => AttemptResult::NotStarted,
            Err(excluded) if excluded.fault == Fault::Infrastructure => {
                AttemptResult::Infrastructure(excluded.reason.clone())
            }
            Err(_) if self.exclusion(entry).is_some() => AttemptResult::NotStarted,
            Err(_) => AttemptResult::OwnFailure,
        };
        if was_disturbed {
            let is_disturbed = matches!(result, AttemptResult::Disturbed(_));
            self.disturbed_repeats = if is_disturbed {
                self.disturbed_repeats + 1
            } else {
                0
            };
        }
        self.attempts.entry(record.number).or_default().push(result);
        self.update_counters(record, entry);
    }

    /// Updates the counters of failures, on which retries depend.
    fn update_counters(&mut self, record: &TrialRecord, entry: usize) {
        let Err(excluded) = &record.result else {
            self.permanent_failures = 0;
            if let Some((rounds, _)) = self.own_failures.get_mut(&entry) {
                rounds.remove(&record.round);
            }
            return;
        };
        match self.attempts(record.number) {
            [.., AttemptResult::OwnFailure] => {
                self.permanent_failures = 0;
                let failures = self.own_failures.entry(entry);
                let (rounds, last) = failures.or_insert_with(|| (BTreeMap::new(), excluded.clone()));
                rounds.insert(record.round, record.number);
                *last = excluded.clone();
            }
            [.., AttemptResult::Infrastructure(_)] if self.retry_reason(record.number).is_none() => {
                self.permanent_failures += 1;
            }
            _ => {}
        }
    }

    /// The warning that disturbed trials are no longer repeated; returned once.
    pub(crate) fn take_warning(&mut self) -> Option<Warning> {
        if self.disturbed_repeats < DISTURBED_REPEATS || self.has_warned {
            return None;
        }
        self.has_warned = true;
        let text = format!("Repeating stopped after {DISTURBED_REPEATS} disturbed repeats.");
        Some(Warning::new(WarningKind::Noise, text).advise("Use an idle machine."))
    }

    fn disturbance(&self, record: &TrialRecord) -> Option<String> {
        disturbance(record, self.limits?, self.cpus)
    }

    /// The pending trials from this number on.
    pub(crate) fn pending_from(&self, number: u32) -> Vec<PlannedTrial> {
        let later: Vec<PlannedTrial> = self.plan.trials().skip(number as usize).collect();
        self.pending(&later)
    }
}

/// The number of a trial whose service was not built.
fn unbuilt(record: &TrialRecord) -> Option<TrialId> {
    let excluded = record.result.as_ref().err()?;
    matches!(excluded.stage, TrialStage::Toolchain | TrialStage::Build).then_some(record.number)
}

/// A record without its intervals and samples, which take most of its memory and are not needed for decisions.
fn without_series(mut record: TrialRecord) -> TrialRecord {
    if let Ok(measurement) = &mut record.result {
        measurement.warm_up_samples = Vec::new();
        if let Some(steadiness) = &mut measurement.steadiness {
            steadiness.intervals = Vec::new();
        }
    }
    record
}
