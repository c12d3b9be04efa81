//! Reasons to doubt a recording, worked out from its numbers alone.

use prony_measurement::{Latency, Occupancy, Warning, WarningKind, is_supported};

/// The numbers that are looked at.
#[derive(Debug, Clone, Default)]
pub(super) struct Evidence {
    pub(super) load: LoadKind,
    /// Arrivals that were due by the profile in the measurement; absent in a closed load.
    pub(super) due: Option<f64>,
    /// Arrivals whose requests were sent within the measurement.
    pub(super) started: u64,
    pub(super) completed: u64,
    pub(super) errors: u64,
    pub(super) requests: u64,
    pub(super) throughput_per_s: f64,
    /// Of valid replies.
    pub(super) valid_time_ns: Option<Latency>,
    pub(super) service_time_ns: Option<Latency>,
    pub(super) schedule_lag_ns: Option<Latency>,
    /// The part of the lag that is the generator's own, p99.
    pub(super) own_lag_ns_p99: Option<u64>,
    pub(super) occupancy: Option<Occupancy>,
    pub(super) connections_asked: u64,
    pub(super) connections_established: u64,
    pub(super) in_flight: u64,
    /// Requests that the server lets be under way on one connection, where they are fewer than asked for.
    pub(super) stream_limit: Option<u32>,
    pub(super) connect_error: Option<String>,
    /// Connections for which this machine had no port, file or memory, and what the kernel said.
    pub(super) own_shortages: u64,
    pub(super) own_shortage: Option<String>,
    pub(super) closed_by_server: u64,
    pub(super) sent_again: u64,
    /// Requests that were sent once more because an idle connection ended as they came.
    pub(super) retried: u64,
    /// How the server broke the protocol, the first time.
    pub(super) violation: Option<String>,
    /// The busiest thread's share of its CPU, without the time it only looked for something to do.
    pub(super) busiest_thread: f64,
    /// The most starved thread's share of the time in which it waited for a CPU.
    pub(super) starved_thread: f64,
    /// Largest jump of the wall clock, ns.
    pub(super) clock_step_ns: Option<i64>,
}

/// How requests arrive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum LoadKind {
    #[default]
    Closed,
    Open,
    Users,
}

/// Above this share of its CPU a thread is the limit, or near it.
const BUSY: f64 = 0.90;
/// A wake-up by the kernel may take so long on a machine that has nothing else to do, ns.
const LATE: u64 = 100_000;
/// Above this share of the requests, retries are more than a race now and then.
const MANY_RETRIED: f64 = 0.001;
/// Fewest requests of which a p99 is worth printing: ten of them lie beyond it.
const SAMPLES_FOR_P99: u64 = 1_000;

impl Evidence {
    /// Whether the generator, not the service, was the limit.
    pub(super) fn is_saturated(&self) -> bool {
        self.busiest_thread + self.starved_thread > BUSY
    }

    /// Every reason to doubt.
    pub(super) fn warnings(&self) -> Vec<Warning> {
        [
            self.saturation(),
            self.lag(),
            self.rate(),
            self.connections(),
            self.streams(),
            self.clock(),
            self.samples(),
            self.errors(),
            self.shortage(),
            self.closing(),
            self.resending(),
            self.retrying(),
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

    /// What waits for a free place is the service's delay. The generator's own is what it noticed late, and what it did not
    /// send although there was a place.
    fn lag(&self) -> Option<Warning> {
        let (own, response) = (self.own_lag_ns_p99?, self.valid_time_ns?);
        (own > (response.p50 / 10).max(LATE)).then(|| {
            Warning::new(
                WarningKind::ScheduleLag,
                format!(
                    "the generator itself sent 1 % of the requests {} or more after it should have, more than a tenth of \
                     the median response time of {}: give it CPUs of its own (--cpus) or more threads (-t)",
                    time(own),
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
        if limit == 0 {
            return Some(Warning::new(
                WarningKind::StreamsLimited,
                "the service let no request be under way on a connection for some time \
                 (SETTINGS_MAX_CONCURRENT_STREAMS 0): in a closed load no response time holds that time",
            ));
        }
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
        let few = self.completed > 0 && !is_supported(0.99, self.requests);
        few.then(|| {
            Warning::new(
                WarningKind::FewSamples,
                format!(
                    "p99 of {} requests rests on fewer than ten of them: measure longer for at least {SAMPLES_FOR_P99}",
                    self.requests
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

    fn shortage(&self) -> Option<Warning> {
        let reason = self.own_shortage.as_deref()?;
        Some(Warning::new(
            WarningKind::GeneratorSaturated,
            format!(
                "the generator's machine could not make {} connections ({reason}): that is its own limit and no fault of \
                 the service; where ports have run out, share them out over more addresses of this machine (--source) or \
                 send more requests on a connection, and where files have, raise `ulimit -n`",
                self.own_shortages
            ),
        ))
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

    fn retrying(&self) -> Option<Warning> {
        (self.retried > 0).then(|| {
            let share = self.retried as f64 / self.requests.max(1) as f64;
            let kind = if share > MANY_RETRIED {
                WarningKind::Retried
            } else {
                WarningKind::Note
            };
            Warning::new(
                kind,
                format!(
                    "{} requests ({:.2} %) were retried once: the server closed an idle connection as they came; their \
                     response times count from the first time (--no-retry counts them as errors)",
                    self.retried,
                    share * 100.0
                ),
            )
        })
    }

    fn violations(&self) -> Option<Warning> {
        let violation = self.violation.as_deref()?;
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
pub(super) fn time(ns: u64) -> String {
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
mod tests;
