//! What a run does with what happens: keeps each trial, shows it, decides after each round whether another one is wanted.

use super::checks::Checks;
use super::{SessionObserver, environment_warnings, exclusions, summary};
use crate::CommandError;
use crate::testbed::network_bound;
use crate::{Journal, JournalError, NextRound, Noise, Progress, RunEnd};
use prony_config::Plan;
use prony_records::{RunRecord, ServiceId, TrialRecord, Warning};
use prony_statistics::{Decision, Group, Progress as RunProgress, StopReason, StopRule, next_round};
use prony_store::{Progress as StoredProgress, Store};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant, SystemTime};

/// Rounds before a stop for precision is considered.
const FEWEST_ROUNDS: u32 = 5;
/// Time between two notes of the progress in the store.
const NOTE_EVERY: Duration = Duration::from_millis(500);

pub(super) struct RunObserver<'a> {
    store: &'a Store,
    record: &'a RunRecord,
    plan: &'a Plan,
    shows: &'a mut dyn SessionObserver,
    began: Instant,
    noted: Option<Instant>,
    now: StoredProgress,
    checks: Checks<'a>,
    /// The entries of the plan that were left out of rounds, by their index.
    left_out: BTreeSet<usize>,
    /// CPUs of the machine.
    cpus: usize,
    /// What the first round said of the machine.
    hint: Option<Warning>,
    /// The numbers of the provisional records of this session, by the places of their trials.
    provisional: BTreeMap<u32, i64>,
}

