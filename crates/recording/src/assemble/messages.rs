//! What is said of streams and their messages.

use crate::part::Part;
use crate::tally::Tally;
use prony_load::Job;
use prony_measurement::{MessageIds, Messages, Warning, WarningKind};

/// The messages of streams, where there are any.
pub(super) fn messages(job: &Job, tally: &Tally, duration_s: f64) -> Option<Messages> {
    let messages = tally.messages.as_ref()?;
    let mut operations = job.workload.operations.iter();
    let has_events = operations.any(|operation| operation.expect.events.is_some());
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
        streams: has_events.then_some(messages.streams),
    })
}

/// A reply that never ends looks like a slow service, unless somebody says what to do.
pub(super) fn unended(part: &Part) -> Option<Warning> {
    let operation = &part.totals.unended.as_ref()?.text;
    Some(Warning::new(
        WarningKind::Note,
        format!(
            "a reply to {operation} had begun and did not end within the timeout: if it is a stream of events, say when it has \
             ended well, --events N or --for TIME"
        ),
    ))
}
