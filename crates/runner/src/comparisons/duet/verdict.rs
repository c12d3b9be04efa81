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
            "Stopped early, after {} rounds: nothing is judged. Repeat the command with `--resume {}` to continue.",
            outcome.rounds.len(),
            outcome.run
        );
    }
    if matches!(outcome.load, Load::Open { .. }) && outcome.response_time_ns_p99.is_none() {
        return without_bound(outcome)
            .unwrap_or_else(|| "Too few rounds to compare response times.".to_owned());
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

/// Which of the two is faster where the 99th percentile of one has no bound: more than 1 % of its requests had no valid reply.
fn without_bound(outcome: &Outcome) -> Option<String> {
    let rounds = |side: usize| {
        let p99 = outcome
            .rounds
            .iter()
            .map(move |round| round.response_time_ns_p99[side]);
        let bounded = p99
            .clone()
            .filter(|time| time.is_some_and(|time| time.exact().is_some()));
        (bounded.count(), p99.count())
    };
    let says = |(bounded, all): (usize, usize), name: &str| {
        (bounded < all).then(|| {
            format!(
                "The 99th percentile of {name} has no bound in {} of {all} rounds",
                all - bounded
            )
        })
    };
    let (first, second) = (rounds(0), rounds(1));
    let told = says(first, &outcome.first).or_else(|| says(second, &outcome.second))?;
    let never = |(bounded, all): (usize, usize)| bounded == 0 && all > 1;
    let always = |(bounded, all): (usize, usize)| bounded == all;
    Some(if never(first) && always(second) {
        format!("{told}: {} is faster.", outcome.second)
    } else if never(second) && always(first) {
        format!("{told}: {} is faster.", outcome.first)
    } else {
        format!("{told}: cannot tell which is faster.")
    })
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
