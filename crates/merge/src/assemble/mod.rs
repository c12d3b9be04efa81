//! Assembles the recording of a job from the merged results of its workers.

mod messages;
mod stages;
mod warnings;
mod workers;

use self::warnings::{LoadKind, WarningInputs};
use crate::part::{AddressPart, LowestThreadValue, Part, ThreadPart};
use crate::tally::{GRPC_STATUSES, ReplyTimes, Tally};
use prony_load::{Header, Job, Load, Protocol, Proxy};
use prony_records::{
    Address, CommonStart, Connections, Coverage, DecodedBodies, Distribution, Generator, Histogram,
    IntervalPart, Log, Network, Occupancy, OperationRecording, Outcomes, Recording, Requests, Responses,
    SCHEMA, Timing, Timings, UnexpectedReply, UserCounts, Warning, WarningKind, count,
};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// The recording of a job, from the merged part of all its workers, including all warnings. If several workers made the load, it
/// has a row for each of them. `start` is how far apart they started, if their clocks are known.
pub fn assemble(job: &Job, part: &Part, start: Option<CommonStart>) -> Recording {
    let tally = &part.tally;
    let duration_s = part.length_ns() as f64 / 1e9;
    let times = Times::of(tally);
    let (requests, outcomes) = sums(tally);
    let evidence = evidence(job, part, &times);
    let log = log(job, part);
    let mut recording = Recording {
        schema: SCHEMA,
        target: job.target.url.clone(),
        proxy: job.target.connect.proxy.as_ref().map(Proxy::to_string),
        protocol: protocol_name(job.protocol).to_owned(),
        load: serde_json::to_value(&job.load).expect("invariant: a load is plain data"),
        duration_s,
        timeout_ns: Some(job.timeout_ns),
        requests,
        throughput_per_s: evidence.throughput_per_s,
        goodput_per_s: per_second(tally.window.valid, duration_s),
        outcomes,
        status_codes: status_codes(tally),
        bytes: tally.window.bytes,
        offered_per_s: Some(per_second(
            requests.offered.saturating_sub(tally.window.carried),
            duration_s,
        )),
        sent_per_s: Some(per_second(tally.window.sent, duration_s)),
        coverage: Coverage::EveryRequest,
        response_time_ns: times.response.times(),
        valid_time_ns: evidence.valid_time_ns,
        service_time_ns: evidence.service_time_ns,
        schedule_lag_ns: evidence.schedule_lag_ns,
        first_byte_ns: times.first_byte.summary(),
        connect_time_ns: part.totals.connect.summary(),
        tls_time_ns: part.totals.tls.summary(),
        sequence_time_ns: tally.sequence.as_deref().and_then(Histogram::summary),
        users: tally.users.as_deref().map(|users| UserCounts {
            arrived: users.arrived,
            served: users.visits.len(),
            turned_away: users.turned_away,
            visit_ns: users.visits.summary(),
        }),
        messages: messages::messages(job, tally, duration_s),
        sequences_per_s: tally
            .sequence
            .as_ref()
            .map(|_| per_second(tally.window.sequences, duration_s)),
        operations: operations(job, tally),
        connections: connections(job, part),
        generator: generator(part, &evidence),
        stages: stages::stages(job, part, duration_s),
        intervals: part.intervals.values().map(IntervalPart::interval).collect(),
        distributions: distributions(part),
        histogram: times.response.valid.encode(),
        open_histogram: encoded(times.response.open.as_ref()),
        occupancy: evidence.occupancy,
        warnings: warnings(job, part, &evidence, start),
        interrupted: part.interrupted,
        log,
        decoded: decoded(job, part),
        network: Some(network(job, part)),
        unexpected_replies: unexpected_replies(job, part),
        workers: workers::rows(part, duration_s),
        start,
        answers: part.totals.answered.named(job),
        timings: timings(part, &times),
    };
    recording.warnings.extend(recording.contradictions());
    let failure = recording.failure(evidence.connect_error.as_deref());
    recording.warnings.splice(0..0, failure);
    recording
}

/// The distributions of all times that the recording summarises, except response times.
fn timings(part: &Part, times: &Times) -> Timings {
    let tally = &part.tally;
    let messages = tally.messages.as_deref();
    let rooms = messages.and_then(|messages| messages.rooms.as_deref());
    Timings::of([
        (Timing::Service, times.service.as_ref()),
        (Timing::ScheduleLag, times.lag.as_ref()),
        (Timing::FirstByte, Some(&times.first_byte)),
        (Timing::Connect, Some(&part.totals.connect)),
        (Timing::Tls, Some(&part.totals.tls)),
        (Timing::Sequence, tally.sequence.as_deref()),
        (Timing::Visit, tally.users.as_deref().map(|users| &users.visits)),
        (Timing::FirstMessage, messages.map(|messages| &messages.first)),
        (Timing::LastMessage, messages.map(|messages| &messages.last)),
        (Timing::MessageGap, messages.map(|messages| &messages.gaps)),
        (Timing::Delivery, rooms.map(|rooms| &rooms.delivery)),
    ])
}

