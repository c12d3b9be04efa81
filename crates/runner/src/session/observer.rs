//! The journal of a session: stores each trial, passes events on, and decides after each round whether there is another one.

use super::checks::Checks;
use super::{SessionObserver, summary, warnings};
use crate::secrets;
use crate::testbed::network_bound;
use crate::{Cancel, CommandError, Journal, JournalError, NextRound, Noise, Progress, RunEnd};
use prony_config::{Design, Plan};
use prony_records::{Recording, RunRecord, ServiceId, TrialRecord, Warning};
use prony_statistics::{Decision, Group, Progress as RunProgress, StopReason, StopRule, next_round};
use prony_store::{Progress as StoredProgress, Store, StoreError};
use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// Minimum number of rounds before a run may stop for precision.
const FEWEST_ROUNDS: u32 = 5;
/// The same for measured starts, which take a second each.
const FEWEST_STARTS: u32 = 10;
/// Rounds before settled services are left out.
const FEWEST_FOR_LEAVING_OUT: u32 = 3;
/// Interval at which the progress is stored.
const STORE_EVERY: Duration = Duration::from_millis(500);
/// How long a trial that could not be stored is kept for another attempt, and the pause between two.
const ROOM_WAIT: Duration = Duration::from_mins(1);
const ROOM_PAUSE: Duration = Duration::from_millis(200);

pub(super) struct RunObserver<'a> {
    store: &'a Store,
    record: &'a RunRecord,
    plan: &'a Plan,
    observer: &'a mut dyn SessionObserver,
    began: Instant,
    earlier: EarlierSessions,
    cancel: &'a Cancel,
    stored_at: Option<Instant>,
    now: StoredProgress,
    checks: Checks<'a>,
    /// Indexes of the entries of the plan that were left out of rounds.
    left_out: BTreeSet<usize>,
    /// CPUs of the machine.
    cpus: usize,
    /// The hint about noise in the first round.
    hint: Option<Warning>,
    /// Sequence numbers of the provisional records of this session, by trial number.
    provisional: BTreeMap<u32, i64>,
    /// The last round that ended in this session, and the time spent until then.
    ended: Option<(u32, Duration)>,
}

/// What earlier sessions of a run leave to this one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EarlierSessions {
    /// The time that they took.
    pub(super) spent: Duration,
    /// Whether trials that failed by the service's own error are tried again.
    pub(super) retry_failed: bool,
}

