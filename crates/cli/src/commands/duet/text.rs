//! A duet for people.

use super::Outcome;
use super::sides::Placement;
use prony_load::{Load, Profile};
use prony_statistics::{Duet, DuetSample, Estimate};
use std::fmt::Write as _;

pub(super) fn show(outcome: &Outcome) -> String {
    let load = match &outcome.load {
        Load::Open { arrival, .. } => match arrival.profile {
            Profile::Constant { rate } => format!("{} requests per second to each", rate.as_per_second()),
            _ => "an open load".to_owned(),
        },
        _ => format!("closed loop on {} connections each", outcome.connections),
    };
    let mut text = format!(
        "{} and {} at once: {} · {}, {load}\n\n",
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
    if let (Some(side), Placement::Sides) = (&outcome.goodput.side, outcome.placement) {
        let _ = writeln!(
            text,
            "first side of the machine over second, cancelled by swapping: {}",
            ratio(side)
        );
    }
    let _ = writeln!(text, "\n{}", verdict(outcome));
    let compared = compared(outcome);
    let confidence = format!("{:.3}", 100.0 * outcome.confidence);
    let confidence = confidence.trim_end_matches('0').trim_end_matches('.');
    let _ = writeln!(text, "Confidence {confidence} %, {}.", sample(&compared));
    for warning in &outcome.warnings {
        let _ = writeln!(text, "Note: {warning}.");
    }
    let _ = writeln!(text, "Stored as {}.", outcome.run);
    text.trim_end().to_owned()
}

fn ratio(estimate: &Estimate) -> String {
    format!(
        "{:.4} ({:.4} to {:.4})",
        estimate.point, estimate.low, estimate.high
    )
}

/// What decides: goodput where the services set the pace, response time where requests arrive on their own.
fn compared(outcome: &Outcome) -> Duet {
    match (&outcome.load, outcome.response_time_ns_p99) {
        (Load::Open { .. }, Some(times)) => times,
        _ => outcome.goodput,
    }
}

/// The result in a sentence, for the store.
pub(super) fn sentence(outcome: &Outcome) -> String {
    let (metric, found) = match (&outcome.load, outcome.response_time_ns_p99) {
        (Load::Open { .. }, Some(times)) => ("99th percentile of the response time", times),
        _ => ("goodput", outcome.goodput),
    };
    format!(
        "duet: {metric} of {} over {}: {}, {}. {}",
        outcome.first,
        outcome.second,
        ratio(&found.ratio),
        sample(&found),
        verdict(outcome)
    )
}

fn verdict(outcome: &Outcome) -> String {
    if matches!(outcome.load, Load::Open { .. }) && outcome.response_time_ns_p99.is_none() {
        return "Too few rounds to compare response times.".to_owned();
    }
    let Estimate { low, high, .. } = match &outcome.load {
        // A shorter response time is the better one.
        Load::Open { .. } => compared(outcome).ratio.reversed(),
        _ => outcome.goodput.ratio,
    };
    let band = 1.0 + outcome.tie_band;
    if low >= 1.0 / band && high <= band {
        return format!("They are the same within {:.1} %.", 100.0 * outcome.tie_band);
    }
    let faster = |name: &str, low: f64, high: f64| {
        format!(
            "{name} is {:.1} to {:.1} % faster.",
            100.0 * (low - 1.0),
            100.0 * (high - 1.0)
        )
    };
    if low > 1.0 {
        faster(&outcome.first, low, high)
    } else if high < 1.0 {
        faster(&outcome.second, 1.0 / high, 1.0 / low)
    } else {
        "Cannot tell which is faster.".to_owned()
    }
}

fn sample(duet: &Duet) -> String {
    match duet.sample {
        DuetSample::Rounds => format!(
            "from {} rounds of fresh starts ({} windows)",
            duet.rounds, duet.windows
        ),
        DuetSample::Windows => format!(
            "from {} windows of {} rounds: it holds for these starts alone; six rounds or more make it hold for any",
            duet.windows, duet.rounds
        ),
    }
}