impl<'a> RunObserver<'a> {
    pub(super) fn new(
        store: &'a Store,
        (record, plan): (&'a RunRecord, &'a Plan),
        cpus: usize,
        shows: &'a mut dyn SessionObserver,
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
        };
        Self {
            store,
            record,
            plan,
            shows,
            began: Instant::now(),
            noted: None,
            now,
            checks,
            left_out: BTreeSet::new(),
            cpus,
            hint: None,
            provisional: BTreeMap::new(),
        }
    }

    pub(super) fn done(&mut self) {
        self.shows.done();
    }

    /// Keeps up what those see who watch from another process. A note that fails costs nothing but that.
    fn note(&mut self, progress: &Progress) {
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
                self.noted = None;
            }
            Progress::Phase(phase) => {
                self.now.phase = Some(*phase);
                self.now.step = None;
                self.now.lost = None;
                self.noted = None;
            }
            Progress::Interval { interval, .. } => {
                self.now.throughput_per_s = Some(interval.throughput_per_s());
                self.now.response_time_ns_p99 = interval.response_time_ns_p99;
            }
            Progress::Workers(workers) => self.now.workers.clone_from(workers),
            Progress::HostLost(reason) => {
                self.now.lost = Some(reason.clone());
                self.noted = None;
            }
            Progress::Ended(_) => {
                self.now.done += 1;
                self.now.workers.clear();
            }
            _ => return,
        }
        if self.noted.is_none_or(|noted| noted.elapsed() >= NOTE_EVERY) {
            self.now.at = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
            let _ = self.store.set_progress(&self.record.id, &self.now);
            self.noted = Some(Instant::now());
        }
    }

    /// A trial with the warning that the network was its limit, where it was.
    fn with_network(&self, record: &TrialRecord) -> TrialRecord {
        let mut record = record.clone();
        let environment = &self.record.environment;
        let mut hosts = environment.hosts.iter();
        let service = hosts.find(|(_, host)| host.roles.iter().any(|role| role == "service"));
        if let (Some((service, _)), Ok(measurement)) = (service, &mut record.result) {
            let bound = network_bound(&[&measurement.recording], &environment.links, service);
            measurement.warnings.extend(bound);
        }
        record
    }

    /// Keeps a trial, in the place of its provisional record where there is one.
    fn keep(&mut self, record: &TrialRecord) -> Result<i64, JournalError> {
        let (run, warned) = (&self.record.id, self.with_network(record));
        let kept = match self.provisional.remove(&record.place) {
            Some(before) => self.store.replace_trial(run, before, &warned),
            None => self.store.append_trial(run, &warned),
        };
        kept.map_err(|error| JournalError(error.to_string()))
    }

    /// Removes what was provisional when the run ended in order: the user ended those trials.
    pub(super) fn discard_provisional(&mut self) -> Result<(), CommandError> {
        for sequence in std::mem::take(&mut self.provisional).into_values() {
            self.store.remove_trial(&self.record.id, sequence)?;
        }
        Ok(())
    }

    /// What a reader must know of the run as a whole.
    pub(super) fn warnings(&self) -> Result<Vec<Warning>, CommandError> {
        let trials = self.store.trials(&self.record.id)?;
        let mut warnings = exclusions::notes(self.plan, &self.left_out, &trials);
        warnings.extend(self.hint.clone());
        Ok(warnings)
    }

    /// Says after the first round that turns would serve, where that was not said before the run.
    fn look_at_first_round(&mut self) -> Result<(), CommandError> {
        let known = self.record.warnings.iter().any(environment_warnings::is_one);
        let trials = self.store.trials(&self.record.id)?;
        let seen = trials.iter().filter_map(|trial| Noise::of(trial, self.cpus));
        self.hint = environment_warnings::usual(seen)
            .filter(|_| !known)
            .and_then(|noise| environment_warnings::of(noise, self.plan, "in the first round"));
        self.hint.iter().for_each(|hint| self.shows.says(&hint.text));
        Ok(())
    }

    fn decide(&self, round: u32) -> Result<NextRound, CommandError> {
        let trials = self.store.trials(&self.record.id)?;
        let found = summary(self.record, &trials)?;
        let rule = StopRule {
            precision: self.plan.precision,
            fewest_rounds: FEWEST_ROUNDS,
            most_rounds: self.plan.rounds,
            budget_s: self.plan.budget_ns.map(|ns| ns as f64 / 1e9),
        };
        let spent_s = self.began.elapsed().as_secs_f64();
        let progress = RunProgress {
            rounds: round + 1,
            spent_s,
            next_round_s: spent_s / f64::from(round + 1),
        };
        Ok(match next_round(&found.groups, &rule, &progress) {
            Decision::All => NextRound::All,
            Decision::Only(open) => NextRound::Only(self.unsettled(&found.groups, &open)),
            Decision::Stop(StopReason::Precision) => NextRound::End(RunEnd::Precise),
            Decision::Stop(StopReason::Budget) => NextRound::End(RunEnd::BudgetSpent),
            Decision::Stop(StopReason::Rounds | StopReason::NothingLeft) => NextRound::End(RunEnd::Complete),
        })
    }

    /// The entries of the plan without those that are settled: measured, and not among the open ones.
    fn unsettled(&self, groups: &[Group], open: &[(usize, ServiceId)]) -> BTreeSet<usize> {
        let settled = |entry: &prony_config::Entry| {
            let planned = self.plan.group_of(entry);
            let load = planned.load_record();
            let place = groups.iter().position(|group| {
                group.contract == planned.contract && group.workload == planned.workload && group.load == load
            });
            place.is_some_and(|place| {
                let mut rows = groups[place].services.iter();
                let row = rows.find(|row| row.id.service == entry.service && row.id.variant == entry.variant);
                row.is_some_and(|row| {
                    let measured = row.excluded.is_none() && row.trials > 0;
                    measured && !open.iter().any(|(group, id)| *group == place && *id == row.id)
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
        trials.map_err(|error| JournalError(error.to_string()))
    }

    fn saw(&mut self, progress: Progress) {
        self.note(&progress);
        match &progress {
            Progress::Checked(check) => self.checks.add(check),
            Progress::LeavesOut { entries, .. } => self.left_out.extend(entries),
            _ => {}
        }
        self.shows.saw(&progress);
    }

    fn provisional(&mut self, record: &TrialRecord) -> Result<(), JournalError> {
        let sequence = self.keep(record)?;
        self.provisional.insert(record.place, sequence);
        Ok(())
    }

    fn append(&mut self, record: &TrialRecord) -> Result<(), JournalError> {
        self.keep(record)?;
        self.checks.ended(record);
        let Some(matrix) = self.checks.news() else {
            return Ok(());
        };
        let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        // The trial is kept; a matrix that is not costs a page of the report, and no measurement.
        if let Err(error) = self.store.keep_check_matrix(&self.record.id, &now, &matrix) {
            self.shows
                .says(&format!("what the checks found is not kept: {error}"));
        }
        Ok(())
    }

    fn next_round(&mut self, done: u32) -> NextRound {
        if done == 0 {
            // A hint that cannot be given costs nothing but that.
            let _ = self.look_at_first_round();
        }
        // Numbers that cannot be computed yet are no reason to stop.
        self.decide(done).unwrap_or(NextRound::All)
    }
}
