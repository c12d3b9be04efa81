//! The differences between kinds of loads: their description, the unit that is counted, and their times.

use crate::text::{self, duration, plural, size};
use prony_load::{Load, Profile, Protocol};
use prony_records::{Latency, Messages, Recording, ResponseTimes, count};
use prony_runner::number;

pub(super) fn load(recording: &Recording) -> Option<Load> {
    serde_json::from_value(recording.load.clone()).ok()
}

/// The unit of replies.
pub(super) fn reply(recording: &Recording) -> &'static str {
    match recording.protocol.as_str() {
        "grpc" => "calls",
        "websocket" => "messages",
        _ => "replies",
    }
}

/// The unit of a stream.
pub(super) fn message(recording: &Recording) -> &'static str {
    match recording.protocol.as_str() {
        "grpc" | "websocket" => "messages",
        _ => "events",
    }
}

fn protocol(recording: &Recording) -> &'static str {
    let known: Option<Protocol> = serde_json::from_value(recording.protocol.as_str().into()).ok();
    known.map_or("unknown protocol", Protocol::title)
}

/// Two lines: the target of the requests, and how they arrived. `message_bytes` is the size of a sent message, if it is known.
pub(super) fn describe(recording: &Recording, message_bytes: Option<u64>, columns: usize) -> String {
    let mut target = format!("{}, {}", recording.target, protocol(recording));
    if let Some(proxy) = &recording.proxy {
        target = format!("{target}, through the proxy {proxy}");
    }
    let generator = &recording.generator;
    let mut parts = match load(recording) {
        Some(load) => arrivals(&load, recording, message_bytes),
        None => vec!["unknown load".to_owned()],
    };
    parts.push(format!("{:.1} s", recording.duration_s));
    parts.push(format!(
        "{} ({:.0} % busy)",
        plural(u64::from(generator.threads), "generator thread"),
        generator.busiest_thread * 100.0
    ));
    format!(
        "  {}\n  {}",
        text::clauses(&target, columns, 2, 4),
        text::clauses(&parts.join(", "), columns, 2, 4)
    )
}

fn arrivals(load: &Load, recording: &Recording, message_bytes: Option<u64>) -> Vec<String> {
    let held = |connections, in_flight| held((connections, in_flight), recording, message_bytes);
    match load {
        Load::Closed {
            connections,
            in_flight,
            think_ns,
            growth,
            ..
        } => {
            let mut parts = vec!["closed load".to_owned(), held(*connections, *in_flight)];
            parts.extend(growth.map(|growth| {
                format!(
                    "growing from {} within {}",
                    count(u64::from(growth.from)),
                    duration(growth.over_ns)
                )
            }));
            if *think_ns > 0 {
                parts.push(format!("think time {}", duration(*think_ns)));
            }
            parts
        }
        Load::Open {
            arrival,
            connections,
            in_flight,
            ..
        } => {
            let connections = held(*connections, *in_flight);
            match &arrival.profile {
                Profile::Stages { stages } => {
                    let stages = plural(stages.len() as u64, "stage");
                    vec![format!("open load in {stages}"), connections]
                }
                profile => vec!["open load".to_owned(), rates(profile), connections],
            }
        }
        Load::Users {
            arrival,
            requests_per_user,
            think_ns,
            ..
        } => {
            let think = if *think_ns == 0 {
                "0 s".to_owned()
            } else {
                duration(*think_ns)
            };
            vec![
                rates(&arrival.profile).replace("/s", " users/s"),
                format!("{} each", plural(u64::from(*requests_per_user), "request")),
                format!("think time {think}"),
            ]
        }
    }
}

/// A rate that the user chose: with all of its digits.
pub(super) fn offered(per_second: f64) -> String {
    if per_second.fract() == 0.0 && per_second < 1e12 {
        count(per_second as u64)
    } else {
        number(per_second)
    }
}

