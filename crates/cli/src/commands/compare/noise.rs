//! Describes what affects a comparison apart from the sources: noise of the machine, and code layout.

use super::Comparison;
use super::headline::percent;
use super::measure::CompareMode;
use prony_statistics::{Change, RunChange};
use std::fmt::Write as _;

pub(super) fn noise(comparison: &Comparison) -> Vec<String> {
    let Some(sides) = &comparison.measured else {
        return Vec::new();
    };
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
    if sides.rounds_again > 0 {
        found.push(format!(
            "The new side looked slower in the first {} rounds, so it was measured again in {} more rounds. The intervals account \
             for up to four such looks.",
            sides.rounds - sides.rounds_again,
            sides.rounds_again
        ));
    }
    found.extend(layout(comparison));
    found
}

/// How much two builds of the same source may differ, and which gated changes are within that.
pub(super) fn layout(comparison: &Comparison) -> Option<String> {
    let share = comparison.measured.as_ref()?.code_layout?;
    let (limit, allowed) = (percent(share), comparison.max_slowdown);
    let mut text = format!(
        "Differences below {limit} may come from code layout: in each build the same functions are at other addresses."
    );
    let within: Vec<String> = changes(&comparison.change)
        .filter(|change| change.gated && is_within(change, share))
        .map(|change| format!("{} {}", change.metric.title(), percent_change(change.ratio.point)))
        .collect();
    if !within.is_empty() {
        let _ = write!(text, " That includes {}.", within.join(" and "));
    }
    if comparison.change.gates && allowed < share {
        let _ = write!(
            text,
            " The limit of {} is lower: --max-slowdown {} fails only on more.",
            percent(allowed),
            limit.replace(' ', "")
        );
    }
    Some(text)
}

/// Whether a change is smaller than this share.
pub(super) fn is_within(change: &Change, share: f64) -> bool {
    (change.ratio.point - 1.0).abs() < share
}

fn changes(change: &RunChange) -> impl Iterator<Item = &Change> {
    let services = change.groups.iter().flat_map(|group| &group.services);
    services.flat_map(|service| &service.changes)
}

/// A ratio as a change: `+5 %`. Beyond a factor of 100 the exact value means nothing.
pub(super) fn percent_change(ratio: f64) -> String {
    if ratio > 100.0 {
        return "over a hundredfold".to_owned();
    }
    let text = percent((ratio - 1.0).abs());
    match ratio {
        _ if text == "0 %" => text,
        less if less < 1.0 => format!("−{text}"),
        _ => format!("+{text}"),
    }
}

/// The smallest changes that the rounds could show.
pub(super) fn smallest(sides: &CompareMode) -> Option<String> {
    let each: Vec<String> = sides
        .smallest_differences
        .iter()
        .map(|smallest| format!("{} {}", smallest.metric.title(), percent(smallest.difference)))
        .collect();
    (!each.is_empty()).then(|| {
        format!(
            "Smallest change that {} rounds could show here, in four of five cases: {}. To fail, a slowdown must exceed the limit by \
             this amount.",
            sides.rounds,
            each.join(", ")
        )
    })
}