impl<'a> RunObserver<'a> {
    pub(super) fn new(
        store: &'a Store,
        (record, plan): (&'a RunRecord, &'a Plan),
        (cpus, cancel): (usize, &'a Cancel),
        observer: &'a mut dyn SessionObserver,
        checks: Checks<'a>,
    ) -> Self {
        let now = StoredProgress {
            at: record.started_at.clone(),
            done: 0,
            planned: plan.len(),
            eta_s: None,
            service: None,
            contract: None,
            workload: None,
            step: None,
            phase: None,
            throughput_per_s: None,
            response_time_ns_p99: None,
            workers: Vec::new(),
            lost: None,
            spent_s: 0.0,
        };
        Self {
            store,
            record,
            plan,
            observer,
            began: Instant::now(),
            earlier: EarlierSessions::default(),
            cancel,
            stored_at: None,
            now,
            checks,
            left_out: BTreeSet::new(),
            cpus,
            hint: None,
            provisional: BTreeMap::new(),
            ended: None,
        }
    }

    /// The observer of a run that is continued.
    #[must_use]
    pub(super) fn after(self, earlier: EarlierSessions) -> Self {
        Self { earlier, ..self }
    }

    pub(super) fn trials_done(&mut self) {
        self.write_progress();
        self.observer.trials_done();
    }

    /// The time that the run took so far, in all its sessions.
    fn spent(&self) -> Duration {
        self.earlier.spent + self.began.elapsed()
    }

    /// Stores the progress. An error of the store is ignored.
    fn write_progress(&mut self) {
        self.now.at = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
        self.now.spent_s = self.spent().as_secs_f64();
        let _ = self.store.set_progress(&self.record.id, &self.now);
        self.stored_at = Some(Instant::now());
    }

    /// Updates the stored progress, which other processes show.
    fn store_progress(&mut self, progress: &Progress) {
        match progress {
            Progress::Begins {
                number,
                remaining,
                service,
                workload,
                ..
            } => {
                self.now.done = number.saturating_sub(1);
                self.now.eta_s = Some(remaining.as_secs_f64());
                self.now.service = Some(service.clone());
                self.now.workload = Some(workload.clone());
                self.now.step = Some("start".to_owned());
                self.now.phase = None;
                self.stored_at = None;
            }
            Progress::Phase(phase) => {
                self.now.phase = Some(*phase);
                self.now.step = None;
                self.now.lost = None;
                self.stored_at = None;
            }
            Progress::Interval { interval, .. } => {
                self.now.throughput_per_s = Some(interval.throughput_per_s());
                self.now.response_time_ns_p99 = interval.response_time_ns_p99;
            }
            Progress::Workers(workers) => self.now.workers.clone_from(workers),
            Progress::HostLost(reason) => {
                self.now.lost = Some(reason.clone());
                self.stored_at = None;
            }
            Progress::Ended(_) => {
                self.now.done += 1;
                self.now.workers.clear();
            }
            _ => return,
        }
        if self
            .stored_at
            .is_none_or(|stored_at| stored_at.elapsed() >= STORE_EVERY)
        {
            self.write_progress();
        }
    }

    /// The trial as it is stored: with a warning if the network was its limit, and without secrets.
    fn stored_form(&self, record: &TrialRecord) -> TrialRecord {
        let mut record = record.clone();
        if let Ok(measurement) = &mut record.result
            && let Some(bound) = self.network_warning(&[&measurement.recording])
            && measurement
                .warnings
                .iter()
                .all(|warning| warning.kind != bound.kind)
        {
            measurement.warnings.push(bound);
        }
        secrets::mask_trial(&mut record);
        record
    }

    /// A warning if the network to the host of the service was the limit of loads that were measured at the same time.
    fn network_warning(&self, loads: &[&Recording]) -> Option<Warning> {
        let environment = &self.record.environment;
        let mut hosts = environment.hosts.iter();
        let (service, _) = hosts.find(|(_, host)| host.roles.iter().any(|role| role == "service"))?;
        network_bound(loads, &environment.links, service)
    }

    /// Stores a trial; replaces its provisional record if there is one. While the disk is full, the trial waits for room.
    fn store_trial(&mut self, record: &TrialRecord) -> Result<i64, JournalError> {
        let warned = self.stored_form(record);
        let before = self.provisional.get(&record.number).copied();
        let since = Instant::now();
        let mut is_told = false;
        let sequence = loop {
            match self.try_to_store(before, &warned) {
                Ok(sequence) => break sequence,
                Err(error) if error.may_pass() && since.elapsed() < ROOM_WAIT && !self.cancel.is_asked() => {
                    if !std::mem::replace(&mut is_told, true) {
                        self.observer.message(&format!(
                            "{error}: free disk space within {} s, so that the trial just measured is not lost",
                            ROOM_WAIT.as_secs()
                        ));
                    }
                    thread::sleep(ROOM_PAUSE);
                }
                Err(error) => {
                    let text = format!(
                        "{error}; the trial just measured is lost: free disk space, then continue the run with `--resume {}`",
                        self.record.id
                    );
                    return Err(JournalError(text));
                }
            }
        };
        if is_told {
            self.observer.message("the trial is stored; the run continues");
        }
        self.provisional.remove(&record.number);
        Ok(sequence)
    }

    fn try_to_store(&self, before: Option<i64>, record: &TrialRecord) -> Result<i64, StoreError> {
        let run = &self.record.id;
        match before {
            Some(before) => self.store.replace_trial(run, before, record),
            None => self.store.append_trial(run, record),
        }
    }

    /// Removes the provisional records of cancelled trials.
    pub(super) fn discard_provisional(&mut self) -> Result<(), CommandError> {
        for sequence in std::mem::take(&mut self.provisional).into_values() {
            self.store.remove_trial(&self.record.id, sequence)?;
        }
        Ok(())
    }

    /// Warnings about the run as a whole.
    pub(super) fn warnings(&self) -> Result<Vec<Warning>, CommandError> {
        let trials = self.store.trials(&self.record.id)?;
        let mut warnings = warnings::of_left_out(self.plan, &self.left_out, &trials);
        warnings.extend(self.hint.clone());
        secrets::mask_warnings(&mut warnings);
        Ok(warnings)
    }

    /// After a noisy first round, recommends an interleaved run, unless that was recommended before the run.
    fn check_first_round(&mut self) -> Result<(), CommandError> {
        let known = self.record.warnings.iter().any(warnings::is_hint);
        let trials = self.store.trials(&self.record.id)?;
        let noises = trials.iter().filter_map(|trial| Noise::of(trial, self.cpus));
        self.hint = warnings::median(noises)
            .filter(|_| !known)
            .and_then(|noise| warnings::of(noise, self.plan, "in the first round"));
        self.hint
            .iter()
            .for_each(|hint| self.observer.message(&hint.text));
        Ok(())
    }

    /// The expected time of the next round with all services, s: for each of them that of the last round, which was measured; after the first
    /// round in proportion to what was expected, since later rounds are shorter.
    fn next_round_s(&self, round: u32, trials: &[TrialRecord]) -> f64 {
        let spent = self.spent();
        if let Some((before, until)) = self.ended
            && before + 1 == round
        {
            let measured = trials.iter().filter(|trial| trial.round == round).count().max(1);
            let all = self.plan.entries.len().max(measured);
            return spent.saturating_sub(until).as_secs_f64() * all as f64 / measured as f64;
        }
        let expected_s = |round| self.plan.expected_round(round).as_secs_f64();
        let so_far: f64 = (0..=round).map(expected_s).sum();
        spent.as_secs_f64() * expected_s(round + 1) / so_far
    }

    fn decide(&mut self, round: u32) -> Result<NextRound, CommandError> {
        let trials = self.store.trials(&self.record.id)?;
        let found = summary(self.record, &trials)?;
        let groups = self.continuing(found.groups, round + 1);
        let is_of_starts = self.plan.design == Design::Starts;
        let rule = StopRule {
            precision: self.plan.precision,
            fewest_rounds: if is_of_starts {
                FEWEST_STARTS
            } else {
                FEWEST_ROUNDS
            },
            fewest_for_leaving_out: if is_of_starts {
                FEWEST_STARTS
            } else {
                FEWEST_FOR_LEAVING_OUT
            },
            most_rounds: self.plan.rounds,
            budget_s: self.plan.budget_ns.map(|ns| ns as f64 / 1e9),
        };
        let progress = RunProgress {
            rounds: round + 1,
            spent_s: self.spent().as_secs_f64(),
            next_round_s: self.next_round_s(round, &trials),
        };
        self.ended = Some((round, self.spent()));
        Ok(match next_round(&groups, &rule, &progress) {
            Decision::All => NextRound::All,
            Decision::Only(open) => NextRound::Only(self.unsettled(&groups, &open)),
            Decision::Stop(StopReason::Precision) => NextRound::End(RunEnd::Precise),
            Decision::Stop(StopReason::Budget) => NextRound::End(RunEnd::BudgetSpent),
            Decision::Stop(StopReason::Rounds | StopReason::NothingLeft) => NextRound::End(RunEnd::Complete),
        })
    }

    /// The groups that take part in this round: others have all of their trials, and decide nothing any more.
    fn continuing(&self, groups: Vec<Group>, round: u32) -> Vec<Group> {
        let is_over = |group: &Group| {
            let mut planned = self.plan.groups.iter();
            let own = planned.find(|planned| {
                planned.contract == group.contract
                    && planned.workload == group.workload
                    && planned.load_record() == group.load
            });
            own.and_then(|own| own.rounds)
                .is_some_and(|rounds| round >= rounds)
        };
        groups.into_iter().filter(|group| !is_over(group)).collect()
    }

    /// The entries of the plan that need more rounds: not measured yet, or among the open ones.
    fn unsettled(&self, groups: &[Group], open: &[(usize, ServiceId)]) -> BTreeSet<usize> {
        let settled = |entry: &prony_config::Entry| {
            let planned = self.plan.group_of(entry);
            let load = planned.load_record();
            let index = groups.iter().position(|group| {
                group.contract == planned.contract && group.workload == planned.workload && group.load == load
            });
            index.is_some_and(|index| {
                let mut rows = groups[index].services.iter();
                let row = rows.find(|row| row.id.service == entry.service && row.id.variant == entry.variant);
                row.is_some_and(|row| {
                    let measured = row.excluded.is_none() && row.trials > 0;
                    measured && !open.iter().any(|(group, id)| *group == index && *id == row.id)
                })
            })
        };
        let entries = self.plan.entries.iter().enumerate();
        entries
            .filter(|(_, entry)| !settled(entry))
            .map(|(index, _)| index)
            .collect()
    }
}

impl Journal for RunObserver<'_> {
    fn history(&mut self) -> Result<Vec<TrialRecord>, JournalError> {
        let trials = self.store.trials(&self.record.id);
        let mut trials = trials.map_err(|error| JournalError(error.to_string()))?;
        if self.earlier.retry_failed {
            trials.retain(|trial| trial.result.is_ok() || trial.void().is_some());
        }
        Ok(trials)
    }