fn rates(profile: &Profile) -> String {
    let shown = |rate: prony_load::RateLevel| offered(rate.as_per_second());
    match profile {
        Profile::Constant { rate } => format!("{}/s", offered(rate.as_per_second())),
        Profile::Ramp { from, to, over_ns } => {
            format!(
                "{} to {}/s within {}",
                shown(*from),
                shown(*to),
                duration(*over_ns)
            )
        }
        Profile::StepLoad { from, step, every_ns } => {
            format!(
                "from {}/s, {} more every {}",
                shown(*from),
                offered(step.as_per_second()),
                duration(*every_ns)
            )
        }
        Profile::Stages { stages } => plural(stages.len() as u64, "stage"),
    }
}

/// Connections, and how many requests are in flight on each.
fn held((connections, in_flight): (u32, u32), recording: &Recording, message_bytes: Option<u64>) -> String {
    let connections = plural(u64::from(connections), "connection");
    let what = match recording.protocol.as_str() {
        "http2" | "grpc" => "stream",
        "websocket" => "message",
        _ => "request",
    };
    let messages = || plural(u64::from(in_flight), what);
    match (in_flight, what, message_bytes) {
        (_, "message", Some(bytes)) => format!("{connections} × {} of {}", messages(), size(bytes as f64)),
        (1, "stream" | "request", _) => connections,
        _ => format!("{connections} × {}", messages()),
    }
}

/// The rows of the latency table, most important first. `response` covers all requests.
pub(super) fn times(
    recording: &Recording,
    response: Option<ResponseTimes>,
) -> Vec<(&'static str, ResponseTimes)> {
    let of = |latency: Option<Latency>| latency.map(ResponseTimes::from);
    let messages = recording.messages;
    let connects = shows_connects(recording);
    let connect = of(recording.connect_time_ns).filter(|_| connects);
    let tls = of(recording.tls_time_ns).filter(|_| connects);
    let lag = of(recording.schedule_lag_ns);
    let rows: Vec<(&'static str, Option<ResponseTimes>)> = match &messages {
        Some(Messages { llm: Some(llm), .. }) => vec![
            ("TTFT", of(llm.ttft_ns)),
            ("TPOT", of(llm.tpot_ns)),
            ("inter-chunk", of(messages.and_then(|messages| messages.gap_ns))),
            ("answer", of(messages.and_then(|messages| messages.last_ns))),
            ("send lag", lag),
            ("connect", connect),
            ("TLS", tls),
        ],
        Some(stream) if stream.streams.is_some() => vec![
            (first_message(recording), of(stream.first_ns)),
            ("gap", of(stream.gap_ns)),
            ("stream", of(stream.last_ns)),
            ("send lag", lag),
            ("connect", connect),
            ("TLS", tls),
        ],
        _ => {
            let first_byte = recording.first_byte_ns;
            let alone = first_byte.filter(|first| Some(*first) != recording.service_time_ns);
            let visit = recording.users.and_then(|users| users.visit_ns);
            vec![
                ("response", response),
                ("valid", valid(recording)),
                ("service", of(service(recording))),
                ("send lag", lag),
                ("first byte", of(alone)),
                ("visit", of(visit)),
                ("sequence", of(recording.sequence_time_ns)),
                (
                    "delivery",
                    of(messages.and_then(|messages| messages.rooms?.delivery_ns)),
                ),
                ("connect", connect),
                ("TLS", tls),
            ]
        }
    };
    rows.into_iter()
        .filter_map(|(name, times)| Some((name, times?)))
        .collect()
}

fn first_message(recording: &Recording) -> &'static str {
    match message(recording) {
        "events" => "first event",
        _ => "first message",
    }
}

/// Times of valid replies only; `None` if all requests had one.
fn valid(recording: &Recording) -> Option<ResponseTimes> {
    recording
        .valid_time_ns
        .filter(|_| recording.outcomes.errors() > 0)
        .map(ResponseTimes::from)
}

/// Times from the send; `None` if requests are due when they are sent.
fn service(recording: &Recording) -> Option<Latency> {
    recording
        .service_time_ns
        .filter(|_| recording.schedule_lag_ns.is_some())
}

/// Whether connect times are of interest: not in an open load that keeps its connections.
fn shows_connects(recording: &Recording) -> bool {
    let is_open = matches!(load(recording), Some(Load::Open { .. }));
    !is_open || recording.connections.reconnects > 0
}
