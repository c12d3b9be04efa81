//! Describes where the variation of a run comes from, and how many trials the requested precision takes.

use prony_report::Report;
use prony_runner::precision_of;
use prony_statistics::{Level, ServiceSummary};
use std::fmt::Write as _;

/// The levels from within a start outwards: the name, and what helps if the level dominates.
const LEVELS: [(Level, &str, &str); 3] = [
    (Level::WithinStart, "within a start", "measure longer"),
    (Level::BetweenStarts, "between starts", "run more rounds"),
    (Level::BetweenBuilds, "between builds", "make more builds"),
];

/// A sentence for each group of a report that has services with two trials or more.
pub(crate) fn sentences(report: &Report) -> Vec<String> {
    let precision = precision_of(&report.plan);
    let several = report.groups.len() > 1;
    let all = report.groups.iter().filter_map(|group| {
        let rows: Vec<&ServiceSummary> = group.services.iter().map(|row| &row.summary).collect();
        let name = if several {
            format!(" of {}, {}", group.workload, group.load_text)
        } else {
            String::new()
        };
        sentence(&rows, &name, precision)
    });
    all.collect()
}

fn sentence(rows: &[&ServiceSummary], name: &str, precision: f64) -> Option<String> {
    let known: Vec<&ServiceSummary> = rows
        .iter()
        .copied()
        .filter(|row| row.excluded.is_none() && row.variation.is_some())
        .collect();
    if known.is_empty() {
        return None;
    }
    let parts: Vec<(f64, &str, &str)> = LEVELS
        .iter()
        .filter_map(|&(level, words, helps)| Some((mean_share(&known, level)?, words, helps)))
        .collect();
    let shares: Vec<String> = parts
        .iter()
        .map(|(share, words, _)| format!("{:.0} % {words}", 100.0 * share))
        .collect();
    let (_, words, helps) = parts.iter().max_by(|one, other| one.0.total_cmp(&other.0))?;
    let mut text = format!(
        "The variance of a trial's throughput{name} is {}, averaged over {} service{}: the variance {words} dominates, so {helps} for \
         narrower intervals.",
        shares.join(", "),
        known.len(),
        if known.len() == 1 { "" } else { "s" }
    );
    let most = known
        .iter()
        .filter_map(|row| Some((row.trials_for_precision?, row.id.to_string())))
        .max();
    if let Some((trials, service)) = most {
        let _ = write!(
            text,
            " A precision of ±{:.1} % takes {trials} trials of {service}, which needs the most.",
            100.0 * precision
        );
    }
    Some(text)
}

/// The share of a level, averaged over services; `None` if no service has it.
fn mean_share(rows: &[&ServiceSummary], level: Level) -> Option<f64> {
    let shares: Vec<f64> = rows
        .iter()
        .filter_map(|row| row.variation.as_ref())
        .filter_map(|variation| variation.components.iter().find(|part| part.level == level))
        .map(|part| part.share)
        .collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}
