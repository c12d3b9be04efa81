//! The text form of a calibration.

use crate::text::{self, Column};
use prony_statistics::{Calibration, TruthCheck};
use std::fmt::Write as _;

const HEADINGS: [Column<'static>; 6] = [
    Column::text("check", 0),
    Column::number("truth", 1),
    Column::number("measured", 0),
    Column::number("deviation", 2),
    Column::number("allowed", 2),
    Column::text("verdict", 0),
];

pub(super) fn table(calibration: &Calibration) -> String {
    let mut text = format!(
        "{}\n{}, prony {}, took {:.0} s\n\n",
        // One line for each host of a testbed.
        calibration.machine.replace("; ", "\n"),
        calibration.calibrated_at,
        calibration.prony,
        calibration.took_s
    );
    let mut rows: Vec<Vec<String>> = calibration.checks.iter().map(row).collect();
    rows.push(twice(calibration));
    let _ = writeln!(text, "{}\n", text::table(&HEADINGS, &rows, 0, text::columns()));
    if let Some(ns) = calibration.generator_cpu_ns_per_request {
        let _ = writeln!(
            text,
            "generator: {:.1} µs of CPU per request at a low rate",
            ns / 1e3
        );
    }
    if let Some(share) = calibration.watching_cpu_share {
        let _ = writeln!(text, "monitoring a service: {:.2} % of a CPU", 100.0 * share);
    }
    let noise = &calibration.noise;
    let _ = writeln!(
        text,
        "noise floor: trials vary by {:.2} % within their round",
        100.0 * noise.trial_deviation
    );
    let smallest: Vec<String> = noise
        .smallest_differences
        .iter()
        .map(|smallest| {
            format!(
                "{:.1} % in {} rounds",
                100.0 * smallest.difference,
                smallest.rounds
            )
        })
        .collect();
    let _ = writeln!(
        text,
        "smallest difference between two services that is detected here with 80 % probability: {}",
        smallest.join(", ")
    );
    if calibration.short {
        text.push_str(
            "The stages were shortened: run it again without --short before you rely on the result. ",
        );
    }
    let (place, whose) = if calibration.hosts.is_empty() {
        ("on this machine", "this machine")
    } else {
        ("on this testbed", "this testbed")
    };
    let verdict = if calibration.passed {
        format!("All checks passed: measurements {place} are accurate.")
    } else {
        format!("A check failed: do not trust results from {whose} until the cause is found.")
    };
    text.push_str(&verdict);
    text
}

fn row(check: &TruthCheck) -> Vec<String> {
    vec![
        check.what.clone(),
        format!("{:.1} {}", check.expected, check.unit),
        format!("{:.1} {}", check.measured, check.unit),
        format!("{:+.2} %", 100.0 * (check.measured / check.expected - 1.0)),
        format!("±{:.1} %", 100.0 * check.allowed),
        verdict(check.passed),
    ]
}

fn twice(calibration: &Calibration) -> Vec<String> {
    let same = &calibration.same_twice;
    let (measured, deviation) = same.pair.as_ref().map_or_else(
        || ("too few trials".to_owned(), String::new()),
        |pair| {
            let ratio = &pair.ratio;
            (
                format!("{:.3} ({:.3} to {:.3})", ratio.point, ratio.low, ratio.high),
                format!("{:+.2} %", 100.0 * (ratio.point - 1.0)),
            )
        },
    );
    vec![
        format!("one service against itself, {} rounds", same.rounds),
        "a tie".to_owned(),
        measured,
        deviation,
        "interval contains 1".to_owned(),
        verdict(same.ties),
    ]
}

fn verdict(passed: bool) -> String {
    if passed { "passed" } else { "FAILED" }.to_owned()
}
