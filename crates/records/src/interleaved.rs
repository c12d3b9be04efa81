//! Interleaved services: many short windows of one start, and the recording that joins them.

use crate::{
    Answers, BytesMoved, Connections, Coverage, Distribution, Generator, Histogram, HistogramError, Interval,
    Level, MessageIds, Messages, Occupancy, OperationRecording, Outcomes, Quantile, Recording, Requests,
    Responses, Rooms, Streams, Timing, Timings, UnexpectedReply, UserCounts,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Number of unexpected replies that are kept from all windows together.
const KEPT: usize = 5;

/// The windows of one start of a service that was interleaved with others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct InterleavedWindows {
    /// Whether the service was suspended while others were loaded.
    pub rested: bool,
    /// CPU time that it used before its first window, ns: start, check and warm-up.
    #[serde(default)]
    pub warm_up_cpu_ns: Option<u64>,
    /// Its windows, in order of time.
    pub windows: Vec<InterleavedWindow>,
}

/// One window of a service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct InterleavedWindow {
    /// Number of the block, from 0. Services of the same round, group and block ran at the same time and were interleaved.
    #[serde(default)]
    pub block: u32,
    /// Number of the cycle, from 0, counted separately in each block. Windows of the same cycle are compared with each other.
    pub cycle: u32,
    /// Position within the cycle, from 0.
    pub place: u32,
    /// Length of the window, s.
    pub length_s: f64,
    /// Number of complete replies received in it.
    pub completed: u64,
    /// Number of valid replies received in it.
    pub valid: u64,
    /// CPU time of the service's whole process tree, ns.
    #[serde(default)]
    pub cpu_ns: Option<u64>,
    /// Number of times that its threads left their CPUs, voluntarily or not.
    #[serde(default)]
    pub context_switches: Option<u64>,
    /// CPU time of all programs except service and generator, ns.
    #[serde(default)]
    pub other_cpu_ns: Option<u64>,
    /// Time that the hypervisor stole from the machine, ns.
    #[serde(default)]
    pub steal_ns: Option<u64>,
    /// Median response time of all requests, ns.
    #[serde(default)]
    pub response_time_ns_p50: Option<Quantile>,
    /// 99th percentile of the response time of all requests, ns.
    #[serde(default)]
    pub response_time_ns_p99: Option<Quantile>,
    /// CPU speed probe: mean CPU time of a constant piece of work on the service's CPUs, ns. The longer it takes, the slower they
    /// were.
    #[serde(default)]
    #[serde(alias = "yardstick_ns")]
    pub cpu_speed_probe_ns: Option<f64>,
}

impl InterleavedWindow {
    /// CPU time of the service per complete reply, ns; `None` if either is unknown.
    pub fn cpu_ns_per_request(&self) -> Option<f64> {
        let cpu = self.cpu_ns.filter(|&ns| ns > 0)?;
        (self.completed > 0).then(|| cpu as f64 / self.completed as f64)
    }

    /// Number of CPUs kept busy by other programs or stolen by the hypervisor; `None` if unknown.
    pub fn others_cpus(&self) -> Option<f64> {
        let taken = self.other_cpu_ns? + self.steal_ns.unwrap_or(0);
        Some(taken as f64 / 1e9 / self.length_s.max(1e-9))
    }

    /// Valid replies per second.
    pub fn goodput_per_s(&self) -> f64 {
        self.valid as f64 / self.length_s.max(1e-9)
    }
}

