//! The steps of a search: a warm-up at the first rate, probes, and a long recorded measurement at the rate that they found. If that
//! misses the objective, the search goes on below, and another one is recorded instead.

use super::search::{CapacitySearch, SearchPlan, SearchStep};
use super::{misses, under_way};
use crate::CommandError;
use crate::history::TrialId;
use crate::schedule::{LoadId, LoadRun, Outcome, Purpose, Step, StepResult, WarmUp};
use prony_config::{Plan, PlannedTrial, WarmUpChoice};
use prony_load::{Arrival, Condition, Load, Profile, Search};
use prony_records::{Fault, Recording, Warning, WarningKind};
use std::time::Duration;

/// Part of each step before it counts: connections are made, and what the last rate left over is answered.
const SETTLING: u64 = 4;
/// Requests that a step has, at least.
const FEWEST_REQUESTS: f64 = 100.0;
/// Requests beyond the highest percentile of the objective, at least.
const BEYOND_PERCENTILE: f64 = 10.0;
/// A rate at which this is too short for the requests of a step cannot be judged, s.
const LONGEST_STEP_S: f64 = 60.0;
/// The recorded measurement has this many times the requests of a step.
const MORE_REQUESTS: f64 = 10.0;
const LONGEST_MEASUREMENT_NS: u64 = 600_000_000_000;
/// Tries of a rate that misses the objective in a short step: once may be a moment of another program. Long steps and the recorded
/// measurement have one try.
const TRIES: u32 = 2;
/// Such a step is long, s.
const LONG_STEP_S: f64 = 5.0;
/// Requests that are lost at a rate and at one that is lower by this factor are not lost for the load …
const FAR_BELOW: f64 = 3.0;
/// … if their share is at least this part of that above,
const ALIKE: f64 = 0.5;
/// and at least this.
const LOST: f64 = 0.01;

/// The search of one trial.
#[derive(Debug, Clone, Copy)]
pub struct CapacitySteps<'a> {
    trial: TrialId,
    entry: LoadId,
    load: &'a Load,
    search: &'a Search,
    /// `None`: the server runs already, and each load warms it up itself.
    warm_up: Option<WarmUpChoice>,
    /// Length of the recorded measurement, ns.
    duration_ns: u64,
}

/// A rate that did not meet the objective.
#[derive(Debug, Clone, PartialEq)]
struct MissedRate {
    rate: f64,
    why: String,
    saturated: bool,
}

/// The search as far as its results go.
struct SearchProgress {
    search: CapacitySearch,
    last_miss: Option<MissedRate>,
    /// The last rate that missed, and its share of requests without a valid reply.
    last_lost: Option<(f64, f64)>,
    /// Requests by which a rate can be judged.
    fewest_requests: f64,
    /// Misses in a row at the rate that is tried.
    tries: u32,
    /// Whether no rate has been tried yet.
    is_first: bool,
    /// Whether the contract was not checked before.
    is_unchecked: bool,
    /// Why nothing can be found.
    given_up: Option<(Fault, String)>,
}

impl<'a> CapacitySteps<'a> {
    /// The search of a trial; `None`: its load has a rate.
    pub(in super::super) fn of(plan: &'a Plan, planned: PlannedTrial) -> Option<Self> {
        let group = plan.group_of(&plan.entries[planned.entry]);
        let search = group.search.as_ref()?;
        Some(Self {
            trial: planned.number,
            entry: planned.entry,
            load: &group.load,
            search,
            warm_up: Some(group.warm_up),
            duration_ns: group.duration_ns,
        })
    }

    /// The search of a server that runs already. `confirm`: the length of the measurement at the rate that was found.
    pub const fn running(load: &'a Load, search: &'a Search, confirm: Duration) -> Self {
        Self {
            trial: 0,
            entry: 0,
            load,
            search,
            warm_up: None,
            duration_ns: confirm.as_nanos() as u64,
        }
    }

    /// How the search ended, or what it would try next.
    pub(super) fn end(&self, results: &[StepResult]) -> SearchStep {
        one_rate(self.load).map_or(SearchStep::None, |start| {
            self.course(start, results).search.next()
        })
    }

