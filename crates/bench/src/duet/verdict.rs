//! What a duet says, in sentences.

use super::Outcome;
use prony_load::Load;
use prony_statistics::{Duet, DuetSample, Estimate};

/// A ratio with its interval.
pub fn ratio(estimate: &Estimate) -> String {
    format!(
        "{:.4} ({:.4} to {:.4})",
        estimate.point, estimate.low, estimate.high
    )
}

/// What decides: goodput where the services set the pace, response time where requests arrive on their own.
pub fn compared(outcome: &Outcome) -> Duet {
    match (&outcome.load, outcome.response_time_ns_p99) {
        (Load::Open { .. }, Some(times)) => times,
        _ => outcome.goodput,
    }
}

/// The result in a sentence, for the store.
pub(crate) fn sentence(outcome: &Outcome) -> String {
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

/// Which of the two is faster, in a sentence.
pub fn verdict(outcome: &Outcome) -> String {
    if outcome.interrupted {
        return format!(
            "Ended early, after {} rounds: nothing is judged.",
            outcome.rounds.len()
        );
    }
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

/// What a ratio comes from, in words.
pub fn sample(duet: &Duet) -> String {
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