impl Recording {
    /// Joins the recordings of several loads of the same job, in order of time; `None` without any. Counts are added and
    /// distributions are merged, both without loss.
    pub fn join(windows: &[Self]) -> Result<Option<Self>, HistogramError> {
        let Some(first) = windows.first() else {
            return Ok(None);
        };
        let duration_s: f64 = windows.iter().map(|window| window.duration_s).sum();
        let (requests, outcomes) = counts(windows.iter().map(|window| (window.requests, window.outcomes)));
        let responses = merged(windows.iter().map(Responses::of))?;
        let valid = responses.valid.summary();
        let timings = Timings::join(windows.iter().map(|window| &window.timings));
        let rates = |of: fn(&Self) -> Option<f64>| {
            let sum: Option<f64> = windows
                .iter()
                .map(|window| Some(of(window)? * window.duration_s))
                .sum();
            sum.filter(|_| duration_s > 0.0).map(|sum| sum / duration_s)
        };
        let weighted = |of: fn(&Self) -> f64| {
            let sum: f64 = windows.iter().map(|window| of(window) * window.duration_s).sum();
            if duration_s > 0.0 { sum / duration_s } else { 0.0 }
        };
        let mut joined = Self {
            duration_s,
            timeout_ns: first.timeout_ns,
            requests,
            throughput_per_s: weighted(|window| window.throughput_per_s),
            goodput_per_s: weighted(|window| window.goodput_per_s),
            outcomes,
            status_codes: status_codes(windows),
            bytes: bytes(windows),
            offered_per_s: rates(|window| window.offered_per_s),
            sent_per_s: rates(|window| window.sent_per_s),
            coverage: coverage(windows),
            response_time_ns: responses.times(),
            valid_time_ns: valid,
            service_time_ns: timings.summary(Timing::Service).or(valid),
            schedule_lag_ns: timings.summary(Timing::ScheduleLag),
            first_byte_ns: timings.summary(Timing::FirstByte),
            connect_time_ns: timings.summary(Timing::Connect),
            tls_time_ns: timings.summary(Timing::Tls),
            sequence_time_ns: timings.summary(Timing::Sequence),
            users: users(windows, &timings),
            sequences_per_s: first
                .sequences_per_s
                .map(|_| weighted(|window| window.sequences_per_s.unwrap_or(0.0))),
            messages: messages(windows, duration_s, &timings),
            operations: operations(windows)?,
            connections: connections(windows),
            generator: generator(windows),
            stages: Vec::new(),
            intervals: intervals(windows),
            distributions: distributions(windows),
            histogram: responses.valid.encode(),
            open_histogram: responses.open.as_ref().map(Histogram::encode).unwrap_or_default(),
            occupancy: Occupancy::join(windows.iter().map(|window| window.occupancy)),
            unexpected_replies: unexpected_replies(windows),
            interrupted: windows.iter().any(|window| window.interrupted),
            network: None,
            log: None,
            decoded: None,
            workers: Vec::new(),
            start: None,
            answers: Answers::join(windows.iter().map(|window| window.answers.as_ref())),
            warnings: warnings(windows),
            timings: Timings::default(),
            ..first.clone()
        };
        joined.judge_as_one();
        Ok(Some(joined))
    }

    /// Judges the joined recording as a whole: a single window may have had too few requests for a result.
    fn judge_as_one(&mut self) {
        self.warnings.retain(|warning| warning.level() != Level::Invalid);
        let failure = self.failure(None);
        self.warnings.splice(0..0, failure);
    }
}

/// Stream messages, if the replies are streams. Answers of language models are not joined.
fn messages(windows: &[Recording], duration_s: f64, timings: &Timings) -> Option<Messages> {
    let each: Vec<Messages> = windows
        .iter()
        .map(|window| window.messages)
        .collect::<Option<_>>()?;
    let received = each.iter().map(|messages| messages.received).sum();
    Some(Messages {
        received,
        per_s: if duration_s > 0.0 {
            received as f64 / duration_s
        } else {
            0.0
        },
        first_ns: timings.summary(Timing::FirstMessage),
        last_ns: timings.summary(Timing::LastMessage),
        gap_ns: timings.summary(Timing::MessageGap),
        ids: each
            .iter()
            .filter_map(|messages| messages.ids)
            .reduce(MessageIds::plus),
        streams: each
            .iter()
            .filter_map(|messages| messages.streams)
            .reduce(Streams::plus),
        llm: None,
        rooms: each
            .iter()
            .filter_map(|messages| messages.rooms)
            .reduce(Rooms::plus)
            .map(|rooms| Rooms {
                delivery_ns: timings.summary(Timing::Delivery),
                ..rooms
            }),
    })
}

