//! Puts together what the workers recorded.

mod suspicion;

use self::suspicion::{Evidence, LoadKind};
use crate::protocol::rules;
use crate::reach::Reached;
use crate::recorder::{Part, ReplyTimes};
use crate::worker::{Report, Sample};
use prony_load::{Job, Load, Protocol};
use prony_measurement::{
    Address, Connections, DecodedBodies, Generator, Handshakes, Histogram, Interval, Messages, Network,
    OperationRecording, Outcomes, Recording, Requests, SCHEMA, WrongReply,
};
use std::collections::BTreeMap;

/// All that a recording is made of.
pub(crate) struct Material<'a> {
    /// The measurement and its drain, of all threads.
    pub(crate) part: Part,
    pub(crate) intervals: Vec<Interval>,
    pub(crate) ends: Vec<Report>,
    pub(crate) transport: &'static str,
    pub(crate) clock_step_ns: Option<i64>,
    pub(crate) reached: &'a Reached,
    /// Whether somebody ended the measurement before its time.
    pub(crate) interrupted: bool,
}

/// The recording of a job.
pub(crate) fn recording(job: &Job, material: Material<'_>) -> Recording {
    let Material {
        part,
        intervals,
        ends,
        transport,
        clock_step_ns,
        reached,
        interrupted,
    } = material;
    let duration_s = ends.iter().map(|end| end.measured.length_ns).max().unwrap_or(0) as f64 / 1e9;
    let times = Times::of(&part);
    let (requests, outcomes) = sums(&part);
    let connections = connections(job, &ends);
    let (connect, tls) = handshakes(&ends);
    let evidence = Evidence {
        clock_step_ns,
        throughput_per_s: per_second(part.window.completed, duration_s),
        response_time_ns: times.response.summary(),
        service_time_ns: times.service.as_ref().unwrap_or(&times.response).summary(),
        schedule_lag_ns: times.lag.as_ref().and_then(Histogram::summary),
        own_lag_ns_p99: part.open.as_ref().and_then(|open| open.own_lag.quantile(0.99)),
        ..evidence(job, &part, &ends, duration_s)
    };
    Recording {
        schema: SCHEMA,
        target: job.target.url.clone(),
        protocol: protocol_name(job.protocol).to_owned(),
        load: serde_json::to_value(&job.load).expect("a load is plain data"),
        duration_s,
        requests,
        throughput_per_s: evidence.throughput_per_s,
        goodput_per_s: per_second(part.window.valid, duration_s),
        outcomes,
        status_codes: status_codes(&part),
        bytes: part.window.bytes,
        response_time_ns: evidence.response_time_ns,
        service_time_ns: evidence.service_time_ns,
        schedule_lag_ns: evidence.schedule_lag_ns,
        first_byte_ns: times.first_byte.summary(),
        connect_time_ns: connect.summary(),
        tls_time_ns: tls.summary(),
        sequence_time_ns: part.sequence.as_deref().and_then(Histogram::summary),
        messages: part.messages.as_ref().map(|messages| Messages {
            received: messages.count,
            per_s: per_second(messages.count, duration_s),
            first_ns: messages.first.summary(),
            last_ns: messages.last.summary(),
        }),
        sequences_per_s: part
            .sequence
            .as_ref()
            .map(|_| per_second(part.window.sequences, duration_s)),
        operations: operations(job, &part),
        connections,
        generator: Generator {
            threads: ends.len() as u32,
            cpu_s: ends.iter().map(|end| end.measured.used.cpu_ns).sum::<u64>() as f64 / 1e9,
            busiest_thread: evidence.busiest_thread,
            transport: transport.to_owned(),
            saturated: evidence.is_saturated() || evidence.own_shortages > 0,
        },
        intervals,
        histogram: times.response.encode(),
        warnings: evidence.warnings().into_iter().chain(reached.warning()).collect(),
        interrupted,
        log: None,
        decoded: decoded(job, &ends),
        network: Some(network(job, reached, &ends)),
        wrong_replies: wrong_replies(job, ends),
    }
}

fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        count as f64 / seconds
    } else {
        0.0
    }
}

