//! Judges a recording by an objective (SLO).

use prony_load::{Condition, GoodStreams, Objective};
use prony_records::{GoodputStreams, Quantile, Recording, Responses, count};

/// A condition of an objective and the value of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionResult {
    /// The condition as in the objective: `p99<10ms`.
    pub condition: String,
    /// The measured value: `14.2 ms`.
    pub found: String,
    /// Why it is missed: `p99 14.2 ms, not below 10.0 ms`; `None` if it is met.
    pub missed: Option<String>,
}

/// Why a recording misses conditions of an objective.
pub fn missed_by(objective: &Objective, recording: &Recording) -> Vec<String> {
    let judged = judge(objective, recording);
    judged.into_iter().filter_map(|judged| judged.missed).collect()
}

/// Each condition of an objective with the value of a recording. Conditions for single streams are judged together.
pub fn judge(objective: &Objective, recording: &Recording) -> Vec<ConditionResult> {
    let text = objective.to_string();
    let written = text.split(',').map(str::trim);
    let responses = Responses::of(recording).ok();
    let mut judged: Vec<ConditionResult> = written
        .zip(objective.conditions())
        .filter_map(|(text, &condition)| one(text, condition, recording, responses.as_ref()))
        .collect();
    judged.extend(objective.streams().map(|streams| {
        let good = recording.messages.and_then(|messages| messages.llm?.good);
        of_streams(&streams, &limits(objective), good)
    }));
    judged
}

fn one(
    text: &str,
    condition: Condition,
    recording: &Recording,
    responses: Option<&Responses>,
) -> Option<ConditionResult> {
    let quantile = |quantile| responses.and_then(|responses| responses.quantile(quantile));
    let times = || responses.and_then(Responses::times);
    let (found, missed) = match condition {
        Condition::Quantile {
            quantile: q,
            below_ns,
        } => {
            let name = format!("p{}", (q * 1e6).round() / 1e4);
            below(&name, quantile(q), below_ns)
        }
        Condition::Mean { below_ns } => below("mean", times().map(|times| times.mean), below_ns),
        Condition::Max { below_ns } => below("max", times().map(|times| times.max), below_ns),
        Condition::Errors { below } => {
            let (due, valid) = (recording.due(), recording.outcomes.valid);
            let share = (due - valid.min(due)) as f64 / due.max(1) as f64;
            let fine = due > 0 && (share < below || valid == due);
            let found = if due > 0 {
                percent(share)
            } else {
                "no requests".to_owned()
            };
            let missed =
                (!fine).then(|| format!("errors {found}, not below {} %", (below * 1e6).round() / 1e4));
            (found, missed)
        }
        Condition::Goodput { above } => {
            let found = format!("{}/s", number(recording.goodput_per_s));
            let fine = recording.goodput_per_s > above;
            let missed = (!fine).then(|| format!("goodput {found}, not above {}/s", number(above)));
            (found, missed)
        }
        // These apply to each stream and are judged together.
        Condition::Ttft { .. } | Condition::Tpot { .. } | Condition::E2el { .. } | Condition::Good { .. } => {
            return None;
        }
    };
    Some(ConditionResult {
        condition: text.to_owned(),
        found,
        missed,
    })
}

fn below(name: &str, found: Option<Quantile>, below_ns: u64) -> (String, Option<String>) {
    let shown = match found {
        Some(Quantile::Exact(ns)) => duration(ns),
        Some(Quantile::AtLeast(ns)) => format!("≥ {}", duration(ns)),
        Some(Quantile::Unbounded) => "no bound".to_owned(),
        None => "unknown".to_owned(),
    };
    let fine = found.is_some_and(|quantile| quantile.is_below(below_ns));
    let missed = (!fine).then(|| format!("{name} {shown}, not below {}", limit(below_ns)));
    (shown, missed)
}

/// The conditions for each stream, as in the objective.
fn limits(objective: &Objective) -> String {
    let text = objective.to_string();
    let written = text.split(',').map(str::trim).zip(objective.conditions());
    let limits: Vec<String> = written
        .filter_map(|(text, condition)| match condition {
            Condition::Ttft { .. } | Condition::E2el { .. } => Some(text.to_owned()),
            Condition::Tpot { .. } => Some(text.replacen("itl", "tpot", 1)),
            _ => None,
        })
        .collect();
    limits.join(", ")
}

