//! A radar chart of the workloads of one contract under one load: each service relative to the best one.

use super::{DASHES, KEYS_IN_A_ROW, LINES, TOP, WIDTH, escaped, frame, line_colour, rate_of, shortened};
use crate::{GroupReport, Report, Row};
use std::f64::consts::TAU;

/// Fewer workloads are shown as bars.
const LEAST: usize = 3;
/// Rings, each a quarter of the best.
const RINGS: u32 = 4;
const RADIUS: f64 = 150.0;
const CENTRE: (f64, f64) = (WIDTH / 2.0, TOP + RADIUS + 34.0);
const BOTTOM: f64 = CENTRE.1 + RADIUS + 50.0;

/// The radar chart for the contract and load of the group `first`, if it is the first group with them.
pub(super) fn radar(report: &Report, first: usize) -> Option<String> {
    let of = &report.groups[first];
    let alike = |group: &&GroupReport| group.contract == of.contract && group.load == of.load;
    if report.groups[..first].iter().any(|group| alike(&group)) {
        return None;
    }
    let axes: Vec<&GroupReport> = report.groups.iter().filter(alike).collect();
    let shown: Vec<&Row> = of
        .services
        .iter()
        .filter(|row| row.summary.excluded.is_none())
        .take(LINES)
        .collect();
    if axes.len() < LEAST || shown.is_empty() {
        return None;
    }
    let rates: Vec<Vec<Option<f64>>> = shown
        .iter()
        .map(|row| axes.iter().map(|group| rate(group, row)).collect())
        .collect();
    let best: Vec<f64> = (0..axes.len())
        .map(|axis| rates.iter().filter_map(|rates| rates[axis]).fold(0.0, f64::max))
        .collect();
    let names: Vec<&str> = axes.iter().map(|group| group.workload.as_str()).collect();
    let mut body = grid(&names);
    for (index, (row, rates)) in shown.iter().zip(&rates).enumerate() {
        let shares = rates.iter().zip(&best).map(|(rate, best)| match rate {
            Some(rate) if *best > 0.0 => rate / best,
            _ => 0.0,
        });
        body += &line(
            index,
            &report.name(&row.summary.id),
            &corners(&shares.collect::<Vec<_>>()),
        );
    }
    let keys = shown.len().div_ceil(KEYS_IN_A_ROW) as f64;
    let subtitle = format!(
        "{} · {} · the outer ring is the best service shown · run {}",
        of.contract, of.load_text, report.run
    );
    Some(frame(
        "Throughput by workload, % of the best",
        &subtitle,
        BOTTOM + 6.0 + keys * 22.0,
        &body,
    ))
}

fn rate(group: &GroupReport, row: &Row) -> Option<f64> {
    let same = group
        .services
        .iter()
        .find(|other| other.summary.id == row.summary.id)?;
    same.summary.metrics.get(rate_of(group))?.position()
}

/// Position of a share of the best on an axis; the first axis points upwards.
fn corner(axis: usize, of: usize, share: f64) -> (f64, f64) {
    let angle = TAU * axis as f64 / of as f64;
    (
        CENTRE.0 + RADIUS * share * angle.sin(),
        CENTRE.1 - RADIUS * share * angle.cos(),
    )
}

fn corners(shares: &[f64]) -> String {
    let at = |(axis, share): (usize, &f64)| {
        let (x, y) = corner(axis, shares.len(), *share);
        format!("{x:.1},{y:.1}")
    };
    shares.iter().enumerate().map(at).collect::<Vec<_>>().join(" ")
}

fn grid(names: &[&str]) -> String {
    let mut out = String::new();
    for ring in 1..=RINGS {
        let share = f64::from(ring) / f64::from(RINGS);
        let ring = corners(&vec![share; names.len()]);
        out += &format!("<polygon class=\"l\" fill=\"none\" points=\"{ring}\"/>");
    }
    for (axis, name) in names.iter().enumerate() {
        let (x, y) = corner(axis, names.len(), 1.0);
        let (at, below) = corner(axis, names.len(), 1.09);
        let anchor = match at - CENTRE.0 {
            off if off.abs() < 1.0 => "middle",
            off if off > 0.0 => "start",
            _ => "end",
        };
        out += &format!(
            "<path class=\"l\" d=\"M{:.1} {:.1}L{x:.1} {y:.1}\"/><text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>\n",
            CENTRE.0,
            CENTRE.1,
            below + 4.5,
            escaped(&shortened(name))
        );
    }
    out
}

/// The polygon of a service, and its entry in the legend.
fn line(index: usize, name: &str, points: &str) -> String {
    let style = format!(
        "stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"{}\"",
        line_colour(index),
        DASHES[index]
    );
    let x = 70.0 + (index % KEYS_IN_A_ROW) as f64 * 190.0;
    let y = BOTTOM - 8.0 + (index / KEYS_IN_A_ROW) as f64 * 22.0;
    format!(
        "<polygon {style} fill=\"{}\" fill-opacity=\"0.05\" points=\"{points}\"/><path {style} d=\"M{x} {y:.1}h26\"/><text x=\"{}\" y=\"{:.1}\">{}</text>\n",
        line_colour(index),
        x + 34.0,
        y + 4.5,
        escaped(&shortened(name))
    )
}
