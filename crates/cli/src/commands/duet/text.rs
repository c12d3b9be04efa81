//! The text form of a duet.

use prony_load::{Load, Profile};
use prony_runner::comparisons::duet::{Outcome, compared, ratio, sample, verdict};
use std::fmt::Write as _;

pub(super) fn show(outcome: &Outcome) -> String {
    let load = match &outcome.load {
        Load::Open { arrival, .. } => match &arrival.profile {
            Profile::Constant { rate } => format!("{} requests per second to each", rate.as_per_second()),
            _ => "an open load".to_owned(),
        },
        _ => format!("closed loop on {} connections each", outcome.connections),
    };
    let mut text = format!(
        "{} and {} at the same time: {} · {}, {load}\n\n",
        outcome.first, outcome.second, outcome.contract, outcome.workload
    );
    let _ = writeln!(
        text,
        "goodput {} / {}: {}",
        outcome.first,
        outcome.second,
        ratio(&outcome.goodput.ratio)
    );
    for (name, times) in [
        ("median", &outcome.response_time_ns_p50),
        ("99th percentile", &outcome.response_time_ns_p99),
    ] {
        if let Some(times) = times {
            let _ = writeln!(text, "{name} of the response time: {}", ratio(&times.ratio));
        }
    }
    if let Some(cpu) = &outcome.cpu_per_request {
        let _ = writeln!(
            text,
            "CPU per request of the services alone: {}",
            ratio(&cpu.ratio)
        );
    }
    let _ = writeln!(text, "\n{}", verdict(outcome));
    let compared = compared(outcome);
    let confidence = format!("{:.3}", 100.0 * outcome.confidence);
    let confidence = confidence.trim_end_matches('0').trim_end_matches('.');
    let _ = writeln!(text, "Confidence {confidence} %, {}.", sample(&compared));
    let _ = writeln!(text, "Bias: {}.", outcome.bias);
    for warning in &outcome.warnings {
        let _ = writeln!(text, "Note: {warning}.");
    }
    let _ = writeln!(text, "Stored as {}.", outcome.run);
    text.trim_end().to_owned()
}
