//! Reasons to doubt a recording, worked out from its numbers alone.

use prony_records::{Latency, Occupancy, Warning, WarningKind, count, is_supported};

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
    pub(super) duration_s: f64,
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
                format!(
                    " and waited {:.0} % of the time for one",
                    self.starved_thread * 100.0
                )
            } else {
                String::new()
            };
            let meaning = match self.load {
                LoadKind::Closed => "the service may be faster",
                LoadKind::Open | LoadKind::Users => "latency may include generator delay",
            };
            let text = format!(
                "The busiest generator thread used {:.0} % of a CPU{starved}; {meaning}.",
                self.busiest_thread * 100.0
            );
            Warning::new(WarningKind::GeneratorSaturated, text)
                .advise("Use more threads (-t), CPUs of its own (--cpus) or more hosts (--lab).")
        })
    }

    /// What waits for a free place is the service's delay. The generator's own is what it noticed late, and what it did not
    /// send although there was a place.
    fn lag(&self) -> Option<Warning> {
        let (own, response) = (self.own_lag_ns_p99?, self.valid_time_ns?);
        (own > (response.p50 / 10).max(LATE)).then(|| {
            let text = format!(
                "1 % of requests left the generator {} late or more; high percentiles include this.",
                time(own)
            );
            Warning::new(WarningKind::ScheduleLag, text)
                .advise("Use CPUs of its own (--cpus), more threads (-t) or an idle machine.")
        })
    }

    fn rate(&self) -> Option<Warning> {
        let due = self.due?;
        let missing = due - self.started as f64;
        // A count may differ by the one arrival that lies on the edge. More than were due in the measurement may be sent in
        // it: those that had to wait since before.
        (missing > due * 0.005 && missing > 1.5).then(|| {
            // Never rounded up to all of it.
            let share = (self.started as f64 / due * 1_000.0).floor() / 10.0;
            let text = format!("Only {share:.1} % of the offered rate was sent.");
            Warning::new(WarningKind::RateNotHeld, text).advise("Lower --rate or raise -c.")
        })
    }

    fn connections(&self) -> Option<Warning> {
        let (asked, established) = (self.connections_asked, self.connections_established);
        let missing = self.load != LoadKind::Users && established < asked;
        let error = self.connect_error.as_deref();
        let reason = error.map(|error| format!(": {error}")).unwrap_or_default();
        (missing || (self.load == LoadKind::Users && error.is_some())).then(|| {
            let text = if missing {
                format!(
                    "Only {} of {} connections were open at the start{reason}.",
                    count(established),
                    count(asked)
                )
            } else {
                format!("Some users could not connect{reason}; their requests count as errors.")
            };
            Warning::new(WarningKind::ConnectionsNotEstablished, text)
                .advise("Raise the server's connection limit.")
        })
    }

    fn streams(&self) -> Option<Warning> {
        let limit = self.stream_limit?;
        if limit == 0 {
            let text = "The server allowed no stream on a connection for a while; a closed load does not show that time.";
            return Some(Warning::new(WarningKind::StreamsLimited, text));
        }
        let text = format!(
            "The server allows {limit} concurrent streams per connection, not {}.",
            self.in_flight
        );
        Some(Warning::new(WarningKind::StreamsLimited, text).advise("Lower --in-flight, raise -c."))
    }

    fn clock(&self) -> Option<Warning> {
        let step = self.clock_step_ns?;
        Some(Warning::new(
            WarningKind::ClockStep,
            format!(
                "The system clock was set by {}. Results are correct; times in other logs will not match.",
                time(step.unsigned_abs())
            ),
        ))
    }

    fn samples(&self) -> Option<Warning> {
        let few = self.completed > 0 && !is_supported(0.99, self.requests);
        few.then(|| {
            let text = format!(
                "p99 rests on {} of {} replies.",
                (self.requests / 100).max(1),
                self.requests
            );
            let seconds = self.duration_s * SAMPLES_FOR_P99 as f64 / self.requests.max(1) as f64;
            let advice = format!(
                "Measure longer: 1,000 replies need -d {:.0}s.",
                seconds.ceil().max(1.0)
            );
            Warning::new(WarningKind::FewSamples, text).advise(advice)
        })
    }

    fn errors(&self) -> Option<Warning> {
        (self.errors > 0).then(|| {
            let share = self.errors as f64 / self.requests.max(1) as f64 * 100.0;
            let text = format!(
                "{} of {} requests ({share:.2} %) had no valid reply.",
                count(self.errors),
                count(self.requests)
            );
            Warning::new(WarningKind::Errors, text).advise("See status and errors.")
        })
    }

    fn shortage(&self) -> Option<Warning> {
        let reason = self.own_shortage.as_deref()?;
        let text = format!(
            "{} connections failed on the generator's machine: {reason}.",
            count(self.own_shortages)
        );
        Some(
            Warning::new(WarningKind::GeneratorSaturated, text)
                .advise("Ports: use --source or keep-alive. Files: raise `ulimit -n`."),
        )
    }

    fn resending(&self) -> Option<Warning> {
        (self.sent_again > 0).then(|| {
            Warning::new(
                WarningKind::Note,
                format!(
                    "{} requests were resent: the server had announced the end of their connections (GOAWAY or Connection: \
                     close). Latency counts from the first attempt.",
                    count(self.sent_again)
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
            let text = format!(
                "{} requests ({:.2} %) were retried: the server closed idle connections as they came.",
                count(self.retried),
                share * 100.0
            );
            Warning::new(kind, text)
                .advise("--no-retry counts them as errors; latency counts from the first attempt.")
        })
    }

    fn violations(&self) -> Option<Warning> {
        let violation = self.violation.as_deref()?;
        let text = format!("The server broke the protocol: {violation}.");
        Some(Warning::new(WarningKind::ProtocolError, text).advise("Run `prony check`."))
    }

    fn closing(&self) -> Option<Warning> {
        (self.closed_by_server > 0 && self.load != LoadKind::Users).then(|| {
            let text = format!(
                "The server closed {} keep-alive connections; reconnecting is part of the throughput.",
                count(self.closed_by_server)
            );
            Warning::new(WarningKind::ConnectionClosed, text).advise("Raise its keep-alive limit.")
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