    fn time_spent(&self) -> Duration {
        self.earlier.spent
    }

    fn progress(&mut self, mut progress: Progress) {
        secrets::mask_progress(&mut progress);
        self.store_progress(&progress);
        match &progress {
            Progress::Checked(check) => self.checks.add(check),
            Progress::LeavesOut { entries, .. } => self.left_out.extend(entries),
            _ => {}
        }
        self.observer.progress(&progress);
    }

    fn provisional(&mut self, record: &TrialRecord) -> Result<(), JournalError> {
        let sequence = self.store_trial(record)?;
        self.provisional.insert(record.number, sequence);
        Ok(())
    }

    fn append(&mut self, record: &TrialRecord) -> Result<(), JournalError> {
        self.store_trial(record)?;
        self.checks.ended(record);
        let Some(mut matrix) = self.checks.take_changed() else {
            return Ok(());
        };
        secrets::mask_matrix(&mut matrix);
        let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        // Without the matrix the report lacks a page, but no measurement is lost.
        if let Err(error) = self.store.keep_check_matrix(&self.record.id, &now, &matrix) {
            self.observer
                .message(&format!("the results of the checks were not stored: {error}"));
        }
        Ok(())
    }

    fn warnings_of(&self, loads: &[&Recording]) -> Vec<Warning> {
        self.network_warning(loads).into_iter().collect()
    }

    fn next_round(&mut self, done: u32) -> NextRound {
        if done == 0 {
            // A hint is not worth failing for.
            let _ = self.check_first_round();
        }
        // Continue if there are too few results for statistics.
        self.decide(done).unwrap_or(NextRound::All)
    }
}
