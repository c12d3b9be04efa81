//! Single charts as SVG, for READMEs: bars with whiskers, percentile curves, and a radar of workloads. They suit light
//! and dark pages alike.

mod radar;

use super::terminal::named;
use super::{escaped, group_title, rate_of};
use crate::number::{FARTHEST, Unit, estimated, no_bound, percent};
use crate::palette::{dark, light};
use crate::{GroupReport, Report, Row};
use prony_statistics::{Metric, Quantity};

const WIDTH: f64 = 860.0;
const NAME: f64 = 226.0;
const RIGHT: f64 = 130.0;
const ROW: f64 = 28.0;
const KEYS_IN_A_ROW: usize = 4;
const TOP: f64 = 58.0;
const FONT: &str = "font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif\"";
/// Number of lines with a colour of their own.
const LINES: usize = 8;
const DASHES: [&str; 8] = ["", "", "", "", "6 4", "6 4", "6 4", "6 4"];

/// The style of a chart, in the colours of both themes.
fn style() -> String {
    let rules = |colour: fn(&str) -> &'static str| {
        format!(
            "text{{fill:{text}}}.q{{fill:{muted}}}.l{{stroke:{line}}}.w{{stroke:{whisker}}}.b{{fill:{background}}}",
            text = colour("text"),
            muted = colour("muted"),
            line = colour("line"),
            whisker = colour("whisker"),
            background = colour("background"),
        )
    };
    format!(
        "<style>{}@media(prefers-color-scheme:dark){{{}}}</style>",
        rules(light),
        rules(dark)
    )
}

/// The colour of a line, by its number from 0.
fn line_colour(number: usize) -> &'static str {
    light(&format!("line-{}", number % LINES + 1))
}

/// Every chart of the report, with the name of its file (without extension).
pub fn charts(report: &Report) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (index, group) in report.groups.iter().enumerate() {
        let name = |what: &str| {
            file_name(&format!(
                "{}-{}-{}-{what}",
                index + 1,
                group.contract,
                group.workload
            ))
        };
        all.extend(bars(report, group, rate_of(group)).map(|svg| (name("throughput"), svg)));
        all.extend(bars(report, group, Metric::ResponseTimeNsP99).map(|svg| (name("p99"), svg)));
        all.extend(percentiles(report, group).map(|svg| (name("percentiles"), svg)));
        let of_all = file_name(&format!("{}-{}-radar", index + 1, group.contract));
        all.extend(radar::radar(report, index).map(|svg| (of_all, svg)));
    }
    all
}

fn file_name(text: &str) -> String {
    let plain = |character: char| {
        if character.is_ascii_alphanumeric() {
            character
        } else {
            '-'
        }
    };
    text.chars().map(plain).collect()
}

fn frame(title: &str, subtitle: &str, height: f64, body: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" height=\"{height:.0}\" role=\"img\" {FONT} font-size=\"13\">\n\
         <title>{title}</title>\n{style}\n<rect class=\"b\" width=\"{WIDTH}\" height=\"{height:.0}\"/>\n\
         <text x=\"16\" y=\"26\" font-size=\"16\" font-weight=\"600\">{title}</text>\n\
         <text class=\"q\" x=\"16\" y=\"45\">{subtitle}</text>\n{body}</svg>\n",
        title = escaped(title),
        subtitle = escaped(subtitle),
        style = style()
    )
}

struct Bar<'a> {
    name: String,
    quantity: &'a Quantity,
    /// 0 without a bound.
    position: f64,
    /// Whether the value is a lower bound.
    bound: bool,
}