fn distributions(part: &Part) -> Vec<Distribution> {
    let of = |interval: &IntervalPart| {
        let length_s = interval.end_ns.saturating_sub(interval.begin_ns) as f64 / 1e9;
        Distribution::of(interval.begin_ns as f64 / 1e9, length_s, &interval.times)
    };
    Distribution::over_time(part.intervals.values().map(of).collect())
}

fn warnings(job: &Job, part: &Part, evidence: &WarningInputs, start: Option<CommonStart>) -> Vec<Warning> {
    let duration_s = part.length_ns() as f64 / 1e9;
    let mut all = evidence.warnings();
    all.extend(left_out(part));
    all.extend(workers::disagreement(job, part, duration_s));
    all.extend(start.and_then(|start| workers::far_apart(start, duration_s)));
    all.extend(lost_lines(part));
    all.extend(messages::unended(part));
    all
}

fn generator(part: &Part, evidence: &WarningInputs) -> Generator {
    let transports: Vec<&str> = part.transports.iter().map(String::as_str).collect();
    Generator {
        threads: part.threads.len() as u32,
        cpu_s: part.threads.values().map(|thread| thread.cpu_ns).sum::<u64>() as f64 / 1e9,
        busiest_thread: evidence.busiest_thread,
        transport: transports.join(", "),
        saturated: evidence.is_saturated() || evidence.own_shortages > 0,
    }
}

fn log(job: &Job, part: &Part) -> Option<Log> {
    let (wanted, log) = (job.log.as_ref()?, part.log.as_ref()?);
    Some(Log {
        path: log.path.clone(),
        share: wanted.share,
        lines: log.lines,
        lost: log.lost,
    })
}

fn lost_lines(part: &Part) -> Option<Warning> {
    let lost = part.log.as_ref()?.lost;
    (lost > 0).then(|| {
        Warning::new(
            WarningKind::Note,
            format!("{} log lines were lost: the disk is slow.", count(lost)),
        )
        .advise("Log a share of the requests (--log-share), or log to another disk.")
    })
}

fn encoded(histogram: Option<&Histogram>) -> String {
    histogram.map(Histogram::encode).unwrap_or_default()
}

fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        count as f64 / seconds
    } else {
        0.0
    }
}

/// The name of a protocol in recordings.
const fn protocol_name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Http1 => "http1",
        Protocol::Http2 => "http2",
        Protocol::Grpc => "grpc",
        Protocol::WebSocket => "websocket",
    }
}

/// Distributions over all operations.
struct Times {
    /// Response times of all requests.
    response: Responses,
    /// Service times, if they differ from response times.
    service: Option<Histogram>,
    lag: Option<Histogram>,
    first_byte: Histogram,
}

impl Times {
    fn of(tally: &Tally) -> Self {
        let mut response = Responses::default();
        let mut first_byte = Histogram::new();
        for operation in &tally.operations {
            response.merge(&operation.responses());
        }
        // If first and last byte arrived together, both times are equal.
        let whole: Vec<&ReplyTimes> = match &tally.open {
            Some(open) => vec![&open.service],
            None => tally
                .operations
                .iter()
                .map(|operation| &operation.response)
                .collect(),
        };
        for times in whole {
            if let Some(whole) = &times.whole {
                first_byte.merge(whole);
            }
        }
        if let Some(split) = &tally.first_byte_split {
            first_byte.merge(split);
        }
        let service = tally.open.as_ref().map(|open| {
            let mut sum = Histogram::new();
            open.service.add_to(&mut sum);
            sum
        });
        Self {
            response,
            service,
            lag: tally.open.as_ref().map(|open| open.lag.clone()),
            first_byte,
        }
    }
}

fn sums(tally: &Tally) -> (Requests, Outcomes) {
    let (mut requests, mut outcomes) = (Requests::default(), Outcomes::default());
    for operation in &tally.operations {
        requests.offered += operation.requests.offered;
        requests.sent += operation.requests.sent;
        requests.completed += operation.requests.completed;
        requests.valid += operation.requests.valid;
        outcomes.merge(&operation.outcomes);
    }
    (requests, outcomes)
}

