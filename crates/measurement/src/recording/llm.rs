//! What is said of the answers of a language model.

use super::Latency;
use serde::{Deserialize, Serialize};

/// The answers of a language model, beside what every stream has. Of the requests that were due in the measurement, but for
/// rates, which are of what happened in it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Llm {
    /// Time to the first token, from when the prompt was due, ns.
    pub ttft_ns: Option<Latency>,
    /// Inter-token latency: the mean time from one token to the next of each answer, ns. Tokens are those that the server
    /// counts, where it says how many, else events that bring text.
    pub itl_ns: Option<Latency>,
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
    pub fn of(itl: &Latency) -> Option<Self> {
        let rate = |ns: u64| 1e9 / ns as f64;
        (itl.p50 > 0).then(|| Self {
            p50: rate(itl.p50),
            p10: rate(itl.p90),
            p1: rate(itl.p99),
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