/// Users, if they arrive at a rate.
fn users(windows: &[Recording], timings: &Timings) -> Option<UserCounts> {
    let sum = |left: UserCounts, right: UserCounts| UserCounts {
        arrived: left.arrived + right.arrived,
        served: left.served + right.served,
        turned_away: left.turned_away + right.turned_away,
        visit_ns: None,
    };
    let all = windows.iter().filter_map(|window| window.users).reduce(sum)?;
    Some(UserCounts {
        visit_ns: timings.summary(Timing::Visit),
        ..all
    })
}

fn counts(parts: impl Iterator<Item = (Requests, Outcomes)>) -> (Requests, Outcomes) {
    let mut sum = (Requests::default(), Outcomes::default());
    for (requests, outcomes) in parts {
        sum.0.offered += requests.offered;
        sum.0.sent += requests.sent;
        sum.0.completed += requests.completed;
        sum.0.valid += requests.valid;
        sum.1.merge(&outcomes);
    }
    sum
}

fn merged(
    samples: impl Iterator<Item = Result<Responses, HistogramError>>,
) -> Result<Responses, HistogramError> {
    let mut all = Responses::default();
    for sample in samples {
        all.merge(&sample?);
    }
    Ok(all)
}

/// The narrowest coverage of all windows.
fn coverage(windows: &[Recording]) -> Coverage {
    let all = windows
        .iter()
        .all(|window| window.coverage == Coverage::EveryRequest);
    if all {
        Coverage::EveryRequest
    } else {
        Coverage::SurvivorsOnly
    }
}

fn status_codes(windows: &[Recording]) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for (code, count) in windows.iter().flat_map(|window| &window.status_codes) {
        *all.entry(code.clone()).or_default() += count;
    }
    all
}

fn bytes(windows: &[Recording]) -> BytesMoved {
    BytesMoved {
        sent: windows.iter().map(|window| window.bytes.sent).sum(),
        received: windows.iter().map(|window| window.bytes.received).sum(),
    }
}

/// Joins operations by name, in the order of the workload.
fn operations(windows: &[Recording]) -> Result<Vec<OperationRecording>, HistogramError> {
    let names = windows[0].operations.iter().map(|operation| &operation.name);
    names
        .map(|name| {
            let parts: Vec<&OperationRecording> = windows
                .iter()
                .flat_map(|window| &window.operations)
                .filter(|operation| operation.name == *name)
                .collect();
            let (requests, outcomes) = counts(parts.iter().map(|part| (part.requests, part.outcomes)));
            let responses = merged(parts.iter().map(|part| Responses::of_operation(part)))?;
            Ok(OperationRecording {
                name: name.clone(),
                requests,
                outcomes,
                response_time_ns: responses.times(),
                valid_time_ns: responses.valid.summary(),
                histogram: responses.valid.encode(),
                open_histogram: responses.open.as_ref().map(Histogram::encode).unwrap_or_default(),
            })
        })
        .collect()
}

fn connections(windows: &[Recording]) -> Connections {
    let fewest = windows.iter().map(|window| window.connections.established).min();
    Connections {
        asked: windows[0].connections.asked,
        established: fewest.unwrap_or(0),
        reconnects: windows.iter().map(|window| window.connections.reconnects).sum(),
        retried: windows.iter().map(|window| window.connections.retried).sum(),
        redirects: windows.iter().map(|window| window.connections.redirects).sum(),
    }
}

fn generator(windows: &[Recording]) -> Generator {
    let busiest = windows.iter().map(|window| window.generator.busiest_thread);
    let saturated = windows.iter().filter(|window| window.generator.saturated).count();
    Generator {
        cpu_s: windows.iter().map(|window| window.generator.cpu_s).sum(),
        busiest_thread: busiest.fold(0.0, f64::max),
        // A single disturbed window does not make the whole load saturated.
        saturated: 2 * saturated > windows.len(),
        ..windows[0].generator.clone()
    }
}

/// The intervals of all windows, shifted by the length of the windows before them.
fn intervals(windows: &[Recording]) -> Vec<Interval> {
    let mut begin = 0.0;
    let mut all = Vec::new();
    for window in windows {
        all.extend(window.intervals.iter().map(|interval| Interval {
            start_s: begin + interval.start_s,
            ..*interval
        }));
        begin += window.duration_s;
    }
    all
}