fn connections(job: &Job, part: &Part) -> Connections {
    let all_at_begin = keeps_connections(job) && !matches!(job.load, Load::Closed { growth: Some(_), .. });
    let established = part.threads.values().map(|thread| {
        u64::from(if all_at_begin {
            thread.open_at_begin
        } else {
            thread.most_open
        })
    });
    Connections {
        asked: u64::from(job.load.connections()),
        established: established.sum(),
        reconnects: part.totals.reconnects,
        retried: part.tally.retried,
        redirects: part.tally.redirects,
    }
}

/// The sizes of bodies before and after decoding, if bodies are decoded.
fn decoded(job: &Job, part: &Part) -> Option<DecodedBodies> {
    let mut operations = job.workload.operations.iter();
    operations.find(|operation| operation.expect.decode)?;
    Some(part.totals.decoded)
}

fn network(job: &Job, part: &Part) -> Network {
    let is_tcp = job.target.connect.unix.is_none();
    Network {
        addresses: ranked(part)
            .map(|(address, one)| Address {
                address: address.to_owned(),
                connections: one.connections,
                left_out: one.left_out.as_ref().map(|first| first.text.clone()),
            })
            .collect(),
        retransmits: is_tcp.then_some(part.totals.retransmits),
        own_shortages: part.totals.own_shortages,
        tls: job.target.tls.as_ref().map(|_| part.totals.handshakes),
        agreed: part.totals.agreed.clone(),
    }
}

/// The addresses of the target, in the resolver's order.
fn ranked(part: &Part) -> impl Iterator<Item = (&str, &AddressPart)> {
    let mut all: Vec<_> = part
        .addresses
        .iter()
        .map(|(address, one)| (address.as_str(), one))
        .collect();
    all.sort_by_key(|&(address, one)| (one.rank, address));
    all.into_iter()
}

/// Warns about addresses that were left out. There is no warning if all addresses of one IP version failed and none of the other,
/// since that is normal for many names.
fn left_out(part: &Part) -> Option<Warning> {
    let is_v4 = |address: &str| Some(address.parse::<SocketAddr>().ok()?.is_ipv4());
    let used: Vec<bool> = ranked(part)
        .filter(|(_, one)| one.left_out.is_none())
        .filter_map(|(address, _)| is_v4(address))
        .collect();
    let left: Vec<(&str, &LowestThreadValue)> = ranked(part)
        .filter_map(|(address, one)| Some((address, one.left_out.as_ref()?)))
        .collect();
    let (address, reason) = left
        .iter()
        .find(|(address, _)| is_v4(address).is_some_and(|kind| used.contains(&kind)))?;
    let text = format!(
        "{} of {} addresses of the target were unreachable and not used, {address} among them: {}.",
        left.len(),
        part.addresses.len(),
        reason.text
    );
    Some(Warning::new(WarningKind::ConnectionsNotEstablished, text).advise("Check DNS, or use --resolve."))
}

fn status_codes(tally: &Tally) -> BTreeMap<String, u64> {
    let http = tally
        .statuses
        .iter()
        .enumerate()
        .map(|(code, &count)| (code.to_string(), count));
    let grpc = tally
        .grpc_statuses
        .iter()
        .enumerate()
        .map(|(code, &count)| (grpc_code(code), count));
    http.chain(grpc).filter(|(_, count)| *count > 0).collect()
}

/// Codes that gRPC does not have are counted together.
fn grpc_code(code: usize) -> String {
    if code == GRPC_STATUSES - 1 {
        "grpc-other".to_owned()
    } else {
        format!("grpc-{code}")
    }
}

fn operations(job: &Job, tally: &Tally) -> Vec<OperationRecording> {
    job.workload
        .operations
        .iter()
        .zip(&tally.operations)
        .map(|(operation, recorded)| {
            let response = recorded.responses();
            OperationRecording {
                name: operation.name.clone(),
                requests: recorded.requests,
                outcomes: recorded.outcomes,
                response_time_ns: response.times(),
                valid_time_ns: response.valid.summary(),
                histogram: response.valid.encode(),
                open_histogram: encoded(response.open.as_ref()),
            }
        })
        .collect()
}

fn unexpected_replies(job: &Job, part: &Part) -> Vec<UnexpectedReply> {
    let operations = &job.workload.operations;
    let wrong = |entry: &crate::SampleEntry| {
        Some(UnexpectedReply {
            operation: operations.get(usize::from(entry.operation))?.name.clone(),
            what: entry.what.clone(),
            expected: entry.expected.clone(),
            got: entry.got.clone(),
        })
    };
    part.totals.sample.entries().iter().filter_map(wrong).collect()
}

