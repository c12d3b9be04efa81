//! What a service must hold, judged by a recording.

use prony_load::{Condition, GoodStreams, Objective};
use prony_measurement::{Good, Quantile, Recording, Responses};

/// The conditions of an objective that a recording does not meet, in words.
pub fn missed_by(objective: &Objective, recording: &Recording) -> Vec<String> {
    let conditions = objective.conditions().iter();
    let good = recording.messages.and_then(|messages| messages.llm?.good);
    conditions
        .filter_map(|&condition| missed(condition, recording))
        .chain(objective.streams().and_then(|streams| too_few(&streams, good)))
        .collect()
}

/// Whether fewer streams are good than must be.
fn too_few(streams: &GoodStreams, good: Option<Good>) -> Option<String> {
    let Some(good) = good else {
        return Some("ttft, tpot and e2el are of language models, and none was asked (--llm)".to_owned());
    };
    let fine = good.due > 0 && good.share() >= streams.at_least;
    (!fine).then(|| {
        format!(
            "{:.2} % of the prompts had a good answer, not {} % ({} late, {} slow, {} long)",
            good.share() * 100.0,
            (streams.at_least * 1e6).round() / 1e4,
            good.late,
            good.slow,
            good.long
        )
    })
}

fn missed(condition: Condition, recording: &Recording) -> Option<String> {
    let responses = || Responses::of(recording).ok();
    match condition {
        Condition::Quantile { quantile, below_ns } => {
            let name = format!("p{}", (quantile * 1e6).round() / 1e4);
            let found = responses().and_then(|responses| responses.quantile(quantile));
            too_long(&name, found, below_ns, recording)
        }
        Condition::Mean { below_ns } => {
            let found = responses().and_then(|responses| responses.times());
            too_long("mean", found.map(|times| times.mean), below_ns, recording)
        }
        Condition::Max { below_ns } => {
            let found = responses().and_then(|responses| responses.times());
            too_long("max", found.map(|times| times.max), below_ns, recording)
        }
        Condition::Errors { below } => {
            let (errors, all) = (recording.outcomes.errors(), recording.outcomes.total());
            let share = if all > 0 { errors as f64 / all as f64 } else { 1.0 };
            let fine = share < below || (errors == 0 && all > 0);
            (!fine).then(|| {
                format!(
                    "{:.4} % of the requests had no valid reply, not below {} %",
                    share * 100.0,
                    below * 100.0
                )
            })
        }
        Condition::Goodput { above } => {
            let found = recording.goodput_per_s;
            (found <= above).then(|| format!("goodput is {found:.1}/s, not above {above}/s"))
        }
        // Each stream meets these by itself: they are judged together.
        Condition::Ttft { .. } | Condition::Tpot { .. } | Condition::E2el { .. } | Condition::Good { .. } => {
            None
        }
    }
}

/// A duration as people read it: three digits and a unit.
pub fn duration(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "µs"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    let digits = if value < 10.0 {
        2
    } else {
        usize::from(value < 100.0)
    };
    format!("{value:.digits$} {unit}")
}

/// A time over all requests, where it is not below a limit. A request without a valid reply is longer than any.
fn too_long(name: &str, found: Option<Quantile>, below_ns: u64, recording: &Recording) -> Option<String> {
    let outcomes = &recording.outcomes;
    let limit = duration(below_ns);
    match found {
        Some(Quantile::Exact(ns)) if ns < below_ns => None,
        Some(Quantile::Exact(ns)) => Some(format!("{name} is {}, not below {limit}", duration(ns))),
        Some(Quantile::AtLeast(ns)) => {
            Some(format!("{name} is at least {}, not below {limit}", duration(ns)))
        }
        _ if outcomes.valid == 0 => Some(format!("{name} is not known: no valid reply came")),
        _ => Some(format!(
            "{name} has no bound: {} of {} requests got no valid reply",
            outcomes.errors(),
            outcomes.total()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_measurement::{Histogram, Outcomes};

    #[test]
    fn durations_have_three_digits() {
        for (ns, text) in [
            (999, "999 ns"),
            (1_500, "1.50 µs"),
            (12_345_678, "12.3 ms"),
            (2_000_000_000, "2.00 s"),
        ] {
            assert_eq!(duration(ns), text);
        }
    }

    #[test]
    fn enough_streams_are_good_or_too_few() {
        let objective: Objective = "ttft<500ms,tpot<50ms,good>90%".parse().expect("a good one");
        let streams = objective.streams().expect("of streams");
        let good = |answers| Good {
            answers,
            due: 100,
            per_s: 1.0,
            late: 8,
            slow: 3,
            long: 1,
        };
        assert_eq!(too_few(&streams, Some(good(90))), None);
        let told = too_few(&streams, Some(good(89))).expect("missed");
        assert_eq!(
            told,
            "89.00 % of the prompts had a good answer, not 90 % (8 late, 3 slow, 1 long)"
        );
        let told = too_few(&streams, None).expect("missed");
        assert!(told.contains("--llm"), "{told}");
    }

    /// A service that answers 503 at once meets no objective of time.
    #[test]
    fn a_fast_error_is_no_answer() {
        let objective: Objective = "p99<10ms,max<1s".parse().expect("a good one");
        let recording = |valid: u64, failed: u64| {
            let mut times = Histogram::new();
            times.record_many(1_000_000, valid);
            let outcomes = Outcomes {
                valid,
                status: failed,
                ..Outcomes::default()
            };
            let json = serde_json::json!({
                "schema": 1, "target": "", "protocol": "http1", "load": {}, "duration_s": 1.0,
                "requests": { "offered": valid + failed, "sent": valid + failed, "completed": valid + failed, "valid": valid },
                "throughput_per_s": 0.0, "goodput_per_s": 0.0, "outcomes": outcomes,
                "status_codes": {}, "bytes": { "sent": 0, "received": 0 },
                "response_time_ns": null, "service_time_ns": null, "schedule_lag_ns": null,
                "connections": { "asked": 1, "established": 1, "reconnects": 0 },
                "generator": { "threads": 1, "cpu_s": 1.0, "busiest_thread": 0.5, "transport": "epoll", "saturated": false },
                "intervals": [], "histogram": times.encode(), "warnings": [],
            });
            serde_json::from_value::<Recording>(json).expect("a recording")
        };
        assert_eq!(missed_by(&objective, &recording(1_000, 0)), [""; 0]);
        let told = missed_by(&objective, &recording(990, 10));
        assert_eq!(told, ["max has no bound: 10 of 1000 requests got no valid reply"]);
        let told = missed_by(&objective, &recording(900, 100));
        assert_eq!(told.len(), 2, "{told:?}");
        let told = missed_by(&objective, &recording(0, 200));
        assert_eq!(told[0], "p99 is not known: no valid reply came");
    }
}