    /// Judges a rate. The error says what the machine made impossible.
    pub(super) fn judge(
        &self,
        rate: f64,
        recording: &Recording,
    ) -> Result<(Vec<String>, bool), CommandError> {
        misses(&self.search.objective, recording, rate, under_way(self.load))
    }

    /// The step after these.
    pub(in super::super) fn next(&self, results: &[StepResult]) -> Option<Step> {
        let Some(last) = results.last() else {
            return Some(Step::Start(0));
        };
        if !last.is_done() {
            return None;
        }
        let Some(start) = one_rate(self.load) else {
            let text = "a search for a rate begins at that of an open load that stays the same, and the plan has another load";
            return Some(Step::GiveUp(0, Fault::Service, text.to_owned()));
        };
        match &last.step {
            Step::Start(_) => Some(Step::Check(0)),
            Step::Check(_) => Some(match self.warm_up {
                Some(warm_up) => {
                    // Long measurements are judged by their objective: a service need not be stable for all of one.
                    let run = self.run(start, self.search.step_ns, self.recorded());
                    Step::WarmUp(vec![run], WarmUp::Planned(warm_up))
                }
                None => self.try_next(self.course(start, results)),
            }),
            Step::WarmUp(runs, WarmUp::Settle(_)) => Some(Step::Measure(runs.clone())),
            Step::WarmUp(..) | Step::Measure(_) => Some(self.try_next(self.course(start, results))),
            Step::Warn(..) => Some(Step::Recheck(0)),
            Step::Recheck(_) => Some(Step::Stop(0)),
            Step::AwaitIdle(_)
            | Step::Evict(_)
            | Step::FindFiles(_)
            | Step::Rest(..)
            | Step::RecordStart(_)
            | Step::Pause(_)
            | Step::Resume(_)
            | Step::GiveUp(..)
            | Step::Stop(_) => None,
        }
    }

    const fn recorded(&self) -> Purpose {
        Purpose::Record(self.trial)
    }

    fn run(&self, rate: f64, length_ns: u64, purpose: Purpose) -> LoadRun {
        LoadRun {
            slot: 0,
            load: self.entry,
            rate: Some(rate),
            length: Duration::from_nanos(length_ns),
            purpose,
            window: None,
            path: None,
        }
    }

    fn settled(&self, run: LoadRun) -> Step {
        let settling = Duration::from_nanos(self.search.step_ns / SETTLING);
        Step::WarmUp(vec![run], WarmUp::Settle(settling))
    }

    fn try_next(&self, course: SearchProgress) -> Step {
        if let Some((fault, reason)) = course.given_up {
            return Step::GiveUp(0, fault, reason);
        }
        match course.search.next() {
            SearchStep::Try(rate) => {
                let is_check = course.is_first && course.is_unchecked;
                let length_ns = if is_check {
                    self.search.step_ns
                } else {
                    self.length_ns(rate)
                };
                self.settled(self.run(rate, length_ns, Purpose::Probe))
            }
            SearchStep::TooFewRequests(rate) => Step::GiveUp(0, Fault::Service, self.inconclusive(rate)),
            SearchStep::Confirm(rate) => {
                self.settled(self.run(rate, self.measurement_ns(rate), self.recorded()))
            }
            SearchStep::Found(_) | SearchStep::Beyond(_) => Step::Warn(0, doubts(course)),
            SearchStep::None => Step::GiveUp(0, Fault::Service, nothing_met(course.last_miss.as_ref())),
        }
    }

    /// Requests by which a rate can be judged: at least ten lie beyond each percentile of the objective.
    fn requests(&self) -> f64 {
        let needed = |condition: &Condition| match condition {
            Condition::Quantile { quantile, .. } => BEYOND_PERCENTILE / (1.0 - quantile).max(1e-9),
            _ => 0.0,
        };
        let conditions = self.search.objective.conditions().iter();
        conditions.map(needed).fold(FEWEST_REQUESTS, f64::max)
    }

    /// Length of a step, ns.
    fn length_ns(&self, rate: f64) -> u64 {
        let enough_ns = (self.requests() / rate * 1e9) as u64;
        enough_ns.max(self.search.step_ns)
    }

