//! The headline of a comparison: its verdict, and the change that decides it.

use super::Comparison;
use prony_statistics::{Better, Change, Estimate, Metric, Verdict};

/// The verdict of a comparison: the first word of its headline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeadlineVerdict {
    /// Proven slower than allowed.
    Regression,
    /// Every gated interval is within the limit.
    NoRegression,
    /// Neither a regression nor proven to be within the limit.
    Inconclusive,
    /// Nothing is gated: the comparison is for information only.
    NotGated,
}

impl HeadlineVerdict {
    pub(super) const fn shown(self) -> &'static str {
        match self {
            Self::Regression => "REGRESSION",
            Self::NoRegression => "NO REGRESSION",
            Self::Inconclusive => "INCONCLUSIVE",
            Self::NotGated => "NOT GATED",
        }
    }

    /// The word in JSON.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::NoRegression => "no_regression",
            Self::Inconclusive => "inconclusive",
            Self::NotGated => "not_gated",
        }
    }

    /// The mark in a comment on a pull request.
    pub(super) const fn mark(self) -> &'static str {
        match self {
            Self::Regression => "❌",
            Self::NoRegression => "✅",
            Self::Inconclusive | Self::NotGated => "❔",
        }
    }
}

pub(super) fn word(comparison: &Comparison) -> HeadlineVerdict {
    let change = &comparison.change;
    if change.regressed {
        HeadlineVerdict::Regression
    } else if !change.gates {
        HeadlineVerdict::NotGated
    } else if change.inconclusive || worst(comparison).is_none() {
        HeadlineVerdict::Inconclusive
    } else {
        HeadlineVerdict::NoRegression
    }
}

/// The whole headline: `INCONCLUSIVE: node-mine may be up to 61 % slower than @HEAD~1 (limit 2 %)`.
pub(super) fn headline(comparison: &Comparison) -> String {
    format!("{}: {}", word(comparison).shown(), sentence(comparison, ""))
}

/// The headline without its verdict; names are put in `quotes`.
pub(super) fn sentence(comparison: &Comparison, quotes: &str) -> String {
    let word = word(comparison);
    if word == HeadlineVerdict::NotGated {
        return not_gated(comparison, quotes);
    }
    let (service, change) = match (worst(comparison), comparison.change.without_bound.first()) {
        (Some((_, change)), Some(lost)) if !change.regressed => return lost.clone(),
        (None, Some(lost)) => return lost.clone(),
        (None, None) => return "no gated metric could be compared".to_owned(),
        (Some(worst), _) => worst,
    };
    let (new, base) = names(comparison, service, quotes);
    let limit = format!("(limit {})", percent(comparison.max_slowdown));
    let worse = worse(change.metric);
    let loss = change.loss();
    match word {
        HeadlineVerdict::Regression => {
            let others = regressions(comparison) - 1;
            let more = match others {
                0 => String::new(),
                1 => "; 1 more regression".to_owned(),
                many => format!("; {many} more regressions"),
            };
            let metric = change.metric.title();
            format!(
                "{new} is {} {worse} than {base} {limit}: {metric}{more}",
                range(loss)
            )
        }
        HeadlineVerdict::Inconclusive => format!(
            "{new} may be up to {} {worse} than {base} {limit}",
            percent(loss.high)
        ),
        _ if loss.high > 0.0 => {
            format!(
                "{new} is at most {} {worse} than {base} {limit}",
                percent(loss.high)
            )
        }
        _ => format!("{new} is not {worse} than {base} {limit}"),
    }
}

/// The number of metrics that regressed.
fn regressions(comparison: &Comparison) -> usize {
    let found = gated_changes(comparison)
        .filter(|(_, change)| change.regressed)
        .count();
    found + comparison.change.without_bound.len()
}

/// The gated change that decides the verdict: the one with the largest possible loss among the regressions, else among the
/// inconclusive changes, else among all.
fn worst(comparison: &Comparison) -> Option<(&str, &Change)> {
    let seriousness = |change: &Change| (change.regressed, change.inconclusive);
    gated_changes(comparison).max_by(|(_, one), (_, other)| {
        let by_loss = factor(one).total_cmp(&factor(other));
        seriousness(one).cmp(&seriousness(other)).then(by_loss)
    })
}

/// The factor by which the new side may be worse, on one scale for rates and times.
fn factor(change: &Change) -> f64 {
    match change.metric.better() {
        Better::Higher => 1.0 / change.ratio.low,
        Better::Lower => change.ratio.high,
        Better::Neither => 0.0,
    }
}

fn gated_changes(comparison: &Comparison) -> impl Iterator<Item = (&str, &Change)> {
    all(comparison).filter(|(_, change)| change.gated)
}

/// Every change with its service.
fn all(comparison: &Comparison) -> impl Iterator<Item = (&str, &Change)> {
    let services = comparison.change.groups.iter().flat_map(|group| &group.services);
    services.flat_map(|service| {
        let changes = service.changes.iter();
        changes.map(|change| (service.service.as_str(), change))
    })
}

/// The names of the new side and of the base.
fn names(comparison: &Comparison, service: &str, quotes: &str) -> (String, String) {
    let quote = |name: &str| format!("{quotes}{name}{quotes}");
    let Some(sides) = &comparison.measured else {
        return (
            format!("{} in {}", quote(service), quote(&comparison.new)),
            format!("in {}", quote(&comparison.base)),
        );
    };
    // A revision of the same service is named by its revision alone.
    let service = sides.new.split('@').next().unwrap_or_default();
    let of_same = sides
        .base
        .strip_prefix(service)
        .filter(|revision| revision.starts_with('@'));
    let marked = |name: &str, is_uncommitted: bool| {
        let mark = if is_uncommitted {
            " (uncommitted changes)"
        } else {
            ""
        };
        format!("{}{mark}", quote(name))
    };
    (
        marked(&sides.new, sides.new_uncommitted),
        marked(of_same.unwrap_or(&sides.base), sides.base_uncommitted),
    )
}

