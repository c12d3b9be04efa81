//! What is said of the answers of a language model.

use super::Latency;
use serde::{Deserialize, Serialize};

/// The answers of a language model, beside what every stream has. Of the requests that were due in the measurement, but for
/// rates, which are of what happened in it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Llm {
    /// Time to the first token, from when the prompt was due, ns.
    pub ttft_ns: Option<Latency>,
    /// Time per output token: of each answer (last token − first token) / (tokens − 1), ns. Tokens are those that the server
    /// counts, where it says how many, else events that bring text. Older records call it `itl_ns`.
    #[serde(alias = "itl_ns")]
    pub tpot_ns: Option<Latency>,
    /// Tokens per second of one answer, from its first to its last, by events that bring text.
    pub events_per_s_of_stream: Option<StreamRate>,
    /// Tokens by the server's own count, where it says how many.
    pub usage: Option<Usage>,
    /// Answers that met the objective of streams, where there is one.
    pub good: Option<Good>,
    /// Answers with an error of the server's in them; wrong replies.
    pub errors: u64,
    /// Answers that ended well without a single token.
    pub empty: u64,
}

/// Tokens per second of one answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StreamRate {
    /// Half of the answers are faster.
    pub p50: f64,
    /// 90 % of them are.
    pub p10: f64,
    /// 99 % of them are.
    pub p1: f64,
}

impl StreamRate {
    /// Of the mean times between the tokens of answers; `None` where most answers came in one piece.
    pub fn of(tpot: &Latency) -> Option<Self> {
        let rate = |ns: u64| 1e9 / ns as f64;
        (tpot.p50 > 0).then(|| Self {
            p50: rate(tpot.p50),
            p10: rate(tpot.p90),
            p1: rate(tpot.p99),
        })
    }
}

/// Tokens as the server counts them (`usage`), of answers that ended in the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Answers with such a count.
    pub answers: u64,
    /// Tokens of their prompts.
    pub prompt_tokens: u64,
    /// Their own tokens.
    pub completion_tokens: u64,
    /// Of these per second.
    pub per_s: f64,
    /// Of these per second in one answer, from its first to its last.
    pub per_s_of_stream: Option<StreamRate>,
}

/// Answers that met the objective of streams.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Good {
    /// How many.
    pub answers: u64,
    /// Prompts that were due, whatever became of them.
    pub due: u64,
    /// Good answers that ended in the measurement, per second.
    pub per_s: f64,
    /// Answers whose first token came too late.
    pub late: u64,
    /// Answers whose tokens came too slowly, one after the other.
    pub slow: u64,
    /// Answers whose last token came too late.
    #[serde(default)]
    pub long: u64,
}

impl Good {
    /// The share of the prompts that had a good answer, 0 to 1.
    pub fn share(&self) -> f64 {
        if self.due == 0 {
            return 0.0;
        }
        self.answers as f64 / self.due as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Histogram;

    #[test]
    fn older_records_are_read() {
        let times = serde_json::json!({
            "mean": 1.5, "min": 1, "p50": 1, "p75": 2, "p90": 2, "p95": 2, "p99": 2, "p99_9": 2, "p99_99": 2, "max": 2
        });
        let old = serde_json::json!({
            "ttft_ns": null, "itl_ns": times, "events_per_s_of_stream": null, "usage": null, "errors": 0, "empty": 0,
            "good": { "answers": 1, "due": 2, "per_s": 0.5, "late": 1, "slow": 0 }
        });
        let read: Llm = serde_json::from_value(old).expect("an older record");
        assert_eq!(read.tpot_ns.map(|times| times.max), Some(2));
        assert_eq!(read.good.map(|good| good.long), Some(0));
        let new = serde_json::to_value(read).expect("plain data");
        assert!(new["tpot_ns"].is_object() && new.get("itl_ns").is_none(), "{new}");
    }

    #[test]
    fn the_rate_of_a_stream_is_one_token_in_the_time_between_two() {
        let mut times = Histogram::new();
        times.record_many(10_000_000, 95);
        times.record_many(100_000_000, 5);
        let rate = StreamRate::of(&times.summary().expect("times")).expect("a rate");
        assert!((rate.p50 - 100.0).abs() < 0.2 && (rate.p10 - 100.0).abs() < 0.2);
        assert!((rate.p1 - 10.0).abs() < 0.02, "{rate:?}");
        let mut at_once = Histogram::new();
        at_once.record(0);
        assert_eq!(StreamRate::of(&at_once.summary().expect("times")), None);
    }
}
