//! Loads, results and the method in plain words.

use crate::Input;
use crate::number::{Unit, digits, ends, grouped, percent, plural, ratio};
use prony_records::{Measurement, ServiceId, that_count};
use prony_statistics::{Better, Group, Metric, NoBound, Precision, Quantity, ServiceSummary};
use serde_json::Value;
use std::collections::BTreeSet;

/// Most requests of an open load that wait, and most users present, if a load names no other number.
const BACKLOG: u64 = 1_000_000;
const MAX_USERS: u64 = 10_000;

/// Describes a load as the load crate serialises it, with all that distinguishes it from other loads. For a workload of `sequences`, a
/// rate counts whole ones. Texts are for people: the identity of a load is its `load_id`.
pub fn describe_load(load: &Value, sequences: bool) -> String {
    let due = if sequences {
        "sequences per second"
    } else {
        "requests per second"
    };
    let count = |key: &str| load.get(key).and_then(Value::as_u64);
    let on = slots(load);
    let pause = pause(load);
    let arrival = |what: &str| {
        load.get("arrival")
            .map(|arrival| describe_arrival(arrival, what))
            .unwrap_or_default()
    };
    let most = |key: &str, usual: u64, what: &str| match count(key) {
        Some(most) if most != usual => format!("; at most {} {what}", grouped(most as f64)),
        _ => String::new(),
    };
    let connections = connections(load);
    match load.get("kind").and_then(Value::as_str) {
        Some("closed") => format!("closed loop{on}{}{pause}{connections}", growth(load)),
        Some("open") => format!(
            "open loop: {}{on}{connections}{}",
            arrival(due),
            most("backlog", BACKLOG, "waiting")
        ),
        // A search for the highest rate: its result is in the row.
        Some("capacity") => {
            let objective = load.get("objective").and_then(Value::as_str).unwrap_or_default();
            format!("highest offered rate with {objective}{on}")
        }
        Some("start") => start(load),
        Some("users") => {
            let requests = count("requests_per_user").unwrap_or_default() as usize;
            format!(
                "users arrive, {}; each sends {}{pause} and leaves{}",
                arrival("per second"),
                plural(requests, "request"),
                most("max_users", MAX_USERS, "at once")
            )
        }
        _ => load.to_string(),
    }
}

/// What is measured of a start: `first reply, all files in the page cache`.
fn start(load: &Value) -> String {
    let seconds = |key: &str| load[key].as_u64().map_or(0.0, |ns| ns as f64 / 1e9);
    let under = || describe_load(&load["load"], false);
    match load["measures"].as_str() {
        Some("warm") => "first reply, all files in the page cache".to_owned(),
        Some("cold") => "first reply, no file in the page cache".to_owned(),
        Some("memory") => format!(
            "memory at rest ({} s), and after {} s of a {}",
            seconds("rest_ns"),
            seconds("duration_ns"),
            under()
        ),
        Some("steady_rate") => format!(
            "time to the steady rate, within {} s of a {}",
            seconds("duration_ns"),
            under()
        ),
        _ => load.to_string(),
    }
}

/// The connections of a load and the requests on each: ` on 64 connections, 2 requests under way on each`.
fn slots(load: &Value) -> String {
    let count = |key: &str| load.get(key).and_then(Value::as_u64);
    let Some(connections) = count("connections") else {
        return String::new();
    };
    let connections = plural(connections as usize, "connection");
    let rooms = count("members").map_or_else(String::new, |members| format!(" in rooms of {members}"));
    let each = match count("in_flight") {
        Some(depth) if depth > 1 => format!(", {depth} requests under way on each"),
        _ => String::new(),
    };
    format!(" on {connections}{rooms}{each}")
}

/// What becomes of connections, and how they reach the service: `, one request on each, over HTTP/2 with TLS`.
fn connections(load: &Value) -> String {
    let requests = match load.get("requests_per_connection").and_then(Value::as_u64) {
        Some(1) => ", a new one for each request".to_owned(),
        Some(requests) => format!(", a new one after {requests} requests"),
        None => String::new(),
    };
    let channel = load.get("over").and_then(Value::as_str);
    let is_tls = channel.is_some_and(|channel| channel.starts_with("https"));
    let over = match channel {
        Some("http1") => ", over HTTP/1.1 without TLS",
        Some("http2") => ", over HTTP/2 without TLS",
        Some("https1") => ", over HTTP/1.1 with TLS",
        Some("https2") => ", over HTTP/2 with TLS",
        _ => "",
    };
    let resumption = match load.get("resumption").and_then(Value::as_bool).filter(|_| is_tls) {
        Some(true) => ", resumed handshakes",
        Some(false) => ", full handshakes",
        None => "",
    };
    format!("{requests}{over}{resumption}")
}

