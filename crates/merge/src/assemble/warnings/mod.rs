//! Warnings about a recording, derived from its numbers alone.

use prony_records::{Latency, Occupancy, Warning, WarningKind, count, is_supported, plural};
use std::ops::RangeInclusive;

/// The numbers that warnings are derived from.
#[derive(Debug, Clone, Default)]
pub(super) struct WarningInputs {
    pub(super) load: LoadKind,
    /// Arrivals that were due according to the profile in the measurement; `None` in a closed load.
    pub(super) due: Option<f64>,
    /// Arrivals whose first request was sent within the measurement.
    pub(super) started: u64,
    pub(super) completed: u64,
    pub(super) errors: u64,
    pub(super) requests: u64,
    pub(super) throughput_per_s: f64,
    /// Response times of valid replies.
    pub(super) valid_time_ns: Option<Latency>,
    pub(super) service_time_ns: Option<Latency>,
    /// `None` if replies are streams, whose messages come one by one.
    pub(super) first_byte_ns: Option<Latency>,
    pub(super) schedule_lag_ns: Option<Latency>,
    /// The part of the schedule lag that the generator itself caused, p99.
    pub(super) own_lag_ns_p99: Option<u64>,
    pub(super) occupancy: Option<Occupancy>,
    pub(super) connections_asked: u64,
    pub(super) connections_established: u64,
    /// Whether each connection lasts until the end of the load.
    pub(super) keeps_connections: bool,
    pub(super) in_flight: u64,
    /// Limit of concurrent requests on one connection, if the server sets one below the requested number.
    pub(super) stream_limit: Option<u32>,
    pub(super) connect_error: Option<String>,
    /// Connections that failed because this machine ran out of ports, files or memory, and the error of the kernel.
    pub(super) own_shortages: u64,
    pub(super) own_shortage: Option<String>,
    pub(super) duration_s: f64,
    pub(super) closed_by_server: u64,
    pub(super) sent_again: u64,
    /// Requests that were sent again because an idle connection closed while they were sent.
    pub(super) retried: u64,
    /// First protocol violation of the server.
    pub(super) violation: Option<String>,
    /// CPU share of the busiest thread, without the time it only polled for work.
    pub(super) busiest_thread: f64,
    /// Share of the time that the most starved thread waited for a CPU.
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

/// Above this share of a CPU, a thread is at or near its limit.
const BUSY: f64 = 0.90;
/// Latency of a kernel wake-up that is normal on an idle machine, ns.
const LATE: u64 = 100_000;
/// Above this share of the requests, retries are more than an occasional race.
const MANY_RETRIED: f64 = 0.001;
/// How long a delayed acknowledgement makes a reply wait, ns: 40 ms, and a timer of the kernel that fires late.
const DELAYED_ACK: RangeInclusive<u64> = 37_000_000..=48_000_000;
/// Number of requests from which ten are beyond the p99, so that it is worth printing.
const SAMPLES_FOR_P99: u64 = 1_000;

impl WarningInputs {
    /// Whether the generator, not the service, was the limit.
    pub(super) fn is_saturated(&self) -> bool {
        self.busiest_thread + self.starved_thread > BUSY
    }

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
            self.stalls(),
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
                .advise("Use more threads (-t), dedicated CPUs (--cpus) or more hosts (--testbed).")
        })
    }

    /// Waiting for a free slot is delay of the service. The generator's own lag consists of arrivals that it noticed late, and
    /// requests that it did not send although a slot was free.
    fn lag(&self) -> Option<Warning> {
        let (own, response) = (self.own_lag_ns_p99?, self.valid_time_ns?);
        (own > (response.p50 / 10).max(LATE)).then(|| {
            let text = format!(
                "1 % of requests left the generator {} late or more; high percentiles include this.",
                time(own)
            );
            Warning::new(WarningKind::ScheduleLag, text)
                .advise("Use dedicated CPUs (--cpus), more threads (-t) or an idle machine.")
        })
    }

    fn rate(&self) -> Option<Warning> {
        let due = self.due?;
        let missing = due - self.started as f64;
        // A count may differ by the one arrival on the edge. More arrivals than were due may be sent in the measurement, since
        // some waited from before it.
        (missing > due * 0.005 && missing > 1.5).then(|| {
            // Rounded down, so that it never shows 100 %.
            let share = (self.started as f64 / due * 1_000.0).floor() / 10.0;
            let text = format!("Only {share:.1} % of the offered rate was sent.");
            Warning::new(WarningKind::RateNotHeld, text).advise("Lower --rate or raise -c.")
        })
    }

    fn connections(&self) -> Option<Warning> {
        let (asked, established) = (self.connections_asked, self.connections_established);
        let missing = self.keeps_connections && established < asked;
        let error = self.connect_error.as_deref();
        let reason = error.map(|error| format!(": {error}")).unwrap_or_default();
        (missing || (!self.keeps_connections && error.is_some())).then(|| {
            let text = if missing {
                format!(
                    "Only {} of {} connections were open at the start{reason}.",
                    count(established),
                    count(asked)
                )
            } else {
                let who = if self.load == LoadKind::Users {
                    "users could not connect"
                } else {
                    "connections could not be made"
                };
                format!("Some {who}{reason}; their requests count as errors.")
            };
            Warning::new(WarningKind::ConnectionsNotEstablished, text)
                .advise("Raise the server's connection limit.")
        })
    }

    fn streams(&self) -> Option<Warning> {
        let limit = self.stream_limit?;
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
            "{} failed on the generator's machine: {reason}.",
            plural(self.own_shortages, "connection")
        );
        Some(
            Warning::new(WarningKind::GeneratorSaturated, text)
                .advise("Ports: use --source or keep-alive. Files: raise `ulimit -n`."),
        )
    }

    /// A reply in several writes stalls with Nagle's algorithm: the server holds back the last one until the client acknowledges the one
    /// before, and that waits for 40 ms on Linux (`TCP_DELACK_MIN`).
    fn stalls(&self) -> Option<Warning> {
        let (whole, first) = (self.service_time_ns?, self.first_byte_ns?);
        let rest = |of: fn(&Latency) -> u64| of(&whole).saturating_sub(of(&first));
        let rests = [
            rest(|times| times.p50),
            rest(|times| times.p90),
            rest(|times| times.p99),
        ];
        rests.iter().any(|ns| DELAYED_ACK.contains(ns)).then(|| {
            let text = "Many replies stall for 40 ms after their first bytes: the server waits for delayed acknowledgements.";
            Warning::new(WarningKind::DelayedAck, text).advise("Set TCP_NODELAY in the server.")
        })
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
                "{} requests ({:.2} %) were retried: the server closed idle connections as requests arrived.",
                count(self.retried),
                share * 100.0
            );
            Warning::new(kind, text)
                .advise("--no-retry counts them as errors; latency counts from the first attempt.")
        })
    }

    fn violations(&self) -> Option<Warning> {
        let violation = self.violation.as_deref()?;
        let text = format!("The server violated the protocol: {violation}.");
        Some(Warning::new(WarningKind::ProtocolError, text).advise("Run `prony check`."))
    }

    fn closing(&self) -> Option<Warning> {
        (self.closed_by_server > 0 && self.load != LoadKind::Users).then(|| {
            let text = format!(
                "The server closed {}; reconnecting is part of the throughput.",
                plural(self.closed_by_server, "keep-alive connection")
            );
            Warning::new(WarningKind::ConnectionClosed, text).advise("Raise its keep-alive limit.")
        })
    }
}

/// Formats a duration for people.
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
