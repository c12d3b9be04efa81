//! The rows between the description of a load and its errors: success, status, throughput, latency.

use super::{LoadResult, kind, llm};
use crate::text::{self, quantile, row, size};
use prony_config::contract::grpc_code_name;
use prony_records::{Messages, OperationRecording, Recording, Responses, count, verdict};
use prony_runner::{number, percent_down};

/// Maximum number of operations that are shown.
const MOST_OPERATIONS: usize = 30;

impl LoadResult<'_> {
    pub(super) fn rows(&self, columns: usize) -> String {
        let recording = self.recording;
        // Without a result no objective is judged.
        let mut lines = if self.has_result() {
            self.objectives(columns)
        } else {
            Vec::new()
        };
        lines.extend(success(recording, columns));
        lines.extend(statuses(recording, columns));
        lines.extend(redirects(recording, columns));
        lines.extend(self.no_reply(columns));
        if !self.has_result() {
            return lines.join("\n");
        }
        lines.extend(throughput(recording, columns));
        lines.extend(network(recording, columns));
        lines.extend(self.times(columns));
        lines.extend(operations(recording));
        lines.join("\n")
    }

    fn objectives(&self, columns: usize) -> Vec<String> {
        let widest = self
            .objective
            .iter()
            .map(|one| one.condition.chars().count())
            .max();
        let gap = if self.objective.len() > 1 { 3 } else { 2 };
        let widest = widest.unwrap_or(0) + gap;
        let lines = self.objective.iter().enumerate().map(|(place, one)| {
            let label = if place == 0 { "objective" } else { "" };
            let mark = if one.missed.is_none() { '✓' } else { '✗' };
            let value = format!("{mark} {:<widest$}", one.condition);
            let head = row(label, &value, "", columns);
            let used = text::width(&head);
            head + &text::wrapped(&one.found, columns, used, used)
        });
        lines.collect()
    }

    /// Requests without a reply, with advice if there was no other error.
    fn no_reply(&self, columns: usize) -> Vec<String> {
        let recording = self.recording;
        let outcomes = recording.outcomes;
        let after = recording
            .timeout_ns
            .map_or_else(String::new, |ns| format!(", after {:.1} s", ns as f64 / 1e9));
        let rows = [
            ("timeout", outcomes.timeout, after.as_str()),
            ("connect error", outcomes.connect_error, ""),
            ("reset", outcomes.reset, ""),
            ("dropped", outcomes.dropped, ""),
        ];
        let shown = rows.iter().filter(|(_, number, _)| *number > 0);
        let mut lines: Vec<String> = shown
            .enumerate()
            .map(|(place, (name, number, more))| {
                let label = if place == 0 { "no reply" } else { "" };
                row(label, name, &format!("{}{more}", count(*number)), columns)
            })
            .collect();
        let advice = verdict(recording)
            .advice()
            .filter(|_| recording.unexpected_replies.is_empty());
        lines.extend(advice.map(|advice| format!("    → {}", text::wrapped(advice, columns, 6, 6))));
        lines
    }
}

fn success(recording: &Recording, columns: usize) -> Option<String> {
    let share = recording.success()?;
    let of = format!(
        "{} of {}",
        count(recording.outcomes.valid),
        count(recording.due())
    );
    Some(row("success", &percent_down(share), &of, columns))
}

/// How many redirects were followed.
fn redirects(recording: &Recording, columns: usize) -> Option<String> {
    let followed = recording.connections.redirects;
    (followed > 0).then(|| row("redirects", &count(followed), "followed", columns))
}

fn statuses(recording: &Recording, columns: usize) -> Vec<String> {
    let is_grpc = recording.protocol == "grpc";
    let codes = recording.status_codes.iter();
    // Every good gRPC reply has the HTTP status 200, which says nothing.
    let shown = codes.filter(|(code, _)| !(is_grpc && code.as_str() == "200"));
    let mut lines: Vec<String> = shown
        .enumerate()
        .map(|(place, (code, number))| {
            let name = code
                .strip_prefix("grpc-")
                .map_or_else(|| code.clone(), grpc_status);
            let label = if place == 0 { "status" } else { "" };
            row(label, &name, &count(*number), columns)
        })
        .collect();
    let unexpected = recording.outcomes.unexpected;
    if unexpected > 0 {
        lines.push(row(
            "unexpected",
            &count(unexpected),
            "replies that are not as expected",
            columns,
        ));
    }
    lines
}

/// A gRPC status by name and number.
fn grpc_status(code: &str) -> String {
    let name = code.parse().ok().and_then(grpc_code_name);
    name.map_or_else(|| format!("gRPC {code}"), |name| format!("{name} ({code})"))
}

fn throughput(recording: &Recording, columns: usize) -> Vec<String> {
    let rate = |bytes: u64| per_second(bytes, recording.duration_s);
    let bytes = format!(
        "{} in, {} out",
        rate(recording.bytes.received),
        rate(recording.bytes.sent)
    );
    let mut lines = match &recording.messages {
        Some(messages @ Messages { llm: Some(llm), .. }) => llm::rows(recording, messages, llm, columns),
        Some(messages) if messages.streams.is_some() => streams(recording, messages, columns),
        _ => {
            let detail = if recording.goodput_per_s < recording.throughput_per_s {
                format!("valid, {}/s in all; {bytes}", number(recording.throughput_per_s))
            } else {
                bytes.clone()
            };
            let rate = format!("{}/s", number(recording.goodput_per_s));
            vec![row("throughput", &rate, &detail, columns)]
        }
    };
    lines.extend(offered_and_sent(recording, columns));
    if let Some(users) = recording.users {
        let text = format!(
            "{} served, {} turned away, at most {} present",
            count(users.served),
            count(users.turned_away),
            count(recording.connections.established)
        );
        lines.insert(0, row("users", &count(users.arrived), &text, columns));
    }
    if let Some(rate) = recording.sequences_per_s {
        lines.push(row(
            "sequences",
            &format!("{}/s", number(rate)),
            "complete",
            columns,
        ));
    }
    if let Some(messages) = recording.messages.filter(|messages| messages.streams.is_none()) {
        lines.extend(rooms(&messages, columns));
    }
    lines
}

