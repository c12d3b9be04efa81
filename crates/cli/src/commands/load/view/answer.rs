//! The last line of a load: how fast, how slow at its worst, how many errors, and whether to believe it.

use super::llm;
use crate::shown::{duration, quantile};
use prony_measurement::{Messages, Recording, WarningKind};

/// What was measured, in one line.
pub(in super::super) fn answer(recording: &Recording) -> String {
    let mut parts = match &recording.messages {
        Some(messages @ Messages { llm: Some(llm), .. }) => llm::answer(messages, llm),
        Some(messages) if messages.streams.is_some() => of_streams(messages),
        _ => of_replies(recording),
    };
    parts.push(errors(recording));
    format!("{}: {}", parts.join(", "), belief(recording))
}

fn of_replies(recording: &Recording) -> Vec<String> {
    let mut parts = vec![format!("{:.0} valid replies/s", recording.goodput_per_s)];
    parts.extend(
        recording
            .response_time_ns
            .map(|times| format!("p99 {}", quantile(times.p99))),
    );
    parts
}

/// Of a stream that lasts, its end says least.
fn of_streams(messages: &Messages) -> Vec<String> {
    let mut parts = vec![format!("{:.0} messages/s", messages.per_s)];
    for (name, times) in [("first", messages.first_ns), ("gap", messages.gap_ns)] {
        parts.extend(times.map(|times| format!("{name} p99 {}", duration(times.p99))));
    }
    if let Some(ids) = messages.ids.filter(|ids| ids.missing + ids.doubled > 0) {
        parts.push(format!("{} missing, {} doubled", ids.missing, ids.doubled));
    }
    parts
}

fn errors(recording: &Recording) -> String {
    let (errors, offered) = (recording.outcomes.errors(), recording.requests.offered);
    match errors {
        0 => "no errors".to_owned(),
        _ if errors == offered => "nothing but errors".to_owned(),
        1 => "1 error".to_owned(),
        _ => format!(
            "{errors} errors ({:.2} %)",
            errors as f64 / offered as f64 * 100.0
        ),
    }
}

/// Whether the numbers are those of the service. What it did wrong itself is no reason to doubt them.
fn belief(recording: &Recording) -> String {
    let kinds = || recording.warnings.iter().map(|warning| warning.kind);
    let doubts = kinds().filter(|kind| is_doubt(*kind)).count();
    if kinds().any(|kind| kind == WarningKind::GeneratorSaturated) {
        "the service may be faster, the generator was the limit".to_owned()
    } else if doubts > 0 {
        format!(
            "doubtful, see {}",
            if doubts == 1 {
                "the warning"
            } else {
                "the warnings"
            }
        )
    } else if recording.interrupted {
        "as far as it went, nothing speaks against it".to_owned()
    } else {
        "nothing speaks against it".to_owned()
    }
}

/// Whether it is the measurement that is in doubt, for another reason than a generator at its limit.
const fn is_doubt(kind: WarningKind) -> bool {
    matches!(
        kind,
        WarningKind::ScheduleLag
            | WarningKind::RateNotHeld
            | WarningKind::ConnectionsNotEstablished
            | WarningKind::ClockStep
            | WarningKind::FewSamples
            | WarningKind::LittlesLaw
            | WarningKind::SharedCpus
            | WarningKind::Noise
    )
}
