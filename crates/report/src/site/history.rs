//! A service in one ranking over time: a chart, its changes of level, and every run.

use super::html;
use super::order::{Entry, VariantHistory};
use super::run::{day, value};
use crate::ReportError;
use crate::formats::{escaped, head_of};
use crate::number::{Unit, ratio};
use prony_statistics::{ChangePoint, Metric, change_points};

/// Metrics that are followed in addition to the ranking metric.
const FOLLOWED: [Metric; 3] = [
    Metric::ResponseTimeNsP99,
    Metric::CpuNsPerRequest,
    Metric::MemoryBytesPeak,
];
/// Confidence at which a level counts as changed.
const CONFIDENCE: f64 = 0.99;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 180.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 30.0;
/// How far beyond the points intervals are drawn, as a share of them: an unbounded interval must not flatten the
/// others.
const FARTHEST: f64 = 0.5;

/// A change of level: the first entry with the new level, and the size of the change.
struct LevelChange {
    metric: Metric,
    at: usize,
    found: ChangePoint,
}

/// The section of a line with two or more runs; `name` is the display name of the variant.
pub(super) fn section(line: &VariantHistory<'_>, name: &str) -> Result<String, ReportError> {
    let latest = line.latest();
    // Another machine or another version of prony is not a change of the service.
    let alike: Vec<bool> = line
        .entries
        .iter()
        .map(|entry| latest.run.differs(entry.run).is_empty())
        .collect();
    let mut changes = Vec::new();
    for metric in metrics(&latest) {
        changes.extend(changed(line, &alike, metric)?);
    }
    let title = format!("{name}: {} in {}", latest.board.title(), latest.run.title);
    let mut out = format!("<h3>{}</h3>\n", escaped(&title));
    out += &picture(line, &alike, &changes, &title);
    out += &sentences(line, &alike, &changes);
    out += &table(line, &alike, &title);
    Ok(out)
}

fn metrics(entry: &Entry<'_>) -> impl Iterator<Item = Metric> {
    let ranked_by = entry.board.group.ranked_by;
    let others = FOLLOWED.into_iter().filter(move |&metric| metric != ranked_by);
    std::iter::once(ranked_by).chain(others)
}

fn changed(
    line: &VariantHistory<'_>,
    alike: &[bool],
    metric: Metric,
) -> Result<Vec<LevelChange>, ReportError> {
    let known: Vec<(usize, f64)> = line
        .entries
        .iter()
        .enumerate()
        .filter(|(at, _)| alike[*at])
        .filter_map(|(at, entry)| Some((at, entry.row.metrics.get(metric)?.estimate()?.point)))
        .filter(|(_, point)| *point > 0.0)
        .collect();
    let points: Vec<f64> = known.iter().map(|(_, point)| *point).collect();
    let found = change_points(&points, CONFIDENCE)?;
    let changed = |found: ChangePoint| LevelChange {
        metric,
        at: known[found.index].0,
        found,
    };
    Ok(found.into_iter().map(changed).collect())
}

fn sentences(line: &VariantHistory<'_>, alike: &[bool], changes: &[LevelChange]) -> String {
    let mut lines: Vec<String> = changes
        .iter()
        .map(|change| {
            format!(
                "From {} on, {} is {}–{} times what it was before.",
                day(&line.entries[change.at].run.started_at),
                change.metric.title(),
                ratio(change.found.ratio.low),
                ratio(change.found.ratio.high)
            )
        })
        .collect();
    let comparable = alike.iter().filter(|&&alike| alike).count();
    if changes.is_empty() {
        lines.push(if comparable < 6 {
            "A change of level can be found once there are six runs under the same conditions.".to_owned()
        } else {
            "No level changed.".to_owned()
        });
    }
    if comparable < alike.len() {
        lines.push(
            "Runs with a hollow point were made under other conditions than the newest one, such as another machine or another version of prony; the search for changes leaves them out."
                .to_owned(),
        );
    }
    lines
        .iter()
        .map(|line| format!("<p>{}</p>\n", escaped(line)))
        .collect()
}