fn bars(report: &Report, group: &GroupReport, metric: Metric) -> Option<String> {
    let rows: Vec<Bar<'_>> = group
        .services
        .iter()
        .filter_map(|row| bar_of(report, row, metric))
        .collect();
    let values: Vec<f64> = rows.iter().map(|bar| bar.position).collect();
    let ceiling = group.ceiling_per_s.filter(|_| metric.unit() == "1/s");
    let end = |bar: &Bar<'_>| {
        let estimate = bar.quantity.estimate();
        estimate.map_or(bar.position, |estimate| estimate.high)
    };
    let highest = rows.iter().map(end).fold(0.0, f64::max);
    let most = highest.min(FARTHEST * values.iter().copied().fold(0.0, f64::max));
    let most = most.max(ceiling.unwrap_or(0.0));
    if values.is_empty() || most <= 0.0 {
        return None;
    }
    let unit = Unit::for_metric(metric, &values);
    let at = |value: f64| NAME + (WIDTH - NAME - RIGHT) * value.min(most) / most;
    let bottom = TOP + ROW * rows.len() as f64;
    let mut body = String::new();
    for (index, bar) in rows.iter().enumerate() {
        body += &bar_svg(bar, TOP + ROW * (index as f64 + 0.5), unit, most, at);
    }
    let mut height = bottom + 14.0;
    if let Some(ceiling) = ceiling {
        body += &format!(
            "<path class=\"w\" stroke-width=\"1.5\" stroke-dasharray=\"5 4\" d=\"M{0:.1} {TOP}V{bottom:.1}\"/><text class=\"q\" x=\"{0:.1}\" y=\"{1:.1}\" text-anchor=\"end\">ceiling by Little’s law: {2}</text>\n",
            at(ceiling),
            bottom + 18.0,
            unit.show(ceiling)
        );
        height += 16.0;
    }
    let title = format!("{}, {}", capital(metric.title()), unit.symbol);
    Some(frame(&title, &subtitle(report, group), height, &body))
}

fn bar_of<'a>(report: &Report, row: &'a Row, metric: Metric) -> Option<Bar<'a>> {
    let quantity = row.summary.metrics.get(metric)?;
    Some(Bar {
        name: report.name(&row.summary.id),
        quantity,
        position: match quantity.no_bound() {
            Some(_) => 0.0,
            None => quantity.position()?,
        },
        bound: row.summary.is_lower_bound(metric),
    })
}

/// Name, bar, whiskers up to `most`, and number.
fn bar_svg(bar: &Bar<'_>, middle: f64, unit: Unit, most: f64, at: impl Fn(f64) -> f64) -> String {
    let mut out = format!(
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text><rect x=\"{NAME}\" y=\"{:.1}\" width=\"{:.1}\" height=\"16\" rx=\"2\" fill=\"{}\"/>",
        NAME - 10.0,
        middle + 4.5,
        escaped(&shortened(&bar.name)),
        middle - 8.0,
        at(bar.position) - NAME,
        light("bar")
    );
    let (end, said) = match (bar.quantity.estimate(), bar.quantity.no_bound()) {
        (_, Some(none)) => (NAME, no_bound(*none)),
        (Some(estimate), None) => {
            let (low, high) = (at(estimate.low), at(estimate.high));
            let top = middle - 4.0;
            // A truncated whisker has no mark at its end.
            let mark = if estimate.high <= most {
                format!("M{high:.1} {top:.1}v8")
            } else {
                String::new()
            };
            out += &format!(
                "<path class=\"w\" fill=\"none\" stroke-width=\"1.5\" d=\"M{low:.1} {middle:.1}H{high:.1}M{low:.1} {top:.1}v8{mark}\"/>",
            );
            (high, estimated(estimate, unit))
        }
        (None, None) => (at(bar.position), format!("{} (1 trial)", unit.show(bar.position))),
    };
    let sign = if bar.bound { "≥ " } else { "" };
    out += &format!(
        "<text class=\"q\" x=\"{:.1}\" y=\"{:.1}\">{sign}{said}</text>\n",
        end + 9.0,
        middle + 4.5,
    );
    out
}

type Curve<'a> = (String, &'a Vec<(f64, u64)>);

/// Positions of a share of the requests (nines on the x axis) and a duration (powers of ten on the y axis).
struct PercentilePlot {
    low: f64,
    high: f64,
}

impl PercentilePlot {
    const LEFT: f64 = 70.0;
    const RIGHT: f64 = WIDTH - 24.0;
    const TOP: f64 = TOP + 12.0;
    const BOTTOM: f64 = 400.0;