/// The growth of the number of connections: `, growing from 10 within 30 s`.
fn growth(load: &Value) -> String {
    let part = |key: &str| load.get("growth").and_then(|growth| growth[key].as_f64());
    match (part("from"), part("over_ns")) {
        (Some(from), Some(over)) => format!(", growing from {} within {}", grouped(from), time(over)),
        _ => String::new(),
    }
}

/// The pause of a caller before its next request: `, with a pause of 200 ms after each reply`.
fn pause(load: &Value) -> String {
    match load.get("think_ns").and_then(Value::as_f64) {
        Some(ns) if ns > 0.0 => format!(", with a pause of {} after each reply", time(ns)),
        _ => String::new(),
    }
}

fn time(ns: f64) -> String {
    let unit = Unit::for_ns(ns);
    unit.with_symbol(&as_written(ns / unit.factor))
}

/// `what` names the counted things and the unit of time of a rate.
fn describe_arrival(arrival: &Value, what: &str) -> String {
    let profile = &arrival["profile"];
    let rate = |key: &str| profile[key].as_f64().map_or_else(String::new, as_written);
    let seconds = |key: &str| {
        profile[key]
            .as_f64()
            .map_or_else(String::new, |ns| as_written(ns / 1e9))
    };
    let rates = match profile["kind"].as_str() {
        Some("ramp") => {
            let falls = profile["to"].as_f64() < profile["from"].as_f64();
            format!(
                "{} {} to {} {what} over {} s",
                rate("from"),
                if falls { "falling" } else { "rising" },
                rate("to"),
                seconds("over_ns")
            )
        }
        Some("step_load" | "staircase") => format!(
            "{} {what}, {} more every {} s",
            rate("from"),
            rate("step"),
            seconds("every_ns")
        ),
        Some("stages") => {
            let stages = profile["stages"].as_array().into_iter().flatten();
            let stage = |stage: &Value| {
                let [rate, ns] = ["rate", "for_ns"].map(|key| stage[key].as_f64().unwrap_or_default());
                format!("{} for {}", as_written(rate), time(ns))
            };
            let stages: Vec<String> = stages.map(stage).collect();
            format!("{} {what}", stages.join(", then "))
        }
        _ => format!("{} {what}", rate("rate")),
    };
    if arrival["spacing"] == "poisson" {
        rates + " at random times"
    } else {
        rates
    }
}

/// A number from a plan; without decimals if it is whole.
fn as_written(number: f64) -> String {
    if number.fract() == 0.0 {
        grouped(number)
    } else {
        digits(number)
    }
}

/// The rate of an open load with a constant rate.
pub(super) fn one_rate(load: &Value) -> Option<f64> {
    let profile = &load["arrival"]["profile"];
    let constant = load["kind"] == "open" && profile["kind"] == "constant";
    constant.then(|| profile["rate"].as_f64()).flatten()
}

/// The highest rate that a closed load allows with a slow backend, and why.
pub(super) fn ceiling(load: &Value, per_s: f64) -> String {
    let count = |key: &str| load.get(key).and_then(Value::as_f64).unwrap_or(1.0);
    let under_way = count("connections") * count("in_flight");
    let waiting = under_way / per_s * 1e9;
    format!(
        "No service can do more than {}/s here: {} requests in flight ÷ {} of backend time for each on average (Little’s law).",
        grouped(per_s),
        grouped(under_way),
        Unit::for_ns(waiting).show_with(waiting)
    )
}

/// The result of a group in words.
pub(super) fn finding(group: &Group, name: impl Fn(&ServiceId) -> String) -> String {
    let ranked: Vec<&ServiceSummary> = group.services.iter().filter(|row| row.rank.is_some()).collect();
    let Some(first) = ranked.first() else {
        return match group.services.iter().filter(|row| row.excluded.is_none()).count() {
            0 => "No service has a number that can be ranked.".to_owned(),
            _ => "Too few trials yet to rank the services.".to_owned(),
        };
    };
    let best = name(&first.id);
    let value = value_in_words(group, first);
    // A service that is not proven worse than another one may be the best.
    let tied = ranked[1..]
        .iter()
        .filter(|row| row.rank_low <= first.rank_low)
        .count();
    let lower = group.ranked_by.better() == Better::Lower;
    if ranked.len() == 1 {
        return format!("{best} is the only service that could be ranked: {value}.");
    }
    if tied > 0 {
        let extreme = if lower { "Lowest" } else { "Highest" };
        return format!(
            "{} services are statistically tied for first. {extreme} measured: {best}, {value}.",
            tied + 1
        );
    }
    let next = ranked[1];
    let names = (first.id.to_string(), next.id.to_string());
    let pair = group
        .pairs
        .iter()
        .find(|pair| pair.a == names.0 && pair.b == names.1);
    let times = pair.map_or_else(String::new, |pair| {
        let of = if lower { "that of " } else { "" };
        let (low, high) = (ratio(pair.ratio.low), ratio(pair.ratio.high));
        format!(", {low}–{high} × {of}{}, the next", name(&next.id))
    });
    format!("{best} leads: {value}{times}.")
}

