//! Describes how noise of the machine affects a comparison.

use super::measure::CompareMode;
use prony_statistics::{Change, RunChange};

pub(super) fn noise(sides: &CompareMode) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(itself) = &sides.base_against_itself {
        let each: Vec<String> = changes(itself)
            .filter(|change| change.gated)
            .map(|change| {
                let ratio = change.ratio;
                format!(
                    "{} {} ({} to {})",
                    change.metric.title(),
                    percent_change(ratio.point),
                    percent_change(ratio.low),
                    percent_change(ratio.high)
                )
            })
            .collect();
        if !each.is_empty() {
            found.push(format!(
                "A/A noise: on this machine `{}` differs from itself by {}. Smaller differences are not regressions.",
                sides.base,
                each.join(", ")
            ));
        }
    }
    if !sides.smallest_differences.is_empty() {
        let each: Vec<String> = sides
            .smallest_differences
            .iter()
            .map(|smallest| format!("{} {:.1} %", smallest.metric.title(), 100.0 * smallest.difference))
            .collect();
        found.push(format!(
            "Smallest change that {} rounds could show here, in four of five cases: {}. To fail, a slowdown must exceed the limit by \
             this amount.",
            sides.rounds,
            each.join(", ")
        ));
    }
    if sides.rounds_again > 0 {
        found.push(format!(
            "The new side looked slower in the first {} rounds, so it was measured again in {} more rounds. The intervals account \
             for up to four such looks.",
            sides.rounds - sides.rounds_again,
            sides.rounds_again
        ));
    }
    found
}

fn changes(change: &RunChange) -> impl Iterator<Item = &Change> {
    let services = change.groups.iter().flat_map(|group| &group.services);
    services.flat_map(|service| &service.changes)
}

/// A ratio as a change: `+5.0 %`. Beyond a factor of 100 the exact value means nothing.
pub(super) fn percent_change(ratio: f64) -> String {
    match ratio {
        large if large > 100.0 => "over a hundredfold".to_owned(),
        ratio => format!("{:+.1} %", 100.0 * (ratio - 1.0)),
    }
}