    /// Length of the recorded measurement, ns.
    fn measurement_ns(&self, rate: f64) -> u64 {
        let enough_ns = (MORE_REQUESTS * self.requests() / rate * 1e9) as u64;
        enough_ns.min(LONGEST_MEASUREMENT_NS).max(self.duration_ns)
    }

    fn inconclusive(&self, rate: f64) -> String {
        format!(
            "inconclusive: at {rate:.1}/s a minute has fewer than the {:.0} requests that its objective needs",
            self.requests()
        )
    }

    fn course(&self, start: f64, results: &[StepResult]) -> SearchProgress {
        let mut course = SearchProgress {
            search: CapacitySearch::new(SearchPlan {
                start,
                limit: self.search.limit.as_per_second(),
                lowest: self.requests() / LONGEST_STEP_S,
                precision: self.search.precision,
            }),
            last_miss: None,
            last_lost: None,
            fewest_requests: self.requests(),
            tries: 0,
            is_first: true,
            is_unchecked: self.warm_up.is_none(),
            given_up: None,
        };
        for result in results {
            if let (Step::Measure(runs), Outcome::Measured(recordings)) = (&result.step, &result.outcome)
                && let (Some(rate), Some(recording)) = (runs[0].rate, recordings.first())
            {
                let is_probe = runs[0].purpose == Purpose::Probe;
                course.take((rate, is_probe), recording, self.miss(rate, recording));
            }
        }
        course
    }

    /// How a rate missed the objective. The error says what the machine made impossible.
    fn miss(&self, rate: f64, recording: &Recording) -> Result<Option<MissedRate>, String> {
        let (missed, _) = self.judge(rate, recording).map_err(|error| error.to_string())?;
        let saturated = recording.generator.saturated;
        Ok(missed
            .into_iter()
            .next()
            .map(|why| MissedRate { rate, why, saturated }))
    }
}

/// What a reader must know of the rate that was found.
fn doubts(course: SearchProgress) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if matches!(course.search.next(), SearchStep::Beyond(_)) {
        let text = "Met the objective at the highest rate tried.";
        warnings.push(Warning::new(WarningKind::Note, text).advise("Raise `limit`."));
    }
    if course.last_miss.is_some_and(|miss| miss.saturated) {
        let text = "The generator was the limit above this rate; capacity may be higher.";
        let advice = "Use more threads (-t) or CPUs of its own (--cpus).";
        warnings.push(Warning::new(WarningKind::GeneratorSaturated, text).advise(advice));
    }
    warnings
}

impl SearchProgress {
    fn take(
        &mut self,
        (rate, is_probe): (f64, bool),
        recording: &Recording,
        miss: Result<Option<MissedRate>, String>,
    ) {
        let miss = match miss {
            Ok(miss) => miss,
            Err(reason) => {
                self.given_up = Some((Fault::Infrastructure, reason));
                return;
            }
        };
        let is_met = miss.is_none();
        self.last_miss = miss.or(self.last_miss.take());
        let is_check = std::mem::take(&mut self.is_first) && self.is_unchecked;
        // A server that prony did not start has not passed its contract: it may be the wrong one.
        if is_check && recording.outcomes.valid == 0 {
            self.given_up = Some((Fault::Service, nothing_met(self.last_miss.as_ref())));
            return;
        }
        let due = recording.due() as f64;
        if is_check && due < self.fewest_requests {
            return;
        }
        if !is_probe {
            self.search.take_confirmation(rate, is_met);
            return;
        }
        self.tries += 1;
        if is_met || self.tries == TRIES || recording.duration_s >= LONG_STEP_S {
            self.tries = 0;
            self.search.take(rate, is_met);
            if !is_met {
                self.lose(rate, 1.0 - recording.outcomes.valid as f64 / due.max(1.0));
            }
        }
    }

    /// Ends the search if requests are lost at a far lower rate, too: then it is not for the load.
    fn lose(&mut self, rate: f64, lost: f64) {
        let is_alike = |(above, lost_above): (f64, f64)| {
            rate <= above / FAR_BELOW && lost >= ALIKE * lost_above && lost >= LOST
        };
        if self.last_lost.is_some_and(is_alike) {
            self.search.end();
        }
        self.last_lost = Some((rate, lost));
    }
}

