//! The rows that are specific to language models.

use crate::text::duration;
use crate::text::row;
use prony_records::{Llm, Messages, Recording, Warning, WarningKind, count};
use prony_runner::number;

/// How long a prompt may wait in the generator before a hint is shown, ns.
const WAITED: u64 = 10_000_000;

/// Tokens per second.
pub(super) fn rate(llm: &Llm, events_per_s: f64) -> String {
    match &llm.usage {
        Some(usage) => format!("{} tokens/s", number(usage.per_s)),
        None => format!("{} tokens/s by events", number(events_per_s)),
    }
}

/// Prompts, tokens and streams.
pub(super) fn rows(recording: &Recording, messages: &Messages, llm: &Llm, columns: usize) -> Vec<String> {
    let answered = format!(
        "{} of {} answered",
        count(recording.outcomes.valid),
        count(recording.due())
    );
    let prompts = format!("{}/s", number(recording.throughput_per_s));
    let mut lines = vec![row("prompts", &prompts, &answered, columns)];
    let (per_s, by, of_stream) = match &llm.usage {
        Some(usage) => (usage.per_s, "counted by the server", usage.per_s_of_stream),
        None => (
            messages.per_s,
            "counted as events; the server does not count",
            llm.events_per_s_of_stream,
        ),
    };
    let stream = of_stream.map_or_else(String::new, |rate| {
        format!("; p50 {}/s per stream", number(rate.p50))
    });
    let tokens = format!("{}/s", number(per_s));
    lines.push(row("tokens", &tokens, &format!("{by}{stream}"), columns));
    if let Some(usage) = &llm.usage {
        let of = format!(
            "tokens, {} of prompts, in {} answers",
            count(usage.prompt_tokens),
            count(usage.answers)
        );
        lines.push(row("usage", &count(usage.completion_tokens), &of, columns));
    }
    let ended = messages.streams.map_or(0, |streams| streams.ended_early);
    if ended + llm.errors + llm.empty > 0 {
        let of = format!("{} with an error, {} empty", count(llm.errors), count(llm.empty));
        lines.push(row("ended early", &count(ended), &of, columns));
    }
    lines
}

/// Recommends more connections if prompts waited for one: over HTTP/1.1 each stream occupies one.
pub(super) fn hint(recording: &Recording) -> Option<Warning> {
    recording.messages?.llm?;
    let lag = recording.schedule_lag_ns.filter(|lag| lag.p99 > WAITED)?;
    let text = format!(
        "1 % of the prompts waited {} or more for a connection, included in TTFT.",
        duration(lag.p99)
    );
    Some(Warning::new(WarningKind::Note, text).advise("Raise -c."))
}
