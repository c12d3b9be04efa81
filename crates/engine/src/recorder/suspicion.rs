//! Reasons to doubt a recording, worked out from its numbers alone.

use prony_measurement::{Latency, Warning, WarningKind};

/// The numbers that are looked at.
#[derive(Debug, Clone, Default)]
pub(crate) struct Evidence {
    pub(crate) load: LoadKind,
    /// Arrivals that were due by the profile in the measurement; absent in a closed load.
    pub(crate) due: Option<f64>,
    /// Arrivals whose requests were sent within the measurement.
    pub(crate) started: u64,
    pub(crate) completed: u64,
    pub(crate) errors: u64,
    pub(crate) requests: u64,
    pub(crate) throughput_per_s: f64,
    pub(crate) response_time_ns: Option<Latency>,
    pub(crate) service_time_ns: Option<Latency>,
    pub(crate) schedule_lag_ns: Option<Latency>,
    pub(crate) connections_asked: u64,
    pub(crate) connections_established: u64,
    pub(crate) in_flight: u64,
    /// Requests that the server lets be under way on one connection, where they are fewer than asked for.
    pub(crate) stream_limit: Option<u32>,
    pub(crate) connect_error: Option<String>,
    pub(crate) closed_by_server: u64,
    pub(crate) sent_again: u64,
    /// How the server broke the protocol, the first time.
    pub(crate) violation: Option<&'static str>,
    /// The busiest thread's share of its CPU, without the time it only looked for something to do.
    pub(crate) busiest_thread: f64,
    /// The most starved thread's share of the time in which it waited for a CPU.
    pub(crate) starved_thread: f64,
    /// Largest jump of the wall clock, ns.
    pub(crate) clock_step_ns: Option<i64>,
}

/// How requests arrive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum LoadKind {
    #[default]
    Closed,
    Open,
    Users,
}

/// Above this share of its CPU a thread is the limit, or near it.
const BUSY: f64 = 0.90;
/// Fewest replies of which a p99 is worth printing: ten of them lie beyond it.
const SAMPLES_FOR_P99: u64 = 1_000;

impl Evidence {
    /// Whether the generator, not the service, was the limit.
    pub(crate) fn is_saturated(&self) -> bool {
        self.busiest_thread + self.starved_thread > BUSY
    }

    /// Every reason to doubt.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        [
            self.saturation(),
            self.lag(),
            self.rate(),
            self.connections(),
            self.streams(),
            self.clock(),
            self.samples(),
            self.littles_law(),
            self.errors(),
            self.closing(),
            self.resending(),
            self.violations(),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn saturation(&self) -> Option<Warning> {
        self.is_saturated().then(|| {
            let starved = if self.starved_thread > 0.1 {
                format!(" and waited {:.0} % of the time for a CPU", self.starved_thread * 100.0)
            } else {
                String::new()
            };
            let meaning = match self.load {
                LoadKind::Closed => "the service may be able to do more than this",
                LoadKind::Open | LoadKind::Users => "response times may hold the generator's own delay",
            };
            Warning::new(
                WarningKind::GeneratorSaturated,
                format!(
                    "the busiest thread of the generator used {:.0} % of a CPU{starved}: {meaning}; give it more \
                     threads (-t) or CPUs of its own (--cpus)",
                    self.busiest_thread * 100.0
                ),
            )
        })
    }

    fn lag(&self) -> Option<Warning> {
        let (lag, response) = (self.schedule_lag_ns?, self.response_time_ns?);
        // What waits in the backlog is the service's delay; the generator's own shows where nothing has to wait.
        let own = lag.p99.min(lag.p50.saturating_mul(100));
        let backlog = self.load == LoadKind::Open && lag.p99 > self.service_time_ns?.p99;
        (own as f64 > response.p50 as f64 / 10.0 && !backlog).then(|| {
            Warning::new(
                WarningKind::ScheduleLag,
                format!(
                    "1 % of the requests were sent {} or more after they were due, more than a tenth of the median \
                     response time of {}",
                    time(lag.p99),
                    time(response.p50)
                ),
            )
        })
    }

    fn rate(&self) -> Option<Warning> {
        let due = self.due?;
        let missing = due - self.started as f64;
        // A count may differ by the one arrival that lies on the edge. More than were due in the measurement may be sent in
        // it: those that had to wait since before.
        (missing > due * 0.005 && missing > 1.5).then(|| {
            Warning::new(
                WarningKind::RateNotHeld,
                format!(
                    "{} of {due:.0} due arrivals were sent within the measurement ({:.2} %): the offered rate was not held",
                    self.started,
                    self.started as f64 / due * 100.0
                ),
            )
        })
    }

