//! Results of streams and their messages.

use crate::part::Part;
use crate::tally::{LlmTally, RoomTally, Tally};
use prony_load::Job;
use prony_load::events::Chat;
use prony_records::{
    GoodputStreams, Histogram, Llm, MessageIds, Messages, Rooms, StreamRate, Usage, Warning, WarningKind,
};

/// The messages of streams, if the replies are streams.
pub(super) fn messages(job: &Job, tally: &Tally, duration_s: f64) -> Option<Messages> {
    let messages = tally.messages.as_ref()?;
    let ids = messages.ids;
    Some(Messages {
        received: messages.count,
        per_s: super::per_second(messages.count, duration_s),
        first_ns: messages.first.summary(),
        last_ns: messages.last.summary(),
        gap_ns: messages.gaps.summary(),
        ids: (ids.counted > 0).then(|| MessageIds {
            counted: ids.counted,
            missing: ids.skipped.saturating_sub(ids.late),
            doubled: ids.doubled,
            late: ids.late,
        }),
        streams: job.load.members().is_none().then_some(messages.streams),
        rooms: job.load.members().map(|members| {
            let none = RoomTally::default();
            let rooms = messages.rooms.as_deref().unwrap_or(&none);
            Rooms {
                members: u64::from(members),
                expected: rooms.expected,
                reached: rooms.reached,
                delivery_ns: rooms.delivery.summary(),
            }
        }),
        llm: chat(job).map(|chat| llm((chat, messages.llm.as_deref()), tally, duration_s)),
    })
}

/// The objective for answers, if the target is a language model.
fn chat(job: &Job) -> Option<&Chat> {
    let mut operations = job.workload.operations.iter();
    operations.find_map(|operation| operation.expect.events.as_ref()?.chat.as_ref())
}

fn llm((chat, recorded): (&Chat, Option<&LlmTally>), tally: &Tally, duration_s: f64) -> Llm {
    let none = LlmTally::default();
    let recorded = recorded.unwrap_or(&none);
    let window = recorded.window;
    let rate = |times: &Histogram| times.summary().and_then(|times| StreamRate::of(&times));
    Llm {
        ttft_ns: recorded.ttft.summary(),
        tpot_ns: recorded.tpot.summary(),
        events_per_s_of_stream: rate(&recorded.tpot_by_events),
        usage: (window.counted > 0).then(|| Usage {
            answers: window.counted,
            prompt_tokens: window.prompt_tokens,
            completion_tokens: window.completion_tokens,
            per_s: super::per_second(window.completion_tokens, duration_s),
            per_s_of_stream: rate(&recorded.tpot_by_usage),
        }),
        good: chat.has_objective().then(|| GoodputStreams {
            answers: recorded.good,
            due: tally.operations.iter().map(|one| one.requests.offered).sum(),
            per_s: super::per_second(window.good, duration_s),
            late: recorded.late,
            slow: recorded.slow,
            long: recorded.long,
        }),
        errors: recorded.errors,
        empty: recorded.empty,
    }
}

/// A reply that never ends looks like a slow service, so suggest an end condition.
pub(super) fn unended(part: &Part) -> Option<Warning> {
    let operation = &part.totals.unended.as_ref()?.text;
    let text = format!("Replies to {operation} did not finish before the timeout.");
    let advice = "If they are streams, set an end condition: --events or --for.";
    Some(Warning::new(WarningKind::Note, text).advise(advice))
}