/// Whether enough streams are good.
fn of_streams(streams: &GoodStreams, limits: &str, good: Option<GoodputStreams>) -> ConditionResult {
    let at_least = format!("good>{}%", (streams.at_least * 1e6).round() / 1e4);
    let Some(good) = good else {
        return ConditionResult {
            condition: at_least,
            found: "unknown".to_owned(),
            missed: Some("ttft, tpot and e2el need a language model as the target (--llm)".to_owned()),
        };
    };
    let fine = good.due > 0 && good.share() >= streams.at_least;
    let share = percent_down(good.share());
    let long = streams
        .chat
        .e2el_below_ns
        .map(|_| format!(", {} long", count(good.long)));
    let bad = format!(
        "{} late, {} slow{}",
        count(good.late),
        count(good.slow),
        long.unwrap_or_default()
    );
    let found = format!("{share} ({limits}): {bad}");
    let missed = (!fine).then(|| {
        format!(
            "{share} of the prompts had a good answer, not {} % ({bad})",
            (streams.at_least * 1e6).round() / 1e4
        )
    });
    ConditionResult {
        condition: at_least,
        found,
        missed,
    }
}

/// A duration for people: three digits and a unit.
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

/// A limit without trailing zeros: `10 ms`.
fn limit(ns: u64) -> String {
    let text = duration(ns);
    let Some((value, unit)) = text.split_once(' ').filter(|(value, _)| value.contains('.')) else {
        return text;
    };
    format!("{} {unit}", value.trim_end_matches('0').trim_end_matches('.'))
}

/// A number with three digits, or all digits of a large number: `0.182`, `9.10`, `52,418`.
pub fn number(value: f64) -> String {
    let size = value.abs();
    let digits = match size {
        _ if size == 0.0 => 0,
        _ if size < 0.000_999_5 => 6,
        _ if size < 0.009_995 => 5,
        _ if size < 0.099_95 => 4,
        _ if size < 0.999_5 => 3,
        _ if size < 9.995 => 2,
        _ if size < 99.95 => 1,
        _ => return count(value.round() as u64),
    };
    format!("{value:.digits$}")
}

/// A share (0 to 1) in percent.
pub fn percent(share: f64) -> String {
    format!("{} %", number(share * 100.0))
}

/// A share (0 to 1) in percent, never rounded up to 100 %.
pub fn percent_down(share: f64) -> String {
    if share >= 1.0 {
        return "100 %".to_owned();
    }
    let in_percent = share * 100.0;
    let step = match in_percent {
        _ if in_percent >= 10.0 => 10.0,
        _ if in_percent >= 1.0 => 100.0,
        _ => return percent(share),
    };
    // A share such as 0.29 has no exact binary form; the small constant corrects an error in its last digits.
    format!("{} %", number((in_percent * step + 1e-9).floor() / step))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn numbers_have_three_digits_or_all_of_a_large_one() {
        for (value, text) in [
            (0.0, "0"),
            (0.182, "0.182"),
            (0.018_2, "0.0182"),
            (4.0, "4.00"),
            (9.996, "10.0"),
            (61.0, "61.0"),
            (99.96, "100"),
            (52_418.4, "52,418"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn only_all_of_it_is_100_percent() {
        for (share, text) in [
            (1.0, "100 %"),
            (0.999_999, "99.9 %"),
            (0.94, "94.0 %"),
            (0.29, "29.0 %"),
            (0.5, "50.0 %"),
            (0.019_99, "1.99 %"),
            (0.0, "0 %"),
            (0.001_2, "0.120 %"),
        ] {
            assert_eq!(percent_down(share), text);
        }
    }

    #[test]
    fn enough_streams_are_good_or_too_few() {
        let objective: Objective = "ttft<500ms,itl<50ms,e2el<10s,good>90%"
            .parse()
            .expect("a good one");
        let streams = objective.streams().expect("of streams");
        let good = |answers| GoodputStreams {
            answers,
            due: 100,
            per_s: 1.0,
            late: 8,
            slow: 3,
            long: 1,
        };
        let met = of_streams(&streams, &limits(&objective), Some(good(90)));
        assert_eq!(
            (met.condition.as_str(), met.found.as_str(), met.missed),
            (
                "good>90%",
                "90.0 % (ttft<500ms, tpot<50ms, e2el<10s): 8 late, 3 slow, 1 long",
                None
            )
        );
        assert_eq!(
            of_streams(&streams, "", Some(good(89))).missed.expect("missed"),
            "89.0 % of the prompts had a good answer, not 90 % (8 late, 3 slow, 1 long)"
        );
        let missed = of_streams(&streams, "", None).missed.expect("missed");
        assert!(missed.contains("--llm"), "{missed}");
    }

    #[test]
    fn what_has_no_bound_or_is_still_open_is_below_nothing() {
        let hour = 3_600_000_000_000;
        assert_eq!(
            below("p99", Some(Quantile::Exact(5)), 10),
            ("5 ns".to_owned(), None)
        );
        for (found, shown) in [
            (Some(Quantile::Unbounded), "no bound"),
            (Some(Quantile::AtLeast(10_000_000)), "≥ 10.0 ms"),
            (None, "unknown"),
        ] {
            let (text, missed) = below("p99", found, hour);
            assert_eq!(text, shown);
            assert_eq!(missed, Some(format!("p99 {shown}, not below 3600 s")));
        }
    }
}