    fn connections(&self) -> Option<Warning> {
        let (asked, established) = (self.connections_asked, self.connections_established);
        let missing = self.load != LoadKind::Users && established < asked;
        let reason = self
            .connect_error
            .as_deref()
            .map(|error| format!(" ({error})"))
            .unwrap_or_default();
        (missing || (self.load == LoadKind::Users && self.connect_error.is_some())).then(|| {
            let text = if missing {
                format!(
                    "{established} of {asked} connections were established when the measurement began{reason}"
                )
            } else {
                format!("some users could not connect{reason}")
            };
            Warning::new(WarningKind::ConnectionsNotEstablished, text)
        })
    }

    fn streams(&self) -> Option<Warning> {
        let limit = self.stream_limit?;
        Some(Warning::new(
            WarningKind::StreamsLimited,
            format!(
                "the service lets {limit} requests be under way on one connection (SETTINGS_MAX_CONCURRENT_STREAMS), \
                 where {} were asked for: ask for at most {limit} with --in-flight, and for more connections (-c)",
                self.in_flight
            ),
        ))
    }

    fn clock(&self) -> Option<Warning> {
        let step = self.clock_step_ns?;
        Some(Warning::new(
            WarningKind::ClockStep,
            format!(
                "the machine's clock was set by {} while it ran; durations here come from the monotonic clock, but \
                 times of other logs do not match",
                time(step.unsigned_abs())
            ),
        ))
    }

    fn samples(&self) -> Option<Warning> {
        let few = self.completed > 0 && self.completed < SAMPLES_FOR_P99;
        few.then(|| {
            Warning::new(
                WarningKind::FewSamples,
                format!(
                    "p99 of {} replies rests on fewer than ten of them: measure longer for at least {SAMPLES_FOR_P99}",
                    self.completed
                ),
            )
        })
    }

    /// N = X·R (Little, *A proof for the queuing formula L = λW*, 1961): in a closed load the requests under way are
    /// known, so throughput and mean response time must agree with them.
    fn littles_law(&self) -> Option<Warning> {
        let response = self.response_time_ns?;
        let streams = self.stream_limit.map_or(self.in_flight, u64::from);
        let under_way = (self.connections_established * streams) as f64;
        let enough = self.load == LoadKind::Closed && self.errors == 0 && self.completed >= SAMPLES_FOR_P99;
        let predicted = self.throughput_per_s * response.mean / 1e9;
        let off = predicted / under_way - 1.0;
        (enough && off.abs() > 0.05).then(|| {
            Warning::new(
                WarningKind::LittlesLaw,
                format!(
                    "throughput × mean response time gives {predicted:.1} requests under way where there were \
                     {under_way:.0} ({:+.1} %): time passed that was not measured",
                    off * 100.0
                ),
            )
        })
    }

    fn errors(&self) -> Option<Warning> {
        (self.errors > 0).then(|| {
            let share = self.errors as f64 / self.requests.max(1) as f64 * 100.0;
            Warning::new(
                WarningKind::Errors,
                format!(
                    "{} of {} requests had no valid reply ({share:.2} %)",
                    self.errors, self.requests
                ),
            )
        })
    }

    fn resending(&self) -> Option<Warning> {
        (self.sent_again > 0).then(|| {
            Warning::new(
                WarningKind::Note,
                format!(
                    "{} requests were sent again: the server ended their connections (GOAWAY) or refused them before it \
                     began with them; their response times count from the first time",
                    self.sent_again
                ),
            )
        })
    }

    fn violations(&self) -> Option<Warning> {
        let violation = self.violation?;
        Some(Warning::new(
            WarningKind::Errors,
            format!("connections ended because the server broke the protocol: {violation}"),
        ))
    }

    fn closing(&self) -> Option<Warning> {
        (self.closed_by_server > 0 && self.load != LoadKind::Users).then(|| {
            Warning::new(
                WarningKind::ConnectionClosed,
                format!(
                    "the server closed {} connections after a reply: making them again is part of these numbers",
                    self.closed_by_server
                ),
            )
        })
    }
}