    fn of(curves: &[Curve<'_>]) -> Self {
        let times = || {
            curves
                .iter()
                .flat_map(|(_, curve)| curve.iter().filter(|point| point.0 > 0.0))
                .map(|point| point.1.max(1) as f64)
        };
        let low = times().fold(f64::INFINITY, f64::min).log10().floor();
        let high = times().fold(0.0, f64::max).log10().ceil().max(low + 1.0);
        Self { low, high }
    }

    fn x(nines: f64) -> f64 {
        Self::LEFT + (Self::RIGHT - Self::LEFT) * nines / 4.0
    }

    fn y(&self, ns: f64) -> f64 {
        Self::BOTTOM - (Self::BOTTOM - Self::TOP) * (ns.log10() - self.low) / (self.high - self.low)
    }

    fn grid(&self) -> String {
        let (left, right, top, bottom) = (Self::LEFT, Self::RIGHT, Self::TOP, Self::BOTTOM);
        let mut out = String::new();
        for (nines, name) in ["0", "p90", "p99", "p99.9", "p99.99"].iter().enumerate() {
            let (at, below) = (Self::x(nines as f64), bottom + 18.0);
            out += &format!("<path class=\"l\" d=\"M{at:.1} {top}V{bottom}\"/>");
            out += &format!(
                "<text class=\"q\" x=\"{at:.1}\" y=\"{below:.1}\" text-anchor=\"middle\">{name}</text>"
            );
        }
        for decade in self.low as i32..=self.high as i32 {
            let ns = 10f64.powi(decade);
            let unit = Unit::for_ns(ns);
            let (at, label) = (self.y(ns), format!("{:.0} {}", ns / unit.factor, unit.symbol));
            let (end, baseline) = (left - 8.0, at + 4.0);
            out += &format!("<path class=\"l\" d=\"M{left} {at:.1}H{right}\"/>");
            out += &format!(
                "<text class=\"q\" x=\"{end:.1}\" y=\"{baseline:.1}\" text-anchor=\"end\">{label}</text>"
            );
        }
        out
    }
}

fn percentiles(report: &Report, group: &GroupReport) -> Option<String> {
    let curves: Vec<Curve<'_>> = group
        .services
        .iter()
        .filter_map(|row| {
            Some((
                report.name(&row.summary.id),
                &row.details.as_ref()?.response_time_curve,
            ))
        })
        .filter(|(_, curve)| curve.len() > 1)
        .take(LINES)
        .collect();
    if curves.is_empty() {
        return None;
    }
    let plane = PercentilePlot::of(&curves);
    let mut body = plane.grid();
    for (index, (name, curve)) in curves.iter().enumerate() {
        let dot = |&(share, ns): &(f64, u64)| {
            let nines = -(1.0 - share).log10();
            format!("{:.1},{:.1}", PercentilePlot::x(nines), plane.y(ns.max(1) as f64))
        };
        // The shortest response time is not a useful percentile.
        let points: Vec<String> = curve.iter().filter(|point| point.0 > 0.0).map(dot).collect();
        let style = format!(
            "fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"{}\"",
            line_colour(index),
            DASHES[index]
        );
        let key_x = PercentilePlot::LEFT + (index % KEYS_IN_A_ROW) as f64 * 190.0;
        let key_y = PercentilePlot::BOTTOM + 46.0 + (index / KEYS_IN_A_ROW) as f64 * 22.0;
        body += &format!(
            "<polyline {style} points=\"{}\"/><path {style} d=\"M{key_x} {key_y:.1}h26\"/><text x=\"{}\" y=\"{:.1}\">{}</text>\n",
            points.join(" "),
            key_x + 34.0,
            key_y + 4.5,
            escaped(&shortened(name))
        );
    }
    let height = PercentilePlot::BOTTOM + 60.0 + curves.len().div_ceil(KEYS_IN_A_ROW) as f64 * 22.0;
    Some(frame(
        "Response time by percentile",
        &subtitle(report, group),
        height,
        &body,
    ))
}

fn subtitle(report: &Report, group: &GroupReport) -> String {
    format!(
        "{} · {} confidence · run {}",
        group_title(group),
        percent(group.confidence),
        report.run
    )
}

fn shortened(name: &str) -> String {
    const MOST: usize = 30;
    let kept = named(name, MOST);
    if kept.chars().count() <= MOST {
        return kept;
    }
    name.chars().take(MOST - 1).chain(['…']).collect()
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
