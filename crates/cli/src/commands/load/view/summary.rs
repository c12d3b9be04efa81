//! A recording as text for people.

use super::llm;
use crate::shown::quantile;
use prony_measurement::{Messages, Recording, ResponseTimes};
use std::fmt::Write as _;

/// What a load gave, as lines of text.
pub(in super::super) fn summary(recording: &Recording) -> String {
    let mut text = String::new();
    let kind = recording.load["kind"].as_str().unwrap_or_default();
    let connections = recording.connections;
    let generator = &recording.generator;
    let _ = writeln!(
        text,
        "{}: {kind} load for {:.1} s{}, {} connections, {} {} over {}\n",
        recording.target,
        recording.duration_s,
        if recording.interrupted {
            " until it was interrupted"
        } else {
            ""
        },
        connections.established,
        generator.threads,
        if generator.threads == 1 {
            "thread"
        } else {
            "threads"
        },
        generator.transport,
    );
    let requests = recording.requests;
    let _ = writeln!(
        text,
        "  throughput  {:>12.1} replies/s",
        recording.throughput_per_s
    );
    let _ = writeln!(
        text,
        "  goodput     {:>12.1} valid replies/s",
        recording.goodput_per_s
    );
    let _ = writeln!(
        text,
        "  requests    {:>12} offered, {} sent, {} completed, {} valid",
        requests.offered, requests.sent, requests.completed, requests.valid
    );
    if let Some((offered, sent)) = recording.offered_per_s.zip(recording.sent_per_s) {
        let _ = writeln!(text, "  rate        {offered:>12.1} offered/s, {sent:.1} sent/s");
    }
    let _ = writeln!(
        text,
        "  bytes       {:>12} sent, {} received",
        recording.bytes.sent, recording.bytes.received
    );
    if let Some(decoded) = recording.decoded {
        let _ = writeln!(
            text,
            "  decoded     {:>12} bytes of bodies, {} once they were decoded",
            decoded.encoded_bytes, decoded.decoded_bytes
        );
    }
    if recording.outcomes.errors() > 0 {
        outcomes(recording, &mut text);
    }
    network(recording, &mut text);
    text.push('\n');
    match &recording.messages {
        Some(messages @ Messages { llm: Some(llm), .. }) => text += &llm::text(recording, messages, llm),
        _ => times(recording, &mut text),
    }
    operations(recording, &mut text);
    for wrong in &recording.wrong_replies {
        let _ = writeln!(text, "\n  wrong reply to {}: {}", wrong.operation, wrong.what);
        let _ = writeln!(text, "    expected {}", wrong.expected);
        let _ = writeln!(text, "    got      {}", wrong.got);
    }
    text.trim_end().to_owned()
}

fn outcomes(recording: &Recording, text: &mut String) {
    let outcomes = recording.outcomes;
    let named = [
        ("wrong reply", outcomes.wrong_reply),
        ("status", outcomes.status),
        ("timeout", outcomes.timeout),
        ("refused", outcomes.refused),
        ("reset", outcomes.reset),
        ("not sent", outcomes.not_sent),
    ];
    let shown: Vec<String> = named
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    let _ = writeln!(
        text,
        "  errors      {:>12} ({})",
        outcomes.errors(),
        shown.join(", ")
    );
    let codes: Vec<String> = recording
        .status_codes
        .iter()
        .map(|(code, count)| format!("{count} × {code}"))
        .collect();
    let _ = writeln!(text, "  status codes             {}", codes.join(", "));
}

/// What went on below the protocol, where it is not what one expects.
fn network(recording: &Recording, text: &mut String) {
    let Some(network) = &recording.network else { return };
    let used: Vec<String> = network
        .addresses
        .iter()
        .filter(|address| address.left_out.is_none())
        .map(|address| format!("{} × {}", address.connections, address.address))
        .collect();
    if used.len() > 1 {
        let _ = writeln!(text, "  addresses   connections: {}", used.join(", "));
    }
    if let Some(count) = network.retransmits.filter(|count| *count > 0) {
        let _ = writeln!(text, "  TCP         {count:>12} segments sent again");
    }
    if let Some(tls) = network.tls.filter(|tls| tls.completed > 0) {
        let _ = writeln!(
            text,
            "  TLS         {:>12} handshakes, {:.1} % of them resumed",
            tls.completed,
            tls.resumed as f64 / tls.completed as f64 * 100.0
        );
    }
}