/// A duration as people read it.
fn time(ns: u64) -> String {
    let ns = ns as f64;
    if ns < 1e3 {
        format!("{ns:.0} ns")
    } else if ns < 1e6 {
        format!("{:.1} µs", ns / 1e3)
    } else if ns < 1e9 {
        format!("{:.1} ms", ns / 1e6)
    } else {
        format!("{:.2} s", ns / 1e9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latency(p50: u64, p99: u64) -> Latency {
        Latency {
            mean: p50 as f64,
            min: p50,
            p50,
            p75: p50,
            p90: p50,
            p95: p50,
            p99,
            p99_9: p99,
            p99_99: p99,
            max: p99,
        }
    }

    /// 64 connections, 6,400 replies per second of 10 ms each: nothing to doubt.
    fn closed() -> Evidence {
        Evidence {
            completed: 64_000,
            requests: 64_000,
            throughput_per_s: 6_400.0,
            response_time_ns: Some(latency(10_000_000, 20_000_000)),
            service_time_ns: Some(latency(10_000_000, 20_000_000)),
            connections_asked: 64,
            connections_established: 64,
            in_flight: 1,
            busiest_thread: 0.3,
            ..Evidence::default()
        }
    }

    fn open() -> Evidence {
        Evidence {
            load: LoadKind::Open,
            due: Some(64_000.0),
            started: 64_000,
            schedule_lag_ns: Some(latency(1_000, 20_000)),
            ..closed()
        }
    }

    fn kinds(evidence: &Evidence) -> Vec<WarningKind> {
        evidence.warnings().iter().map(|warning| warning.kind).collect()
    }

    #[test]
    fn good_numbers_are_not_doubted() {
        assert_eq!(kinds(&closed()), []);
        assert_eq!(kinds(&open()), []);
    }

    #[test]
    fn a_thread_that_is_busy_or_kept_from_its_cpu_is_the_limit() {
        let busy = Evidence {
            busiest_thread: 0.95,
            ..closed()
        };
        let starved = Evidence {
            busiest_thread: 0.4,
            starved_thread: 0.55,
            ..open()
        };
        for evidence in [busy, starved] {
            assert!(evidence.is_saturated());
            assert_eq!(kinds(&evidence), [WarningKind::GeneratorSaturated]);
        }
        assert!(!closed().is_saturated());
    }

    #[test]
    fn what_is_sent_late_is_told_unless_the_service_made_it_wait() {
        let late = Evidence {
            schedule_lag_ns: Some(latency(500_000, 2_000_000)),
            ..open()
        };
        assert_eq!(kinds(&late), [WarningKind::ScheduleLag]);
        let waiting = Evidence {
            schedule_lag_ns: Some(latency(500_000_000, 900_000_000)),
            ..open()
        };
        assert_eq!(kinds(&waiting), []);
    }

    #[test]
    fn a_rate_that_is_not_held_is_told() {
        let short = Evidence {
            started: 63_600,
            ..open()
        };
        assert_eq!(kinds(&short), [WarningKind::RateNotHeld]);
        for started in [63_700, 64_500] {
            assert_eq!(kinds(&Evidence { started, ..open() }), []);
        }
    }

    #[test]
    fn time_that_was_not_measured_breaks_littles_law() {
        let lost = Evidence {
            response_time_ns: Some(latency(9_000_000, 20_000_000)),
            ..closed()
        };
        assert_eq!(kinds(&lost), [WarningKind::LittlesLaw]);
    }

    #[test]
    fn the_rest_is_told_too() {
        let cases = [
            (
                WarningKind::ConnectionsNotEstablished,
                Evidence {
                    connections_established: 60,
                    throughput_per_s: 6_000.0,
                    ..closed()
                },
            ),
            (
                WarningKind::StreamsLimited,
                Evidence {
                    in_flight: 250,
                    stream_limit: Some(1),
                    ..closed()
                },
            ),
            (
                WarningKind::ClockStep,
                Evidence {
                    clock_step_ns: Some(-3_000_000_000),
                    ..closed()
                },
            ),
            (
                WarningKind::FewSamples,
                Evidence {
                    completed: 999,
                    ..closed()
                },
            ),
            (
                WarningKind::Errors,
                Evidence {
                    errors: 1,
                    ..closed()
                },
            ),
            (
                WarningKind::ConnectionClosed,
                Evidence {
                    closed_by_server: 1,
                    ..closed()
                },
            ),
        ];
        for (kind, evidence) in cases {
            assert_eq!(kinds(&evidence), [kind]);
        }
    }
}