fn not_gated(comparison: &Comparison, quotes: &str) -> String {
    let count = |wanted: &str| {
        all(comparison)
            .filter(|(_, change)| direction(change, false) == wanted)
            .count()
    };
    let counts = format!(
        "{} higher, {} lower, {} the same, {} inconclusive",
        count("higher"),
        count("lower"),
        count("same"),
        count("inconclusive")
    );
    let names = format!(
        "{quotes}{}{quotes} against {quotes}{}{quotes}",
        comparison.new, comparison.base
    );
    // A difference that the user asked about is no reason not to compare.
    let differences = comparison.mismatches.len();
    if comparison.others.is_some() && differences > 0 {
        let plural = if differences == 1 { "" } else { "s" };
        return format!("{names}: not comparable ({differences} difference{plural} below); {counts}");
    }
    format!("{names}: {counts}")
}

/// The word for a change. Runs made at different times are higher or lower than each other, not faster or slower.
pub(super) fn direction(change: &Change, paired: bool) -> &'static str {
    let of_speed = is_of_speed(change.metric);
    match change.verdict {
        Verdict::Same => "same",
        Verdict::CannotTell => "inconclusive",
        Verdict::Faster | Verdict::Slower if !paired && change.ratio.point > 1.0 => "higher",
        Verdict::Faster | Verdict::Slower if !paired => "lower",
        Verdict::Faster if of_speed => "faster",
        Verdict::Faster => "better",
        Verdict::Slower if of_speed => "slower",
        Verdict::Slower => "worse",
    }
}

fn is_of_speed(metric: Metric) -> bool {
    !matches!(metric.unit(), "bytes" | "cpus")
}

pub(super) fn worse(metric: Metric) -> &'static str {
    if is_of_speed(metric) { "slower" } else { "worse" }
}

/// A loss as an interval: `12 to 15 %`.
fn range(loss: Estimate) -> String {
    let (low, high) = (percent(loss.low), percent(loss.high));
    if low == high {
        return low;
    }
    format!("{} to {high}", low.trim_end_matches(" %"))
}

/// A share as a percentage, with one decimal place below 10 % and between 99 % and 100 %.
pub(super) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent >= 999.5 {
        return format!("{} %", prony_records::count(percent.round() as u64));
    }
    let text = if percent.abs() < 9.95 || (99.0..99.95).contains(&percent) {
        format!("{percent:.1}")
    } else {
        format!("{percent:.0}")
    };
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_two_digits() {
        for (share, text) in [
            (0.02, "2 %"),
            (78.09, "7,809 %"),
            (0.0, "0 %"),
            (0.0251, "2.5 %"),
            (0.61, "61 %"),
            (1.5, "150 %"),
            (0.998, "99.8 %"),
        ] {
            assert_eq!(percent(share), text);
        }
        let loss = Estimate {
            point: 0.13,
            low: 0.12,
            high: 0.15,
            confidence: 0.95,
        };
        assert_eq!(range(loss), "12 to 15 %");
    }

    /// A comparison of a service with one gated change, in CPU time per request; `ratio` is new over base.
    fn comparison(ratio: [f64; 3], verdict: &str, gates: bool, max_slowdown: f64) -> Comparison {
        let estimate = |[point, low, high]: [f64; 3]| serde_json::json!({ "point": point, "low": low, "high": high, "confidence": 0.95 });
        let (low, high) = (ratio[1] - 1.0, ratio[2] - 1.0);
        let (regressed, inconclusive) = (low > max_slowdown, low <= max_slowdown && high > max_slowdown);
        let change = serde_json::json!({
            "groups": [{ "contract": "hello", "workload": "hello", "load": { "kind": "closed" }, "services": [{
                "service": "node-mine/current",
                "changes": [{
                    "metric": "cpu_ns_per_request", "base": estimate([1.0, 1.0, 1.0]), "new": estimate(ratio), "ratio": estimate(ratio),
                    "p_adjusted": 0.01, "verdict": verdict, "gated": gates, "regressed": regressed && gates,
                    "inconclusive": inconclusive && gates
                }]
            }] }],
            "missing": [], "gates": gates, "regressed": regressed && gates, "inconclusive": inconclusive && gates
        });
        Comparison {
            schema: 1,
            verdict: "",
            headline: String::new(),
            exit: 0,
            base: "base-run".to_owned(),
            new: "new-run".to_owned(),
            confidence: 0.95,
            tie_band: 0.01,
            max_slowdown,
            paired: true,
            mismatches: Vec::new(),
            differences: Vec::new(),
            others: None,
            change: serde_json::from_value(change).expect("a change"),
            measured: None,
            history: Vec::new(),
            left_out: crate::commands::compare::input::LeftOut::default(),
        }
    }

    /// One headline for each verdict.
    #[test]
    fn each_verdict_has_its_first_line() {
        let lines = [
            comparison([1.13, 1.12, 1.15], "slower", true, 0.02),
            comparison([1.0, 0.99, 1.01], "same", true, 0.02),
            comparison([0.9, 0.88, 0.92], "faster", true, 0.02),
            comparison([1.2, 0.9, 1.61], "cannot_tell", true, 0.02),
            comparison([1.2, 1.1, 1.3], "slower", false, 0.02),
        ];
        insta::assert_snapshot!(lines.each_ref().map(headline).join("\n"));
    }
}
