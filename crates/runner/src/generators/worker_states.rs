//! The states of workers during a load, for the live view.

use prony_records::{Event, Phase, WorkerNow, WorkerState};
use std::time::{Duration, Instant};

/// Length in seconds of the intervals over which a rate is reported.
const TELLING_S: f64 = 0.5;
/// Interval at which the states are checked.
const LOOK: Duration = Duration::from_millis(100);
/// Interval between reports while no state changes.
const EVERY: Duration = Duration::from_millis(500);
/// A worker that generates load reports ten times per second: after this time without a report it is stalled or unreachable.
const SILENT: Duration = Duration::from_secs(2);

/// The state of one worker, derived from its events.
pub(super) struct WorkerActivity {
    now: WorkerNow,
    last_event: Instant,
    /// Replies since the last rate, and the seconds since then.
    since: (u64, f64),
}

impl WorkerActivity {
    pub(super) fn new(worker: &str) -> Self {
        Self {
            now: WorkerNow {
                name: worker.to_owned(),
                state: WorkerState::Starting,
                throughput_per_s: None,
            },
            last_event: Instant::now(),
            since: (0, 0.0),
        }
    }

    pub(super) fn record(&mut self, event: &Event) {
        self.last_event = Instant::now();
        match event {
            Event::Phase { phase, .. } => self.state(match phase {
                Phase::WarmUp => WorkerState::WarmUp,
                Phase::Measurement => WorkerState::Measurement,
                Phase::Drain => WorkerState::Drain,
            }),
            Event::Interval { interval, .. } => self.interval(interval.completed, interval.length_s),
            Event::IntervalPart { part, .. } => {
                let length = part.end_ns.saturating_sub(part.begin_ns);
                self.interval(part.completed, length as f64 / 1e9);
            }
            Event::Part { .. } | Event::Recording { .. } | Event::Failed { .. } => {
                self.state(WorkerState::Done);
            }
            Event::Workers { .. } => {}
        }
    }

    fn state(&mut self, state: WorkerState) {
        self.now.state = state;
        if !makes_load(state) {
            self.now.throughput_per_s = None;
            self.since = (0, 0.0);
        }
    }

    fn interval(&mut self, completed: u64, length_s: f64) {
        if !makes_load(self.now.state) {
            return;
        }
        self.since = (self.since.0 + completed, self.since.1 + length_s);
        let (completed, length_s) = self.since;
        if length_s >= TELLING_S {
            self.now.throughput_per_s = Some(completed as f64 / length_s);
            self.since = (0, 0.0);
        }
    }

    pub(super) fn now(&self) -> WorkerNow {
        self.at(Instant::now())
    }

    fn at(&self, now: Instant) -> WorkerNow {
        let is_quiet = now.saturating_duration_since(self.last_event) > SILENT;
        if !is_quiet || !makes_load(self.now.state) {
            return self.now.clone();
        }
        WorkerNow {
            name: self.now.name.clone(),
            state: WorkerState::Silent,
            throughput_per_s: None,
        }
    }
}

const fn makes_load(state: WorkerState) -> bool {
    matches!(state, WorkerState::WarmUp | WorkerState::Measurement)
}

/// The states that were last reported, and when.
#[derive(Default)]
pub(super) struct WorkerStates {
    reported: Vec<WorkerNow>,
    reported_at: Option<Instant>,
    checked_at: Option<Instant>,
}

impl WorkerStates {
    /// The states to report now, if any: changes of a state promptly, rates at intervals.
    pub(super) fn news(&mut self, workers: impl FnOnce() -> Vec<WorkerNow>) -> Option<Event> {
        let now = Instant::now();
        let is_past = |then: Option<Instant>, wait| then.is_none_or(|then| now.duration_since(then) >= wait);
        if !is_past(self.checked_at, LOOK) {
            return None;
        }
        self.checked_at = Some(now);
        let workers = workers();
        let states = |workers: &[WorkerNow]| -> Vec<WorkerState> {
            workers.iter().map(|worker| worker.state).collect()
        };
        let is_due = states(&workers) != states(&self.reported) || is_past(self.reported_at, EVERY);
        if !is_due || workers == self.reported {
            return None;
        }
        self.reported_at = Some(now);
        self.reported.clone_from(&workers);
        Some(Event::Workers { workers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_records::{CompactHistogram, Histogram, IntervalPart};

    fn part(completed: u64) -> Event {
        Event::IntervalPart {
            phase: Phase::Measurement,
            part: IntervalPart {
                index: 0,
                begin_ns: 0,
                end_ns: 100_000_000,
                completed,
                valid: completed,
                errors: 0,
                failures: Box::default(),
                messages: None,
                times: CompactHistogram::of(&Histogram::new()),
            },
        }
    }

    fn phase(phase: Phase) -> Event {
        Event::Phase {
            phase,
            established: 1,
        }
    }

    #[test]
    fn a_worker_is_followed_through_its_load() {
        let mut doing = WorkerActivity::new("one");
        let state_of = |doing: &WorkerActivity| (doing.now().state, doing.now().throughput_per_s);
        assert_eq!(state_of(&doing), (WorkerState::Starting, None));
        doing.record(&phase(Phase::Measurement));
        for _ in 0..5 {
            assert_eq!(state_of(&doing), (WorkerState::Measurement, None));
            doing.record(&part(20));
        }
        assert_eq!(state_of(&doing), (WorkerState::Measurement, Some(200.0)));
        let later = doing.at(Instant::now() + 2 * SILENT);
        assert_eq!((later.state, later.throughput_per_s), (WorkerState::Silent, None));
        doing.record(&phase(Phase::Drain));
        assert_eq!(state_of(&doing), (WorkerState::Drain, None));
        assert_eq!(
            doing.at(Instant::now() + 2 * SILENT).state,
            WorkerState::Drain,
            "nothing to report"
        );
        doing.record(&Event::Part { part: String::new() });
        assert_eq!(state_of(&doing), (WorkerState::Done, None));
    }

    #[test]
    fn what_did_not_change_is_told_once() {
        let mut roster = WorkerStates::default();
        let workers = || vec![WorkerActivity::new("one").now()];
        assert!(matches!(roster.news(workers), Some(Event::Workers { workers }) if workers.len() == 1));
        roster.checked_at = None;
        roster.reported_at = None;
        assert_eq!(roster.news(workers), None);
    }
}