/// In how many trials there is no bound, if others have one.
fn in_some(none: NoBound) -> String {
    if none.without_bound == none.trials {
        return String::new();
    }
    format!(" in {} of {} trials", none.without_bound, none.trials)
}

fn value_in_words(group: &Group, row: &ServiceSummary) -> String {
    let metric = group.ranked_by;
    if let Some(none) = row.metrics.get(metric).and_then(Quantity::no_bound) {
        return format!("a {} without bound", metric.title().replace(',', "")) + &in_some(*none);
    }
    let Some(estimate) = row.metrics.get(metric).and_then(|quantity| quantity.estimate()) else {
        return "no estimate".to_owned();
    };
    let unit = Unit::for_metric(metric, &[estimate.point]);
    let (number, half) = match estimate.precision() {
        Precision::PlusMinus(half) => (unit.show(estimate.point), Some(format!("± {}", percent(half)))),
        Precision::Ends => (ends(estimate, unit), None),
        Precision::Unknown => ("an unknown number of".to_owned(), None),
    };
    let bound = row.is_lower_bound(metric);
    let limit = bound.then(|| "the generator was the limit".to_owned());
    let notes: Vec<String> = half.into_iter().chain(limit).collect();
    let notes = if notes.is_empty() {
        String::new()
    } else {
        format!(" ({})", notes.join("; "))
    };
    let at_least = if bound { "at least " } else { "" };
    match metric {
        Metric::GoodputPerS => format!("{at_least}{number} valid replies per second{notes}"),
        Metric::ThroughputPerS => format!("{at_least}{number} replies per second{notes}"),
        Metric::SequencesPerS => format!("{at_least}{number} whole sequences per second{notes}"),
        _ => {
            let title = metric.title().replace(',', "");
            match estimate.precision() {
                Precision::Unknown => format!("an unknown {title}"),
                _ => format!("a {title} of {at_least}{}{notes}", unit.with_symbol(&number)),
            }
        }
    }
}

/// How it was measured, a sentence each, from what the records say.
pub(super) fn method(input: &Input<'_>) -> Vec<String> {
    let groups = &input.summary.groups;
    let rounds = groups.iter().map(|group| group.rounds).max().unwrap_or(0) as usize;
    let confidence = groups.first().map_or(0.95, |group| group.confidence);
    let starts = if input.run.plan["starts"] == "shared" {
        "In each round a fresh start of a service serves all loads of a contract, one after the other, in random order."
    } else {
        "Every trial is a fresh start of one service."
    };
    let mut said = vec![
        format!(
            "{starts} The intervals ({} confidence) are over starts, never over the requests of one start.",
            percent(confidence)
        ),
        format!(
            "{}{}; each contains every service once, in random order, so that drift of the machine affects all of them alike.",
            plural(rounds, "round"),
            if input.run.ended_at.is_some() {
                ""
            } else {
                " so far"
            }
        ),
    ];
    said.extend(comparing(groups));
    said.extend(loading(groups));
    said.push(
        "A service must pass its contract before it is loaded, and its replies are checked under load; a service that breaks the contract is excluded, with the reason."
            .to_owned(),
    );
    let measured: Vec<&Measurement> = that_count(input.trials)
        .into_iter()
        .filter_map(|trial| trial.result.as_ref().ok())
        .collect();
    said.extend(measuring(&measured));
    said
}

fn comparing(groups: &[Group]) -> Vec<String> {
    let mut said = Vec::new();
    if groups.iter().any(|group| group.adjustment.is_some()) {
        said.push(
            "Services are compared by their ratio within the same rounds on the logarithmic scale, adjusted for the number of pairs (Bonferroni). A rank is a range: it starts at 1 + the number of services proven better, and ends at the number of compared services minus those proven worse."
                .to_owned(),
        );
    }
    if let Some(band) = groups.iter().map(|group| group.tie_band).find(|&band| band > 0.0) {
        said.push(format!(
            "A difference that is proven smaller than {} counts as none.",
            percent(band)
        ));
    }
    said
}

fn loading(groups: &[Group]) -> Vec<String> {
    let mut said = Vec::new();
    if groups.iter().any(|group| !group.is_open()) {
        said.push(
            "Closed loop: each connection sends its next request when the previous reply is complete. The service sets the pace, so throughput compares services; its response times hold only for this number of callers."
                .to_owned(),
        );
    }
    if groups.iter().any(Group::is_open) {
        said.push(
            "Open load: requests are due at times that do not depend on replies, and response time counts from when a request was due, so that a stall counts for every request that it delays."
                .to_owned(),
        );
    }
    said
}