/// Shifted in the same way.
fn distributions(windows: &[Recording]) -> Vec<Distribution> {
    let mut begin = 0.0;
    let mut all = Vec::new();
    for window in windows {
        all.extend(window.distributions.iter().map(|part| Distribution {
            start_s: begin + part.start_s,
            ..part.clone()
        }));
        begin += window.duration_s;
    }
    Distribution::over_time(all)
}

fn unexpected_replies(windows: &[Recording]) -> Vec<UnexpectedReply> {
    windows
        .iter()
        .flat_map(|window| &window.unexpected_replies)
        .take(KEPT)
        .cloned()
        .collect()
}

/// Each warning that more than half of the windows have, once. A warning of few windows says nothing about the whole.
fn warnings(windows: &[Recording]) -> Vec<crate::Warning> {
    let mut kinds: BTreeMap<crate::WarningKind, (usize, &crate::Warning)> = BTreeMap::new();
    for window in windows {
        let mut seen = std::collections::BTreeSet::new();
        for warning in &window.warnings {
            if seen.insert(warning.kind) {
                kinds.entry(warning.kind).or_insert((0, warning)).0 += 1;
            }
        }
    }
    let most = kinds.into_values().filter(|(count, _)| 2 * count > windows.len());
    most.map(|(_, warning)| warning.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interval, Latency, SCHEMA, Warning, WarningKind};

    /// A window of half a second with these response times, ns.
    #[allow(clippy::too_many_lines, reason = "it names each field of a recording")]
    fn window(times: &[u64], warnings: Vec<Warning>) -> Recording {
        let mut histogram = Histogram::new();
        for &ns in times {
            histogram.record(ns);
        }
        let count = times.len() as u64;
        let requests = Requests {
            offered: count + 1,
            sent: count + 1,
            completed: count,
            valid: count,
        };
        let outcomes = Outcomes {
            valid: count,
            timeout: 1,
            ..Outcomes::default()
        };
        let latency: Option<Latency> = histogram.summary();
        let responses = Responses::new(histogram.clone(), None, &outcomes);
        Recording {
            schema: SCHEMA,
            target: "http://127.0.0.1/".to_owned(),
            protocol: "http1".to_owned(),
            load: serde_json::json!({"kind": "closed"}),
            duration_s: 0.5,
            requests,
            throughput_per_s: count as f64 / 0.5,
            goodput_per_s: count as f64 / 0.5,
            outcomes,
            status_codes: BTreeMap::from([("200".to_owned(), count)]),
            bytes: BytesMoved {
                sent: 10 * count,
                received: 20 * count,
            },
            offered_per_s: Some((count + 1) as f64 / 0.5),
            sent_per_s: Some((count + 1) as f64 / 0.5),
            coverage: Coverage::EveryRequest,
            response_time_ns: responses.times(),
            valid_time_ns: latency,
            service_time_ns: latency,
            operations: vec![OperationRecording {
                name: "hello".to_owned(),
                requests,
                outcomes,
                response_time_ns: responses.times(),
                valid_time_ns: latency,
                histogram: histogram.encode(),
                open_histogram: String::new(),
            }],
            connections: Connections {
                asked: 4,
                established: 4,
                reconnects: 1,
                retried: 2,
                redirects: 0,
            },
            generator: Generator {
                threads: 1,
                cpu_s: 0.25,
                busiest_thread: 0.5,
                transport: "epoll".to_owned(),
                saturated: false,
            },
            intervals: vec![Interval {
                start_s: 0.0,
                length_s: 0.5,
                completed: count,
                valid: count,
                errors: 1,
                messages: None,
                response_time_ns_p50: None,
                response_time_ns_p99: None,
            }],
            histogram: histogram.encode(),
            warnings,
            messages: Some(Messages {
                received: count,
                per_s: count as f64 / 0.5,
                first_ns: latency,
                last_ns: None,
                gap_ns: None,
                ids: None,
                streams: Some(Streams {
                    completed: count,
                    ..Streams::default()
                }),
                llm: None,
                rooms: Some(Rooms {
                    members: 8,
                    expected: 8 * count,
                    reached: 7 * count,
                    delivery_ns: latency,
                }),
            }),
            users: Some(UserCounts {
                arrived: count + 1,
                served: count,
                turned_away: 1,
                visit_ns: latency,
            }),
            tls_time_ns: latency,
            timings: Timings::of([
                (Timing::Tls, Some(&histogram)),
                (Timing::Visit, Some(&histogram)),
                (Timing::FirstMessage, Some(&histogram)),
                (Timing::Delivery, Some(&histogram)),
                (Timing::Sequence, None),
            ]),
            ..Recording::default()
        }
    }

    /// Three windows joined, and one window with the same times.
    fn joined_and_whole() -> (Recording, Recording) {
        let all: Vec<u64> = (1..=300).map(|number| number * 1_000).collect();
        let parts: Vec<Recording> = all.chunks(100).map(|part| window(part, Vec::new())).collect();
        let joined = Recording::join(&parts).expect("own histograms").expect("windows");
        let whole = window(&all, Vec::new());
        (joined, whole)
    }

    #[test]
    fn joined_windows_are_one_recording_of_all() {
        let (joined, whole) = joined_and_whole();
        assert_eq!(joined.valid_time_ns, whole.valid_time_ns);
        assert_eq!(joined.histogram, whole.histogram);
        // One request per window received no reply.
        let told = joined.response_time_ns.expect("requests");
        assert_eq!(told.max, Quantile::Unbounded);
        // Rank 288 of 303.
        let p95 = told.p95.exact().expect("nineteen in twenty were answered");
        assert!((p95 as f64 / 288_000.0 - 1.0).abs() < 2e-3, "{p95}");
        assert_eq!(joined.operations[0].histogram, whole.histogram);
        assert_eq!((joined.requests.completed, joined.outcomes.timeout), (300, 3));
        assert!((joined.duration_s - 1.5).abs() < 1e-9);
        assert!((joined.throughput_per_s - 200.0).abs() < 1e-9);
        assert_eq!(joined.bytes.received, 6_000);
        assert_eq!(joined.connections.reconnects, 3);
        assert_eq!(joined.connections.retried, 6);
        assert_eq!(
            joined
                .intervals
                .iter()
                .map(|interval| interval.start_s)
                .collect::<Vec<_>>(),
            [0.0, 0.5, 1.0]
        );
    }

    #[test]
    fn distributions_of_other_times_are_joined_too() {
        let (joined, whole) = joined_and_whole();
        assert_eq!(joined.tls_time_ns, whole.tls_time_ns);
        assert_eq!(joined.service_time_ns, whole.service_time_ns);
        assert_eq!(joined.sequence_time_ns, None);
        let users = joined.users.expect("users");
        assert_eq!((users.arrived, users.served, users.turned_away), (303, 300, 3));
        assert_eq!(users.visit_ns, whole.valid_time_ns);
        let messages = joined.messages.expect("messages");
        assert_eq!(messages.first_ns, whole.valid_time_ns);
        assert_eq!(messages.streams.map(|streams| streams.completed), Some(300));
        assert_eq!(messages.rooms, whole.messages.and_then(|messages| messages.rooms));
        assert_eq!(joined.timings, Timings::default());
    }

    #[test]
    fn a_doubt_of_one_window_is_not_a_doubt_of_all() {
        let doubt = |kind| Warning::new(kind, "seen");
        let parts = [
            window(&[1], vec![doubt(WarningKind::LittlesLaw)]),
            window(&[1], vec![doubt(WarningKind::Errors)]),
            window(&[1], vec![doubt(WarningKind::Errors)]),
        ];
        let joined = Recording::join(&parts).expect("own histograms").expect("windows");
        assert_eq!(joined.warnings, [doubt(WarningKind::Errors)]);
    }

    #[test]
    fn none_joined_is_none() {
        assert_eq!(Recording::join(&[]).expect("nothing to read"), None);
    }
}