fn table(line: &VariantHistory<'_>, alike: &[bool], title: &str) -> String {
    let latest = line.latest();
    let mut heads = vec!["run", "rank"];
    heads.extend(metrics(&latest).map(head_of));
    heads.push("conditions");
    let rows: Vec<Vec<String>> = line
        .entries
        .iter()
        .zip(alike)
        .rev()
        .map(|(entry, &alike)| {
            let page = format!("../{}", entry.board.address(entry.run));
            let mut cells = vec![
                html::link(&page, &day(&entry.run.started_at)),
                html::number(Some(entry.board.rank(entry.row))),
            ];
            cells.extend(metrics(&latest).map(|metric| html::number(value(entry.row, metric))));
            cells.push(if alike { "same" } else { "different" }.to_owned());
            cells
        })
        .collect();
    html::table(&format!("Runs of {title}"), &heads, &rows)
}

/// Positions of a run and of a value.
struct HistoryPlot {
    low: f64,
    high: f64,
    runs: usize,
}

impl HistoryPlot {
    fn x(&self, at: usize) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * (at as f64 + 0.5) / self.runs as f64
    }

    fn y(&self, value: f64) -> f64 {
        let share = (value.clamp(self.low, self.high) - self.low) / (self.high - self.low);
        HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share
    }
}

/// The ranking metric, run by run.
fn picture(line: &VariantHistory<'_>, alike: &[bool], changes: &[LevelChange], title: &str) -> String {
    let metric = line.latest().board.group.ranked_by;
    let points: Vec<(usize, f64, f64, f64)> = line
        .entries
        .iter()
        .enumerate()
        .filter_map(|(at, entry)| {
            let estimate = entry.row.metrics.get(metric)?.estimate()?;
            Some((at, estimate.point, estimate.low, estimate.high))
        })
        .collect();
    if points.len() < 2 {
        return String::new();
    }
    let lows = points
        .iter()
        .map(|&(_, point, low, _)| low.max(point * (1.0 - FARTHEST)));
    let highs = points
        .iter()
        .map(|&(_, point, _, high)| high.min(point * (1.0 + FARTHEST)));
    let (low, high) = (lows.fold(f64::INFINITY, f64::min), highs.fold(0.0, f64::max));
    let plane = HistoryPlot {
        low,
        high: high.max(low * 1.01 + f64::MIN_POSITIVE),
        runs: line.entries.len(),
    };
    let mut drawn = axes(&plane, metric, line);
    for change in changes.iter().filter(|change| change.metric == metric) {
        let x = f64::midpoint(plane.x(change.at), plane.x(change.at.saturating_sub(1)));
        drawn += &format!(
            "<path class=\"change\" d=\"M{x:.1} {TOP}V{:.1}\"/>",
            HEIGHT - BOTTOM
        );
    }
    let steps: Vec<String> = points
        .iter()
        .map(|&(at, point, ..)| format!("{:.1} {:.1}", plane.x(at), plane.y(point)))
        .collect();
    drawn += &format!("<path class=\"line\" d=\"M{}\"/>", steps.join("L"));
    for &(at, point, low, high) in &points {
        let (x, class) = (plane.x(at), if alike[at] { "point" } else { "hollow" });
        drawn += &format!(
            "<path class=\"whisker\" d=\"M{x:.1} {:.1}V{:.1}\"/><circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"4\"/>",
            plane.y(low),
            plane.y(high),
            plane.y(point)
        );
    }
    let label = format!(
        "{} over {} runs of {title}; the table below has the same",
        metric.title(),
        points.len()
    );
    format!(
        "<svg class=\"history\" viewBox=\"0 0 {WIDTH:.0} {HEIGHT:.0}\" role=\"img\" aria-label=\"{}\">{drawn}</svg>\n",
        escaped(&label)
    )
}

fn axes(plane: &HistoryPlot, metric: Metric, line: &VariantHistory<'_>) -> String {
    let unit = Unit::for_metric(metric, &[plane.low, plane.high]);
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let mut out = format!("<path class=\"axis\" d=\"M{LEFT} {TOP}H{right}M{LEFT} {bottom}H{right}\"/>");
    for (value, y) in [(plane.high, TOP), (plane.low, bottom)] {
        out += &format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            y + 4.0,
            escaped(&unit.show_with(value))
        );
    }
    let first = day(&line.entries[0].run.started_at);
    let last = day(&line.latest().run.started_at);
    for (text, x, anchor) in [(first, LEFT, "start"), (last, right, "end")] {
        let y = HEIGHT - 8.0;
        out += &format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>");
    }
    out
}