fn measuring(measured: &[&Measurement]) -> Vec<String> {
    let mut said = Vec::new();
    let sources: BTreeSet<&str> = measured
        .iter()
        .map(|one| one.service.source.as_str())
        .filter(|source| !source.is_empty())
        .collect();
    if !sources.is_empty() {
        let from: Vec<&str> = sources.into_iter().collect();
        said.push(format!(
            "CPU time and memory cover the service’s whole process tree, from {}.",
            from.join(", ")
        ));
    }
    if let Some(one) = measured.first() {
        let list = |cpus: &[usize]| {
            cpus.iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        };
        if !one.service_cpus.is_empty() && !one.generator_cpus.is_empty() {
            said.push(format!(
                "Services ran on CPU {}, the generator on CPU {}, on one machine over loopback.",
                list(&one.service_cpus),
                list(&one.generator_cpus)
            ));
        }
        for backing_service in &one.backing_services {
            let version = backing_service.version.as_deref().unwrap_or_default();
            let settings = backing_service.settings.iter();
            let settings = settings.map(|(name, value)| format!("{name} = {value}"));
            said.push(format!(
                "Backing service: {} on CPU {} ({}), with data that was generated for the run.",
                format!("{} {version}", backing_service.title).trim_end(),
                list(&backing_service.cpus),
                settings.collect::<Vec<_>>().join(", ")
            ));
        }
        let requests: u64 = measured.iter().map(|one| one.recording.replies()).sum();
        let seconds: f64 = measured.iter().map(|one| one.recording.duration_s).sum();
        said.push(format!(
            "{} measured, with {} complete replies; prony’s own generator ({}) made the load.",
            plural(measured.len(), "trial"),
            grouped(requests as f64),
            one.recording.generator.transport
        ));
        said.push(format!(
            "Each measurement lasted {} s on average, after the warm-up.",
            digits(seconds / measured.len() as f64)
        ));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn loads_that_differ_have_different_descriptions() {
        let closed = |more: Value| {
            let mut load = json!({ "kind": "closed", "connections": 4, "in_flight": 1 });
            let more = more.as_object().expect("an object").clone();
            load.as_object_mut().expect("an object").extend(more);
            load
        };
        let open = |profile: Value, backlog: u64| {
            json!({
                "kind": "open", "connections": 4, "in_flight": 1, "backlog": backlog,
                "arrival": { "profile": profile, "spacing": "even" }
            })
        };
        let users = |think_ns: u64, max_users: u64| {
            json!({
                "kind": "users", "requests_per_user": 3, "think_ns": think_ns, "max_users": max_users,
                "arrival": { "profile": { "kind": "constant", "rate": 2.0 }, "spacing": "even" }
            })
        };
        let stages = |rate: u64| json!({ "kind": "stages", "stages": [{ "rate": 1.0, "for_ns": 5_000_000_000_u64 }, { "rate": rate, "for_ns": 1e9 }] });
        let ramp = |from: f64, to: f64| json!({ "kind": "ramp", "from": from, "to": to, "over_ns": 1e9 });
        let loads = [
            closed(json!({})),
            closed(json!({ "growth": { "from": 1, "over_ns": 900_000_000 } })),
            closed(json!({ "growth": { "from": 2, "over_ns": 900_000_000 } })),
            closed(json!({ "growth": { "from": 1, "over_ns": 800_000_000 } })),
            closed(json!({ "think_ns": 200_000_000 })),
            closed(json!({ "think_ns": 300_000_000 })),
            closed(json!({ "in_flight": 2 })),
            closed(json!({ "members": 2 })),
            open(json!({ "kind": "constant", "rate": 2.0 }), BACKLOG),
            open(json!({ "kind": "constant", "rate": 2.0 }), 7),
            open(stages(10), BACKLOG),
            open(stages(20), BACKLOG),
            open(ramp(1.0, 9.0), BACKLOG),
            open(ramp(9.0, 1.0), BACKLOG),
            users(0, MAX_USERS),
            users(0, 9),
            users(250_000_000, MAX_USERS),
        ];
        let texts: Vec<String> = loads.iter().map(|load| describe_load(load, false)).collect();
        let distinct: BTreeSet<&String> = texts.iter().collect();
        assert_eq!(distinct.len(), loads.len(), "{texts:#?}");
        assert_eq!(texts[0], "closed loop on 4 connections");
        assert_eq!(
            texts[1],
            "closed loop on 4 connections, growing from 1 within 900 ms"
        );
        assert_eq!(
            texts[4],
            "closed loop on 4 connections, with a pause of 200 ms after each reply"
        );
        assert_eq!(
            texts[10],
            "open loop: 1 for 5 s, then 10 for 1 s requests per second on 4 connections"
        );
    }
}