fn evidence(job: &Job, part: &Part, times: &Times) -> WarningInputs {
    let (tally, totals) = (&part.tally, &part.totals);
    let duration_s = part.length_ns() as f64 / 1e9;
    let (requests, outcomes) = sums(tally);
    let (load, due, in_flight) = match &job.load {
        Load::Closed { in_flight, .. } => (LoadKind::Closed, None, *in_flight),
        Load::Open {
            arrival, in_flight, ..
        } => (LoadKind::Open, Some(arrival), *in_flight),
        Load::Users { arrival, .. } => (LoadKind::Users, Some(arrival), 1),
    };
    let connections = connections(job, part);
    let text = |first: &Option<LowestThreadValue>| first.as_ref().map(|first| first.text.clone());
    let most = |share: fn(&ThreadPart) -> f64| part.threads.values().map(share).fold(0.0, f64::max);
    WarningInputs {
        load,
        due: due.map(|arrival| match (arrival.spacing, job.limits.requests) {
            (prony_load::Spacing::Even, None) => arrival.profile.events_within(duration_s),
            (prony_load::Spacing::Poisson, _) | (_, Some(_)) => tally.arrivals as f64,
        }),
        throughput_per_s: per_second(tally.window.completed, duration_s),
        valid_time_ns: times.response.valid.summary(),
        service_time_ns: times.service.as_ref().unwrap_or(&times.response.valid).summary(),
        first_byte_ns: times.first_byte.summary().filter(|_| tally.messages.is_none()),
        schedule_lag_ns: times.lag.as_ref().and_then(Histogram::summary),
        own_lag_ns_p99: tally.open.as_ref().and_then(|open| open.own_lag.quantile(0.99)),
        clock_step_ns: part.clock_step_ns,
        occupancy: occupancy(job, part),
        started: tally.window.started,
        completed: requests.completed,
        errors: outcomes.errors(),
        requests: requests.offered,
        connections_asked: connections.asked,
        connections_established: connections.established,
        keeps_connections: keeps_connections(job),
        in_flight: u64::from(in_flight),
        stream_limit: totals.stream_limit,
        own_shortages: totals.own_shortages,
        own_shortage: text(&totals.own_shortage),
        connect_error: text(&totals.connect_error),
        sent_again: totals.sent_again,
        retried: tally.retried,
        violation: text(&totals.violation),
        closed_by_server: totals.closed_by_server,
        duration_s,
        busiest_thread: most(ThreadPart::busy),
        starved_thread: most(ThreadPart::starved),
    }
}

/// Whether a connection lasts until the end of the load, unless the server closes it. Else some are being made at any moment.
fn keeps_connections(job: &Job) -> bool {
    let operations = job.workload.operations.iter();
    let mut headers = operations.flat_map(|operation| &operation.request.headers);
    let is_one_user_s = matches!(job.load, Load::Users { .. });
    !is_one_user_s && job.limits.requests_per_connection.is_none() && !headers.any(Header::asks_to_close)
}

/// How the slots of a closed load spent their time, if every slot always has something to do.
fn occupancy(job: &Job, part: &Part) -> Option<Occupancy> {
    let Load::Closed {
        connections,
        in_flight,
        ..
    } = job.load
    else {
        return None;
    };
    // A connection at its request limit keeps slots idle until its last reply, and a limited number of requests ends before the
    // load.
    if job.limits.requests.is_some() || !(keeps_connections(job) || in_flight == 1) {
        return None;
    }
    let depth = part
        .totals
        .stream_limit
        .map_or(in_flight, |limit| limit.min(in_flight));
    let threads = part.threads.values();
    let span_s = threads.clone().map(|thread| thread.span_ns).sum::<u64>() as f64 / 1e9;
    // Connections are spread nearly evenly over threads.
    let whole_s = span_s * f64::from(connections) / part.threads.len().max(1) as f64;
    let connected_s = threads.clone().map(|thread| thread.connected_ns).sum::<u64>() as f64 / 1e9;
    Some(Occupancy {
        slots_s: whole_s * f64::from(depth),
        requests_s: part.tally.window.in_flight_ns as f64 / 1e9,
        connects_s: (whole_s - connected_s).max(0.0) * f64::from(depth),
        pauses_s: threads.map(|thread| thread.paused_ns).sum::<u64>() as f64 / 1e9,
        unsent_s: part.tally.window.unsent_ns as f64 / 1e9,
    })
}
