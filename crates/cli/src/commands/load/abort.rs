//! `--abort-on-miss`: ends a load once its objective can no longer be met.
//!
//! A percentile is missed for certain once more requests are known to be slower, or to have no
//! valid reply, than its share of all requests that the load will send. That number is known for loads with a rate, for users and
//! with `-n`. For other closed loads it is at most what was sent, and for the rest of the time twice the highest rate of any
//! interval: a service that becomes more than twice as fast could have met the objective. `goodput` and the conditions of streams
//! are judged at the end.

use prony_load::{Condition, Job, Load, Objective, Order};
use prony_records::{Command, CompactHistogram, Event, Histogram, Interval, Phase};
use std::sync::mpsc::Sender;

/// How many times the highest rate so far the rest of a closed load may reach.
const FASTER: f64 = 2.0;

/// The number of requests that a load will send.
enum Plan {
    Known(f64),
    /// It ends after this time, s.
    Until(f64),
}

/// Watches a load.
pub(super) struct AbortRule {
    conditions: Vec<Condition>,
    plan: Plan,
    errors: u64,
    times: Histogram,
    elapsed_s: f64,
    highest_per_s: f64,
    decided_s: Option<f64>,
    commands: Sender<Command>,
}

impl AbortRule {
    pub(super) fn new(job: &Job, objective: &Objective, commands: Sender<Command>) -> Self {
        let length_s = job.phases.measurement_ns as f64 / 1e9;
        // A sequence is due as a whole.
        let steps = match &job.workload.order {
            Order::Sequence(steps) => steps.len() as f64,
            Order::Mix(_) => 1.0,
        };
        let plan = match (&job.load, job.limits.requests) {
            (_, Some(requests)) => Plan::Known(requests as f64),
            (Load::Closed { .. }, None) => Plan::Until(length_s),
            (Load::Open { arrival, .. }, None) => {
                Plan::Known(arrival.profile.events_within(length_s).ceil() * steps)
            }
            (
                Load::Users {
                    arrival,
                    requests_per_user,
                    ..
                },
                None,
            ) => Plan::Known(arrival.profile.events_within(length_s).ceil() * f64::from(*requests_per_user)),
        };
        Self {
            conditions: objective.conditions().to_vec(),
            plan,
            errors: 0,
            times: Histogram::new(),
            elapsed_s: 0.0,
            highest_per_s: 0.0,
            decided_s: None,
            commands,
        }
    }

    /// When the objective was certain to be missed, s.
    pub(super) const fn decided_s(&self) -> Option<f64> {
        self.decided_s
    }

    /// Takes an event of the load, and ends it once the objective is missed.
    pub(super) fn take(&mut self, event: &Event) {
        if let Event::Interval {
            phase: Phase::Measurement,
            interval,
            times,
            ..
        } = event
        {
            self.add(interval, times);
            let total = self.most_requests();
            let is_missed = |condition: &Condition| self.is_missed(*condition, total);
            if self.decided_s.is_none() && self.conditions.iter().any(is_missed) {
                self.decided_s = Some(self.elapsed_s);
                // The load may just have ended by itself.
                let _ = self.commands.send(Command::Stop);
            }
        }
    }

    fn add(&mut self, interval: &Interval, times: &CompactHistogram) {
        self.errors += interval.errors;
        times.add_to(&mut self.times);
        self.elapsed_s = interval.start_s + interval.length_s;
        let ended = (interval.valid + interval.errors) as f64;
        self.highest_per_s = self.highest_per_s.max(ended / interval.length_s.max(1e-9));
    }

    /// The largest number of requests that the load can have in the end.
    fn most_requests(&self) -> f64 {
        let ended = (self.errors + self.times.len()) as f64;
        match self.plan {
            Plan::Known(all) => all.max(ended),
            Plan::Until(end_s) => ended + FASTER * self.highest_per_s * (end_s - self.elapsed_s).max(0.0),
        }
    }

