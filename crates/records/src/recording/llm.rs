//! Metrics of the answers of a language model.

use super::Latency;
use serde::{Deserialize, Serialize};

/// Metrics of a language model's answers, in addition to those of every stream. They cover the requests that were due in the
/// measurement; rates cover the events within the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Llm {
    /// Time to the first token, from when the prompt was due, ns.
    pub ttft_ns: Option<Latency>,
    /// Time per output token: for each answer (last token − first token) / (tokens − 1), ns. Tokens are counted by the server if
    /// it reports a count, else as events with text. Older records call it `itl_ns`.
    #[serde(alias = "itl_ns")]
    pub tpot_ns: Option<Latency>,
    /// Tokens per second within one answer, from its first to its last token, counting events with text.
    pub events_per_s_of_stream: Option<StreamRate>,
    /// Token counts reported by the server, if it reports them.
    pub usage: Option<Usage>,
    /// Answers that met the objective of streams, if there is one.
    pub good: Option<GoodputStreams>,
    /// Answers that contain an error of the server; they count as unexpected replies.
    pub errors: u64,
    /// Answers that ended normally without a single token.
    pub empty: u64,
}

/// Distribution of the tokens per second within one answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StreamRate {
    /// Half of the answers are faster.
    pub p50: f64,
    /// 90 % of the answers are faster.
    pub p10: f64,
    /// 99 % of the answers are faster.
    pub p1: f64,
}

impl StreamRate {
    /// Converts the mean times between the tokens of answers; `None` if most answers arrived in one piece.
    pub fn of(tpot: &Latency) -> Option<Self> {
        let rate = |ns: u64| 1e9 / ns as f64;
        (tpot.p50 > 0).then(|| Self {
            p50: rate(tpot.p50),
            p10: rate(tpot.p90),
            p1: rate(tpot.p99),
        })
    }
}

/// Token counts reported by the server (`usage`), over the answers that ended in the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Number of answers with a reported count.
    pub answers: u64,
    /// Tokens of the prompts.
    pub prompt_tokens: u64,
    /// Tokens of the answers.
    pub completion_tokens: u64,
    /// Tokens of the answers per second.
    pub per_s: f64,
    /// Tokens per second within one answer, from its first to its last token.
    pub per_s_of_stream: Option<StreamRate>,
}

/// Answers that met the objective of streams, and the ones that did not.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GoodputStreams {
    /// Number of answers that met the objective.
    pub answers: u64,
    /// Number of prompts that were due, whatever their outcome.
    pub due: u64,
    /// Good answers that ended in the measurement, per second.
    pub per_s: f64,
    /// Answers whose first token arrived too late.
    pub late: u64,
    /// Answers whose tokens followed each other too slowly.
    pub slow: u64,
    /// Answers whose last token arrived too late.
    #[serde(default)]
    pub long: u64,
}

impl GoodputStreams {
    /// The share of the prompts that got a good answer, 0 to 1.
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
