//! What a language model gave, as text for people: at most 80 columns wide.

use crate::shown::{duration, quantile};
use prony_measurement::{Llm, Messages, Recording, ResponseTimes, StreamRate};
use std::fmt::Write as _;

/// From so long on a prompt that waits in the generator is told, ns.
const WAITED: u64 = 10_000_000;

/// Times, tokens and streams.
pub(super) fn text(recording: &Recording, messages: &Messages, llm: &Llm) -> String {
    let mut text = String::new();
    times(recording, messages, llm, &mut text);
    text.push('\n');
    let _ = writeln!(
        text,
        "  prompts     {:>12.2} answered/s, {:.2} of them well",
        recording.throughput_per_s, recording.goodput_per_s
    );
    tokens(messages, llm, &mut text);
    ends(messages, llm, &mut text);
    text
}

/// How streams ended, and whether they were good.
fn ends(messages: &Messages, llm: &Llm, text: &mut String) {
    if let Some(streams) = messages.streams {
        let _ = writeln!(
            text,
            "  streams     {:>12} completed, {} cut by the end of the load",
            streams.completed, streams.cut
        );
        let _ = writeln!(
            text,
            "              {:>12} ended early, {} with an error, {} empty",
            streams.ended_early, llm.errors, llm.empty
        );
    }
    if let Some(good) = llm.good {
        let _ = writeln!(
            text,
            "  good        {:>12.2} answers/s: {} of {} ({:.1} %)",
            good.per_s,
            good.answers,
            good.due,
            good.share() * 100.0
        );
        let _ = writeln!(
            text,
            "              {:>12} late, {} slow, {} long",
            good.late, good.slow, good.long
        );
    }
}

fn times(recording: &Recording, messages: &Messages, llm: &Llm, text: &mut String) {
    let _ = writeln!(
        text,
        "  {:<18}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "", "mean", "p50", "p90", "p99", "max"
    );
    for (name, times) in [
        ("first token (ttft)", llm.ttft_ns),
        ("per token (tpot)", llm.tpot_ns),
        ("inter-chunk (icl)", messages.gap_ns),
        ("last token", messages.last_ns),
        ("schedule lag", recording.schedule_lag_ns),
        ("connect", recording.connect_time_ns),
        ("TLS handshake", recording.tls_time_ns),
    ] {
        if let Some(times) = times.map(ResponseTimes::from) {
            let _ = writeln!(text, "  {name:<18}{}", row(&times));
        }
    }
    if let Some(times) = &recording.response_time_ns {
        let _ = writeln!(text, "  {:<18}{}", "response time", row(times));
    }
}

fn row(times: &ResponseTimes) -> String {
    [times.mean, times.p50, times.p90, times.p99, times.max]
        .map(|found| format!("{:>10}", quantile(found)))
        .concat()
}

/// Tokens by our own count and by the server's.
fn tokens(messages: &Messages, llm: &Llm, text: &mut String) {
    let of_one = |rate: Option<StreamRate>| {
        rate.map_or_else(String::new, |rate| {
            format!("; in one stream p50 {:.1}, p1 {:.1}", rate.p50, rate.p1)
        })
    };
    let _ = writeln!(
        text,
        "  tokens/s    {:>12.1} by events{}",
        messages.per_s,
        of_one(llm.events_per_s_of_stream)
    );
    let Some(usage) = &llm.usage else {
        let _ = writeln!(
            text,
            "              {:>12} by the server, which does not count them",
            "-"
        );
        return;
    };
    let _ = writeln!(
        text,
        "              {:>12.1} by the server{}",
        usage.per_s,
        of_one(usage.per_s_of_stream)
    );
    let _ = writeln!(
        text,
        "  usage       {:>12} tokens, {} of prompts, in {} answers",
        usage.completion_tokens, usage.prompt_tokens, usage.answers
    );
}

/// What most want to know, in parts of one line.
pub(super) fn answer(messages: &Messages, llm: &Llm) -> Vec<String> {
    let (per_s, by) = match &llm.usage {
        Some(usage) => (usage.per_s, ""),
        None => (messages.per_s, " by events"),
    };
    let mut parts = vec![format!("{per_s:.0} tokens/s{by}")];
    for (name, times) in [("ttft", llm.ttft_ns), ("tpot", llm.tpot_ns)] {
        parts.extend(times.map(|times| format!("{name} p99 {}", duration(times.p99))));
    }
    parts.extend(llm.good.map(|good| format!("{:.1} % good", good.share() * 100.0)));
    parts
}

/// Advises more connections where prompts waited for one: each stream holds one over HTTP/1.1.
pub(super) fn advise(recording: &Recording) {
    let waited = recording.schedule_lag_ns.filter(|lag| lag.p99 > WAITED);
    if let Some(lag) = waited {
        eprintln!(
            "hint: 1 % of the prompts waited {} or more for one of {} connections, which is part of ttft: give -c as many as there \
             are streams at once (prompts/s × the length of an answer)",
            duration(lag.p99),
            recording.connections.asked
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_measurement::{Good, Latency, Streams, Usage};

    #[test]
    fn large_numbers_fit_a_terminal() {
        let long = Latency {
            mean: 999e9,
            min: 0,
            p50: 123_456_789_012,
            p75: 0,
            p90: 234_567_890_123,
            p95: 0,
            p99: 345_678_901_234,
            p99_9: 0,
            p99_99: 0,
            max: 999_999_999_999,
        };
        let rate = StreamRate {
            p50: 12_345.6,
            p10: 1.0,
            p1: 1_234.5,
        };
        let llm = Llm {
            ttft_ns: Some(long),
            tpot_ns: Some(long),
            events_per_s_of_stream: Some(rate),
            usage: Some(Usage {
                answers: 1_234_567,
                prompt_tokens: 12_345_678_901,
                completion_tokens: 123_456_789_012,
                per_s: 12_345_678.9,
                per_s_of_stream: Some(rate),
            }),
            good: Some(Good {
                answers: 1_234_567,
                due: 1_234_568,
                per_s: 12_345.67,
                late: 123_456,
                slow: 123_456,
                long: 123_456,
            }),
            errors: 123_456,
            empty: 123_456,
        };
        let messages = Messages {
            received: 1,
            per_s: 12_345_678.9,
            first_ns: Some(long),
            last_ns: Some(long),
            gap_ns: Some(long),
            ids: None,
            streams: Some(Streams {
                completed: 1_234_567,
                at_bound: 0,
                ended_early: 1_234_567,
                cut: 1_234_567,
            }),
            llm: Some(llm),
            rooms: None,
        };
        let mut text = String::new();
        tokens(&messages, &llm, &mut text);
        ends(&messages, &llm, &mut text);
        text.push_str(&row(&long.into()));
        let answer = answer(&messages, &llm).join(", ");
        for line in text.lines().chain([answer.as_str()]) {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(
            text.contains("12345678.9 by events; in one stream p50 12345.6, p1 1234.5"),
            "{text}"
        );
        assert!(answer.contains("100.0 % good"), "{answer}");
    }
}