    fn is_missed(&self, condition: Condition, total: f64) -> bool {
        let slow = |below_ns: u64| {
            let buckets = self.times.buckets().filter(|(ns, _)| *ns >= below_ns);
            self.errors + buckets.map(|(_, count)| count).sum::<u64>()
        };
        match condition {
            Condition::Quantile { quantile, below_ns } => {
                slow(below_ns) as f64 > (1.0 - quantile) * total + 1.0
            }
            Condition::Max { below_ns } => slow(below_ns) > 0,
            // One request without a valid reply is slower than any time.
            Condition::Mean { .. } if self.errors > 0 => true,
            Condition::Mean { below_ns } => {
                let sum = self.times.mean().unwrap_or_default() * self.times.len() as f64;
                sum >= below_ns as f64 * total
            }
            Condition::Errors { below } => self.errors > 0 && self.errors as f64 >= below * total,
            Condition::Goodput { .. }
            | Condition::Ttft { .. }
            | Condition::Tpot { .. }
            | Condition::E2el { .. }
            | Condition::Good { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(objective: &str, plan: Plan) -> AbortRule {
        let objective: Objective = objective.parse().expect("an objective");
        AbortRule {
            conditions: objective.conditions().to_vec(),
            plan,
            errors: 0,
            times: Histogram::new(),
            elapsed_s: 0.0,
            highest_per_s: 0.0,
            decided_s: None,
            commands: std::sync::mpsc::channel().0,
        }
    }

    /// Takes a second, and returns the time of the decision.
    fn after(rule: &mut AbortRule, event: &Event) -> Option<f64> {
        rule.take(event);
        rule.decided_s()
    }

    /// A second with this many errors, and valid replies after 1 ms and after 1 s.
    fn second(begin: f64, errors: u64, fast: u64, slow: u64) -> Event {
        let mut times = Histogram::new();
        times.record_many(1_000_000, fast);
        times.record_many(1_000_000_000, slow);
        Event::Interval {
            phase: Phase::Measurement,
            interval: Interval {
                start_s: begin,
                length_s: 1.0,
                valid: fast + slow,
                errors,
                completed: fast + slow,
                messages: None,
                response_time_ns_p50: None,
                response_time_ns_p99: None,
            },
            times: CompactHistogram::of(&times),
            failures: Box::default(),
        }
    }

    #[test]
    fn a_percentile_is_missed_once_too_many_requests_are_slow() {
        let mut p99 = rule("p99<10ms", Plan::Known(1_000.0));
        assert_eq!(after(&mut p99, &second(0.0, 0, 80, 6)), None);
        assert_eq!(after(&mut p99, &second(1.0, 3, 80, 2)), None);
        assert_eq!(after(&mut p99, &second(2.0, 1, 80, 0)), Some(3.0));
        let mut errors = rule("errors<1%", Plan::Known(1_000.0));
        assert_eq!(after(&mut errors, &second(0.0, 9, 80, 0)), None);
        assert_eq!(after(&mut errors, &second(1.0, 1, 80, 0)), Some(2.0));
    }

    #[test]
    fn the_longest_time_and_the_mean_are_certain() {
        let mut longest = rule("max<10ms", Plan::Until(100.0));
        assert_eq!(after(&mut longest, &second(0.0, 0, 100, 0)), None);
        assert_eq!(after(&mut longest, &second(1.0, 0, 100, 1)), Some(2.0));
        let mut mean = rule("mean<10ms", Plan::Known(1_000.0));
        assert_eq!(after(&mut mean, &second(0.0, 0, 100, 5)), None);
        assert_eq!(after(&mut mean, &second(1.0, 0, 100, 5)), Some(2.0));
        let mut failed = rule("mean<10s", Plan::Known(9.0));
        assert_eq!(after(&mut failed, &second(0.0, 1, 1, 0)), Some(1.0));
    }

    #[test]
    fn a_closed_load_may_become_twice_as_fast() {
        let mut p90 = rule("p90<10ms", Plan::Until(4.0));
        // At most 100 + 2 × 100 × 3 requests, of which 70 may be slow.
        assert_eq!(after(&mut p90, &second(0.0, 0, 30, 70)), None);
        assert_eq!(after(&mut p90, &second(1.0, 0, 90, 10)), Some(2.0));
        let mut goodput = rule("goodput>1000", Plan::Until(4.0));
        assert_eq!(after(&mut goodput, &second(3.0, 10, 0, 0)), None);
    }
}