fn nothing_met(last: Option<&MissedRate>) -> String {
    match last {
        Some(miss) => format!("no rate meets the objective: at {:.0}/s {}", miss.rate, miss.why),
        None => "no rate meets the objective".to_owned(),
    }
}

/// The rate of an open load that stays the same: where the search begins.
const fn one_rate(load: &Load) -> Option<f64> {
    match load {
        Load::Open {
            arrival:
                Arrival {
                    profile: Profile::Constant { rate },
                    ..
                },
            ..
        } => Some(rate.as_per_second()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{good, plan, recording, steps, words};
    use super::super::Capacity;
    use super::*;
    use prony_load::{Rate, Spacing};

    fn searching() -> Plan {
        let mut plan = plan(&["a"], &[1], 1);
        let rate = |per_s| Rate::per_second(per_s).expect("a rate");
        plan.groups[0].load = Load::Open {
            arrival: Arrival {
                profile: Profile::Constant { rate: rate(100.0) },
                spacing: Spacing::Even,
            },
            connections: 4,
            in_flight: 1,
            backlog: 10,
            members: None,
        };
        plan.groups[0].search = Some(Search {
            objective: "errors<1%".parse().expect("an objective"),
            limit: rate(10_000.0),
            precision: 0.5,
            step_ns: 1_000_000_000,
        });
        plan
    }

    /// The steps of a search where a service carries this many requests per second.
    fn search(capacity: f64) -> Vec<Step> {
        let plan = searching();
        let design = Capacity { plan: &plan };
        let block = Capacity::block(plan.round(0)[0]);
        let mut carries = |step: &Step| match step {
            Step::Measure(runs) => {
                let rate = runs[0].rate.expect("a rate");
                let due = rate.round() as u64;
                let valid = if rate <= capacity { due } else { due * 6 / 10 };
                Outcome::Measured(vec![recording(due, valid)])
            }
            other => good(other),
        };
        steps(&design, &block, None, &mut carries)
    }

    fn rates(steps: &[Step]) -> Vec<u32> {
        let measured = steps.iter().filter_map(|step| match step {
            Step::Measure(runs) => runs[0].rate,
            _ => None,
        });
        measured.map(|rate| rate.round() as u32).collect()
    }

    #[test]
    fn rates_double_until_one_is_missed_twice_and_what_is_found_is_measured_for_long() {
        let steps = search(250.0);
        assert!(
            words(&steps).starts_with("start 0, check 0, warm 0, warm 0, measure 0"),
            "{}",
            words(&steps)
        );
        assert!(
            words(&steps).ends_with("measure 0, warn 0, recheck 0, stop 0"),
            "{}",
            words(&steps)
        );
        // 283 is half way between 200 and 400 by ratio.
        assert_eq!(rates(&steps), [100, 200, 400, 400, 283, 283, 200]);
        let recorded = steps
            .iter()
            .filter(|step| matches!(step, Step::Measure(runs) if runs[0].purpose != Purpose::Probe));
        assert_eq!(recorded.count(), 1);
    }

    #[test]
    fn a_service_that_meets_no_rate_is_given_up_with_the_reason() {
        let steps = search(0.5);
        let Some(Step::GiveUp(0, Fault::Service, reason)) = steps.last() else {
            panic!("{}", words(&steps))
        };
        let reached = "no rate meets the objective: at 25/s errors 40.0 %";
        assert!(reason.starts_with(reached), "{reason}");
        // A quarter of the first rate loses as many requests: lower ones are not tried.
        assert_eq!(rates(&steps), [100, 100, 25, 25]);
    }

    #[test]
    fn a_fault_of_the_machine_ends_the_search() {
        let plan = searching();
        let design = Capacity { plan: &plan };
        let block = Capacity::block(plan.round(0)[0]);
        let mut broken = |step: &Step| match step {
            Step::Measure(_) => {
                let mut nothing = recording(0, 0);
                nothing.connections.established = 0;
                nothing.warnings = nothing.failure(None).into_iter().collect();
                Outcome::Measured(vec![nothing])
            }
            other => good(other),
        };
        let steps = steps(&design, &block, None, &mut broken);
        assert!(
            matches!(steps.last(), Some(Step::GiveUp(0, Fault::Infrastructure, _))),
            "{}",
            words(&steps)
        );
    }
}