/// The word for a protocol in recordings.
const fn protocol_name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Http1 => "http1",
        Protocol::Http2 => "http2",
        Protocol::Grpc => "grpc",
    }
}

/// The distributions of all operations together.
struct Times {
    response: Histogram,
    /// Where it is not the response time.
    service: Option<Histogram>,
    lag: Option<Histogram>,
    first_byte: Histogram,
}

impl Times {
    fn of(part: &Part) -> Self {
        let mut response = Histogram::new();
        let mut first_byte = Histogram::new();
        for operation in &part.operations {
            operation.response.add_to(&mut response);
        }
        // Replies that came whole have their first byte when they have their last.
        let whole: Vec<&ReplyTimes> = match &part.open {
            Some(open) => vec![&open.service],
            None => part
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
        if let Some(split) = &part.first_byte_split {
            first_byte.merge(split);
        }
        let service = part.open.as_ref().map(|open| {
            let mut sum = Histogram::new();
            open.service.add_to(&mut sum);
            sum
        });
        Self {
            response,
            service,
            lag: part.open.as_ref().map(|open| open.lag.clone()),
            first_byte,
        }
    }
}

fn sums(part: &Part) -> (Requests, Outcomes) {
    let (mut requests, mut outcomes) = (Requests::default(), Outcomes::default());
    for operation in &part.operations {
        requests.offered += operation.requests.offered;
        requests.sent += operation.requests.sent;
        requests.completed += operation.requests.completed;
        requests.valid += operation.requests.valid;
        outcomes.merge(&operation.outcomes);
    }
    (requests, outcomes)
}

fn connections(job: &Job, ends: &[Report]) -> Connections {
    let all_at_begin = !matches!(
        job.load,
        Load::Users { .. } | Load::Closed { growth: Some(_), .. }
    );
    let established = |end: &Report| {
        u64::from(if all_at_begin {
            end.measured.open_at_begin
        } else {
            end.totals.most_open
        })
    };
    Connections {
        asked: u64::from(job.load.connections()),
        established: ends.iter().map(established).sum(),
        reconnects: ends.iter().map(|end| end.totals.reconnects).sum(),
    }
}

/// The sizes of bodies before and after they were decoded, where they are.
fn decoded(job: &Job, ends: &[Report]) -> Option<DecodedBodies> {
    let mut operations = job.workload.operations.iter();
    operations.find(|operation| operation.expect.decode)?;
    let mut sum = prony_load::Decoded::default();
    for end in ends {
        sum.merge(&end.decoded);
    }
    Some(DecodedBodies {
        replies: sum.replies,
        encoded_bytes: sum.encoded_bytes,
        decoded_bytes: sum.decoded_bytes,
    })
}

fn network(job: &Job, reached: &Reached, ends: &[Report]) -> Network {
    let begun = |peer: usize| ends.iter().map(|end| end.network.begun[peer]).sum();
    let used = reached
        .route
        .peers
        .iter()
        .enumerate()
        .map(|(peer, used)| Address {
            address: used.to_string(),
            connections: begun(peer),
            left_out: None,
        });
    let left_out = reached.left_out.iter().map(|(peer, reason)| Address {
        address: peer.to_string(),
        connections: 0,
        left_out: Some(reason.clone()),
    });
    let is_tcp = job.target.reach.unix.is_none();
    let sum = |of: fn(&Report) -> u64| ends.iter().map(of).sum();
    Network {
        addresses: used.chain(left_out).collect(),
        retransmits: is_tcp.then(|| sum(|end| end.network.retransmits)),
        own_shortages: sum(|end| end.totals.own_shortages),
        tls: job.target.tls.as_ref().map(|_| Handshakes {
            completed: sum(|end| end.totals.handshakes.completed),
            resumed: sum(|end| end.totals.handshakes.resumed),
        }),
    }
}

fn handshakes(ends: &[Report]) -> (Histogram, Histogram) {
    let (mut connect, mut tls) = (Histogram::new(), Histogram::new());
    for end in ends {
        connect.merge(&end.totals.connect);
        tls.merge(&end.totals.tls);
    }
    (connect, tls)
}

fn status_codes(part: &Part) -> BTreeMap<String, u64> {
    let http = part
        .statuses
        .iter()
        .enumerate()
        .map(|(code, &count)| (code.to_string(), count));
    let grpc = part
        .grpc_statuses
        .iter()
        .enumerate()
        .map(|(code, &count)| (format!("grpc-{code}"), count));
    http.chain(grpc).filter(|(_, count)| *count > 0).collect()
}

fn operations(job: &Job, part: &Part) -> Vec<OperationRecording> {
    job.workload
        .operations
        .iter()
        .zip(&part.operations)
        .map(|(operation, recorded)| {
            let mut response = Histogram::new();
            recorded.response.add_to(&mut response);
            OperationRecording {
                name: operation.name.clone(),
                requests: recorded.requests,
                outcomes: recorded.outcomes,
                response_time_ns: response.summary(),
                histogram: response.encode(),
            }
        })
        .collect()
}

fn wrong_replies(job: &Job, ends: Vec<Report>) -> Vec<WrongReply> {
    let mut all = Sample::new(job.check.keep, 0, 0);
    for end in ends {
        all.merge(end.totals.sample);
    }
    all.into_entries()
        .map(|(operation, mismatch)| WrongReply {
            operation: job.workload.operations[usize::from(operation)].name.clone(),
            what: mismatch.what,
            expected: mismatch.expected,
            got: mismatch.got,
        })
        .collect()
}

fn evidence(job: &Job, part: &Part, ends: &[Report], duration_s: f64) -> Evidence {
    let (requests, outcomes) = sums(part);
    let share = |ns: u64, end: &Report| ns as f64 / (end.measured.length_ns.max(1)) as f64;
    let (load, due, in_flight) = match &job.load {
        Load::Closed { in_flight, .. } => (LoadKind::Closed, None, *in_flight),
        Load::Open {
            arrival, in_flight, ..
        } => (LoadKind::Open, Some(arrival), *in_flight),
        Load::Users { arrival, .. } => (LoadKind::Users, Some(arrival), 1),
    };
    let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
    let connections = connections(job, ends);
    Evidence {
        load,
        due: due.map(|arrival| match (arrival.spacing, job.limits.requests) {
            (prony_load::Spacing::Even, None) => arrival.profile.events_within(duration_s),
            (prony_load::Spacing::Poisson, _) | (_, Some(_)) => part.arrivals as f64,
        }),
        always_busy: is_always_busy(job),
        started: part.window.started,
        completed: requests.completed,
        errors: outcomes.errors(),
        requests: requests.offered,
        connections_asked: connections.asked,
        connections_established: connections.established,
        in_flight: u64::from(in_flight),
        stream_limit: ends.iter().filter_map(|end| end.totals.stream_limit).min(),
        own_shortages: ends.iter().map(|end| end.totals.own_shortages).sum(),
        own_shortage: ends.iter().find_map(|end| end.totals.own_shortage.clone()),
        connect_error: ends.iter().find_map(|end| end.totals.connect_error.clone()),
        sent_again: ends.iter().map(|end| end.totals.sent_again).sum(),
        violation: ends.iter().find_map(|end| end.totals.violation),
        closed_by_server: ends.iter().map(|end| end.totals.closed_by_server).sum(),
        busiest_thread: largest(&mut ends.iter().map(|end| {
            share(
                end.measured.used.cpu_ns.saturating_sub(end.measured.looked_ns),
                end,
            )
            .min(1.0)
        })),
        starved_thread: largest(
            &mut ends
                .iter()
                .map(|end| share(end.measured.used.waiting_ns, end).min(1.0)),
        ),
        ..Evidence::default()
    }
}

/// Whether each place has a request under way at any time of the measurement.
fn is_always_busy(job: &Job) -> bool {
    let operations = &job.workload.operations;
    let mut headers = operations.iter().flat_map(|operation| &operation.request.headers);
    let kept_alive = job.limits.requests_per_connection.is_none() && !headers.any(rules::asks_to_close);
    let to_the_end = job.limits.requests.is_none();
    let places = matches!(
        job.load,
        Load::Closed {
            think_ns: 0,
            growth: None,
            ..
        }
    );
    places && kept_alive && to_the_end
}