fn times(recording: &Recording, text: &mut String) {
    let rows = [
        (
            "valid",
            recording
                .valid_time_ns
                .filter(|_| recording.outcomes.errors() > 0),
        ),
        (
            "service time",
            recording
                .service_time_ns
                .filter(|_| recording.schedule_lag_ns.is_some()),
        ),
        ("schedule lag", recording.schedule_lag_ns),
        (
            "first byte",
            recording
                .first_byte_ns
                .filter(|first| Some(*first) != recording.service_time_ns),
        ),
        ("connect", recording.connect_time_ns),
        ("TLS handshake", recording.tls_time_ns),
        ("sequence", recording.sequence_time_ns),
        (
            "first message",
            recording.messages.and_then(|messages| messages.first_ns),
        ),
        (
            "message gap",
            recording.messages.and_then(|messages| messages.gap_ns),
        ),
        (
            "delivery",
            recording
                .messages
                .and_then(|messages| messages.rooms?.delivery_ns),
        ),
        (
            "last message",
            recording.messages.and_then(|messages| messages.last_ns),
        ),
    ];
    let _ = writeln!(
        text,
        "  {:<14}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "", "mean", "p50", "p90", "p99", "p99.9", "p99.99", "max"
    );
    if let Some(times) = &recording.response_time_ns {
        let _ = writeln!(text, "  {:<14}{}", "response time", row(times));
    }
    for (name, latency) in rows {
        if let Some(latency) = latency.map(ResponseTimes::from) {
            let _ = writeln!(text, "  {name:<14}{}", row(&latency));
        }
    }
    if let Some(rate) = recording.sequences_per_s {
        let _ = writeln!(text, "\n  sequences   {rate:>12.1} whole ones/s");
    }
    if let Some(messages) = &recording.messages {
        text.push('\n');
        streams(messages, text);
    }
}

/// The messages of streams, and how the streams ended.
fn streams(messages: &Messages, text: &mut String) {
    let _ = writeln!(
        text,
        "  messages    {:>12.1} messages/s, {} received",
        messages.per_s, messages.received
    );
    if let Some((rooms, reach)) = messages.rooms.and_then(|rooms| Some((rooms, rooms.reach()?))) {
        let _ = writeln!(
            text,
            "  reach       {:>11.4}% of the members of rooms of {}: {} of {}",
            reach * 100.0,
            rooms.members,
            rooms.reached,
            rooms.expected
        );
    }
    if let Some(ids) = messages.ids {
        let _ = writeln!(
            text,
            "  {:<12}{:>12} missing, {} doubled, {} late",
            if messages.rooms.is_some() { "order" } else { "ids" },
            ids.missing,
            ids.doubled,
            ids.late
        );
    }
    if let Some(streams) = messages.streams {
        let _ = writeln!(
            text,
            "  streams     {:>12} completed ({} at their bound), {} ended early, {} cut by the end of the load",
            streams.completed, streams.at_bound, streams.ended_early, streams.cut
        );
    }
}

fn row(times: &ResponseTimes) -> String {
    let ResponseTimes {
        mean,
        p50,
        p90,
        p99,
        p99_9,
        p99_99,
        max,
        ..
    } = *times;
    [mean, p50, p90, p99, p99_9, p99_99, max]
        .map(|found| format!("{:>10}", quantile(found)))
        .concat()
}

fn operations(recording: &Recording, text: &mut String) {
    if recording.operations.len() < 2 {
        return;
    }
    text.push('\n');
    for operation in &recording.operations {
        let _ = write!(
            text,
            "  {:<24}{:>10} valid",
            operation.name, operation.requests.valid
        );
        if let Some(latency) = operation.response_time_ns {
            let _ = write!(
                text,
                ", p50 {}, p99 {}",
                quantile(latency.p50),
                quantile(latency.p99)
            );
        }
        text.push('\n');
    }
}

/// Says the warnings on standard error.
pub(in super::super) fn warn(recording: &Recording) {
    for warning in &recording.warnings {
        eprintln!("warning: {}", warning.text);
    }
    if recording.messages.is_some_and(|messages| messages.llm.is_some()) {
        llm::advise(recording);
    }
}
