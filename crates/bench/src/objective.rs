//! What a service must hold, judged by a recording.

use prony_load::{Condition, GoodStreams, Objective};
use prony_measurement::{Good, Recording};

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
    let replies = Replies::of(recording);
    match condition {
        Condition::Quantile { quantile, below_ns } => {
            let name = format!("p{}", (quantile * 1e6).round() / 1e4);
            replies.too_long(&name, replies.quantile(quantile, recording), below_ns)
        }
        Condition::Mean { below_ns } => {
            let mean = recording.response_time_ns.map(|times| times.mean as u64);
            replies.too_long("mean", replies.of_all(mean), below_ns)
        }
        Condition::Max { below_ns } => {
            let max = recording.response_time_ns.map(|times| times.max);
            replies.too_long("max", replies.of_all(max), below_ns)
        }
        Condition::Errors { below } => {
            let (errors, all) = (recording.outcomes.errors(), recording.requests.offered);
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

/// How many requests were answered. One that was not has no response time: it ranks as longer than any.
struct Replies {
    answered: u64,
    due: u64,
}

impl Replies {
    fn of(recording: &Recording) -> Self {
        let requests = recording.requests;
        Self {
            answered: requests.completed,
            due: recording
                .outcomes
                .total()
                .max(requests.offered)
                .max(requests.completed),
        }
    }

    /// What a share `quantile` of all requests did not exceed; `None` where that request was not answered.
    fn quantile(&self, quantile: f64, recording: &Recording) -> Option<u64> {
        let rank = ((quantile * self.due as f64).ceil() as u64).max(1);
        if rank > self.answered {
            return None;
        }
        // Half a rank lower: the histogram rounds the share up to the next reply, whatever the last digits are.
        let share = (rank as f64 - 0.5) / self.answered as f64;
        recording.response_times().ok()?.quantile(share)
    }

    /// A time to which every request contributes.
    fn of_all(&self, found: Option<u64>) -> Option<u64> {
        found.filter(|_| self.answered == self.due)
    }

    fn too_long(&self, name: &str, found: Option<u64>, below_ns: u64) -> Option<String> {
        match found {
            Some(ns) if ns < below_ns => None,
            Some(ns) => Some(format!(
                "{name} is {}, not below {}",
                duration(ns),
                duration(below_ns)
            )),
            None if self.answered == 0 => Some(format!("{name} is not known: no reply came")),
            None => Some(format!(
                "{name} has no bound: {} of {} requests got no reply",
                self.due - self.answered,
                self.due
            )),
        }
    }
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

    /// The p99 of 1,000 requests is that of the 990th, whether or not the last ten were answered.
    #[test]
    fn what_was_not_answered_ranks_above_all_replies() {
        let all = Replies {
            answered: 990,
            due: 1_000,
        };
        assert_eq!(all.too_long("p99", Some(5), 10), None);
        assert_eq!(all.of_all(Some(5)), None);
        let told = all.too_long("max", all.of_all(Some(5)), 10).expect("missed");
        assert_eq!(told, "max has no bound: 10 of 1000 requests got no reply");
        let none = Replies { answered: 0, due: 7 };
        assert!(
            none.too_long("p50", None, 10)
                .expect("missed")
                .contains("no reply came")
        );
    }
}
