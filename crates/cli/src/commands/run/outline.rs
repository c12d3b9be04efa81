//! Shows what a run would do (`--dry-run`).

use crate::text::wrapped;
use prony_config::{GroupOutline, PlanOutline};
use prony_load::DurationText;
use std::fmt::Write as _;
use std::time::Duration;

/// Columns before the values.
const INDENT: usize = 13;

/// The groups of a plan: what is measured, under which load, for how long.
pub(super) fn text(outline: &PlanOutline, columns: usize) -> String {
    let mut out = String::new();
    for group in &outline.groups {
        let _ = writeln!(out, "{}/{}", group.contract, group.workload);
        for (label, value) in rows(group) {
            let _ = writeln!(out, "  {label:<9}  {}", wrapped(&value, columns, INDENT, INDENT));
        }
        out.push('\n');
    }
    let rounds = match outline.rounds {
        1 => "1 round".to_owned(),
        several => format!("{several} rounds"),
    };
    let budget = outline.budget_s.map_or_else(String::new, |budget_s| {
        format!("; no new round starts after {}", time(budget_s))
    });
    let _ = write!(
        out,
        "{rounds}, {} trials, about {}{budget}",
        outline.trials,
        time(outline.expected_s)
    );
    out
}

fn rows(group: &GroupOutline) -> Vec<(&'static str, String)> {
    let mut rows = vec![("load", group.load.clone())];
    rows.extend(group.capacity.clone().map(|search| ("search", search)));
    rows.push(("warm-up", group.warm_up.clone()));
    rows.push(("duration", time(group.duration_s)));
    rows.extend(group.rank_by.map(|metric| ("ranked by", metric.to_owned())));
    let protocols: Vec<&str> = group.protocols.iter().map(|channel| channel.word()).collect();
    rows.push(("protocols", protocols.join(", ")));
    rows.push(("services", group.services.join(", ")));
    rows
}

fn time(seconds: f64) -> String {
    // Fractions of a second do not matter in a plan of minutes.
    let whole = if seconds >= 60.0 { seconds.round() } else { seconds };
    DurationText(Duration::from_secs_f64(whole)).to_string()
}
