//! Combines the results of all threads into one [`Part`].

use crate::resolve::ResolvedTarget;
use crate::worker::{Report, WorkerInterval};
use prony_load::Job;
use prony_merge::{AddressPart, LogPart, LowestThreadValue, MeasurementStart, Part, ThreadPart, Totals};
use prony_records::{CompactHistogram, DecodedBodies, Histogram, IntervalPart, Phase};
use std::collections::BTreeMap;

/// The part of this process while it grows.
pub(super) struct PartBuilder {
    part: Part,
    threads: u32,
    /// The names of the operations.
    names: Vec<String>,
    /// Intervals that some threads have not handed over yet.
    open: BTreeMap<(bool, u64), (u32, IntervalPart, Histogram)>,
    /// Connection attempts to each peer, in the route's order.
    begun: Vec<u64>,
    noticed_ns: u64,
}

impl PartBuilder {
    pub(super) fn new(job: &Job) -> Self {
        Self {
            part: Part::new(job),
            threads: job.threads,
            names: job
                .workload
                .operations
                .iter()
                .map(|operation| operation.name.clone())
                .collect(),
            open: BTreeMap::new(),
            begun: Vec::new(),
            noticed_ns: 0,
        }
    }

    /// Adds one thread's interval; returns the combined interval if all threads have handed it over.
    pub(super) fn interval(&mut self, counted: &WorkerInterval) -> Option<IntervalPart> {
        let WorkerInterval {
            phase,
            index,
            begin,
            end,
            tally,
            ..
        } = counted;
        if *phase != Phase::WarmUp {
            self.part.tally.merge(tally);
        }
        if *phase == Phase::Drain || end <= begin {
            return None;
        }
        let key = (*phase == Phase::Measurement, *index);
        let (count, sum, times) = self.open.entry(key).or_default();
        *count += 1;
        let piece = IntervalPart {
            index: *index,
            begin_ns: *begin,
            end_ns: *end,
            completed: tally.window.completed,
            valid: tally.window.valid,
            errors: tally.window.errors,
            failures: Box::new(tally.window.failures),
            messages: tally.messages.as_ref().map(|messages| messages.count),
            times: CompactHistogram::default(),
        };
        if *count == 1 {
            *sum = piece;
        } else {
            sum.add_counts(&piece);
        }
        for operation in &tally.operations {
            operation.response.add_to(times);
        }
        if *count < self.threads {
            return None;
        }
        let (_, mut done, times) = self.open.remove(&key)?;
        done.times = CompactHistogram::of(&times);
        if *phase == Phase::Measurement {
            self.part.intervals.insert(*index, done.clone());
        }
        Some(done)
    }

    /// Adds the final report of a thread.
    pub(super) fn report(&mut self, report: Report) {
        let Report {
            thread,
            totals,
            measured,
            network,
            decoded,
            answered,
        } = report;
        let first = |text: Option<String>| text.map(|text| LowestThreadValue { thread, text });
        self.part.totals.merge(&Totals {
            connect: totals.connect,
            tls: totals.tls,
            reconnects: totals.reconnects,
            closed_by_server: totals.closed_by_server,
            connect_error: first(totals.connect_error),
            own_shortages: totals.own_shortages,
            own_shortage: first(totals.own_shortage),
            handshakes: totals.handshakes,
            agreed: totals.agreed,
            sent_again: totals.sent_again,
            violation: first(totals.violation.map(str::to_owned)),
            stream_limit: totals.stream_limit,
            unended: first(
                totals
                    .unended
                    .map(|operation| self.names[usize::from(operation)].clone()),
            ),
            retransmits: network.retransmits,
            decoded: DecodedBodies {
                replies: decoded.replies,
                encoded_bytes: decoded.encoded_bytes,
                decoded_bytes: decoded.decoded_bytes,
            },
            sample: totals.sample.entries,
            answered,
        });
        let part = ThreadPart {
            open_at_begin: measured.open_at_begin,
            most_open: totals.most_open,
            cpu_ns: measured.used.cpu_ns,
            waiting_ns: measured.used.waiting_ns,
            looked_ns: measured.looked_ns,
            length_ns: measured.length_ns,
            span_ns: measured.span_ns,
            connected_ns: measured.connected_ns,
            paused_ns: measured.paused_ns,
        };
        self.part.threads.insert(thread, part);
        self.noticed_ns = self.noticed_ns.max(measured.noticed);
        self.begun.resize(self.begun.len().max(network.begun.len()), 0);
        for (sum, begun) in self.begun.iter_mut().zip(network.begun) {
            *sum += begun;
        }
    }

    /// Number of threads that have ended.
    pub(super) fn ended(&self) -> usize {
        self.part.threads.len()
    }

    /// The whole part, once every thread has ended.
    pub(super) fn finish(mut self, job: &Job, resolved: &ResolvedTarget, end: End) -> Part {
        // An interval may have begun before the end of the measurement was known.
        let length = self.part.length_ns();
        self.part.intervals.retain(|_, one| one.begin_ns < length);
        for one in self.part.intervals.values_mut() {
            one.end_ns = one.end_ns.min(length);
        }
        self.part.addresses = addresses(job, resolved, &self.begun);
        self.part.transports.insert(end.transport.to_owned());
        self.part.clock_step_ns = end.clock_step_ns;
        self.part.interrupted = end.interrupted;
        self.part.log = end.log;
        let begun = MeasurementStart {
            noticed_ns: self.noticed_ns,
            ..end.begun
        };
        self.part.close(job, begun);
        self.part
    }
}

/// The data of the caller's thread at the end.
pub(super) struct End {
    pub(super) transport: &'static str,
    pub(super) clock_step_ns: Option<i64>,
    /// Whether the measurement was ended early.
    pub(super) interrupted: bool,
    pub(super) log: Option<LogPart>,
    pub(super) begun: MeasurementStart,
}

fn addresses(job: &Job, resolved: &ResolvedTarget, begun: &[u64]) -> BTreeMap<String, AddressPart> {
    let used = resolved.route.peers.iter().enumerate().map(|(peer, used)| {
        let connections = begun.get(peer).copied().unwrap_or(0);
        (used, connections, None)
    });
    let thread = job.first_thread();
    let left_out = resolved.left_out.iter().map(|(peer, text)| {
        let text = text.clone();
        (peer, 0, Some(LowestThreadValue { thread, text }))
    });
    let ranked = (0_u32..).zip(used.chain(left_out));
    ranked
        .map(|(rank, (peer, connections, left_out))| {
            let one = AddressPart {
                rank,
                connections,
                left_out,
            };
            (peer.to_string(), one)
        })
        .collect()
}