/// The offered and the sent rate, if they differ.
fn offered_and_sent(recording: &Recording, columns: usize) -> Option<String> {
    let (offered, sent) = recording.offered_per_s.zip(recording.sent_per_s)?;
    let (offered, sent) = (number(offered), number(sent));
    let differs = recording.load["kind"] != "closed" && offered != sent;
    differs.then(|| {
        row(
            "offered",
            &format!("{offered}/s"),
            &format!("{sent}/s sent"),
            columns,
        )
    })
}

/// The messages of streams, and how the streams ended.
fn streams(recording: &Recording, messages: &Messages, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(streams) = messages.streams {
        let ends = format!(
            "{} complete, {} ended early, {} cut",
            count(streams.completed),
            count(streams.ended_early),
            count(streams.cut)
        );
        let rate = format!("{}/s", number(recording.throughput_per_s));
        lines.push(row("streams", &rate, &ends, columns));
    }
    let ids = messages.ids.map_or_else(
        || count(messages.received),
        |ids| {
            format!(
                "{} missing, {} duplicated, {} late",
                count(ids.missing),
                count(ids.doubled),
                count(ids.late)
            )
        },
    );
    let rate = format!("{}/s", number(messages.per_s));
    lines.push(row(kind::message(recording), &rate, &ids, columns));
    lines
}

/// How many members of rooms the messages reached.
fn rooms(messages: &Messages, columns: usize) -> Vec<String> {
    let rate = format!("{}/s", number(messages.per_s));
    let mut lines = vec![row(
        "received",
        &rate,
        &format!("{} messages", count(messages.received)),
        columns,
    )];
    if let Some((rooms, share)) = messages.rooms.and_then(|rooms| Some((rooms, rooms.reach()?))) {
        let of = format!("{} of {}", count(rooms.reached), count(rooms.expected));
        lines.push(row("delivery", &percent_down(share), &of, columns));
    }
    if let Some(ids) = messages.ids {
        let text = format!("{} duplicated, {} late", count(ids.doubled), count(ids.late));
        lines.push(row(
            "order",
            &format!("{} missing", count(ids.missing)),
            &text,
            columns,
        ));
    }
    lines
}

/// What happened below the protocol, if it is unusual.
fn network(recording: &Recording, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(decoded) = recording.decoded {
        let sizes = format!("{} after decoding", size(decoded.decoded_bytes as f64));
        lines.push(row(
            "decoded",
            &size(decoded.encoded_bytes as f64),
            &sizes,
            columns,
        ));
    }
    let Some(network) = &recording.network else {
        return lines;
    };
    let used = || {
        network
            .addresses
            .iter()
            .filter(|address| address.left_out.is_none())
    };
    if used().count() > 1 {
        let each: Vec<String> = used()
            .map(|address| format!("{} × {}", address.connections, address.address))
            .collect();
        lines.push(row(
            "addresses",
            &used().count().to_string(),
            &each.join(", "),
            columns,
        ));
    }
    if let Some(resent) = network.retransmits.filter(|number| *number > 0) {
        lines.push(row("TCP", &count(resent), "segments resent", columns));
    }
    if let Some(tls) = network.tls.filter(|tls| tls.completed > 0) {
        let resumed = percent_down(tls.resumed as f64 / tls.completed as f64);
        let text = format!("handshakes, {resumed} of them resumed");
        lines.push(row("TLS", &count(tls.completed), &text, columns));
    }
    lines
}

/// One row for each operation, if there are several.
fn operations(recording: &Recording) -> Option<String> {
    let all = &recording.operations;
    if all.len() < 2 {
        return None;
    }
    let names = all.iter().map(|operation| text::width(&operation.name));
    let label = names.max().unwrap_or(0).clamp(9, 40);
    let mut text = format!(
        "\n  {:<label$}{:>10}{:>11}{:>11}{:>11}",
        "operation", "success", "valid", "p50", "p99"
    );
    for operation in all.iter().take(MOST_OPERATIONS) {
        text += &of_operation(operation, label);
    }
    Some(text)
}

fn of_operation(operation: &OperationRecording, label: usize) -> String {
    let outcomes = &operation.outcomes;
    let due = outcomes.total().max(operation.requests.offered);
    let times = Responses::of_operation(operation)
        .ok()
        .and_then(|responses| responses.times());
    let time = |of: fn(&prony_records::ResponseTimes) -> prony_records::Quantile| {
        times
            .as_ref()
            .map_or_else(|| "–".to_owned(), |times| quantile(of(times)))
    };
    let success = if due > 0 {
        percent_down(outcomes.valid as f64 / due as f64)
    } else {
        "–".to_owned()
    };
    format!(
        "\n  {:<label$}{success:>10}{:>11}{:>11}{:>11}",
        operation.name,
        count(outcomes.valid),
        time(|times| times.p50),
        time(|times| times.p99)
    )
}

fn per_second(bytes: u64, seconds: f64) -> String {
    size(bytes as f64 / seconds.max(1e-9)) + "/s"
}
