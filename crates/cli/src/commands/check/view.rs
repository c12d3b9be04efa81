//! Renders the results of a check: a matrix of services and cases, then each failure as a diff, then warnings.

use crate::colour::{GREEN, Paint, RED, YELLOW};
use prony_check::{CaseReport, CheckReport, Failure, protocol_word};
use prony_runner::check_services::{Outcome, Row};
use std::collections::BTreeMap;
use std::fmt::Write as _;

pub(super) fn text(rows: &[Row], colour: bool) -> String {
    let paint = Paint(colour);
    let mut groups: BTreeMap<(&str, &str), Vec<&Row>> = BTreeMap::new();
    for row in rows {
        groups
            .entry((&row.contract, protocol_word(row.protocol)))
            .or_default()
            .push(row);
    }
    let line = headline(rows);
    let colour = if is_failed(rows) { RED } else { GREEN };
    let (word, rest) = line.split_once(':').unwrap_or((&line, ""));
    let mut out = format!("{}:{rest}\n\n", paint.with(colour, word));
    for ((contract, protocol), rows) in &groups {
        let _ = writeln!(out, "{contract} over {protocol}");
        matrix(&mut out, paint, rows);
        for row in rows {
            faults(&mut out, paint, row);
        }
        out.push('\n');
    }
    let count = |is: fn(&Row) -> bool| rows.iter().filter(|row| is(row)).count();
    let (passed, failed) = (count(Row::passed), count(Row::failed));
    let unavailable = rows.len() - passed - failed;
    let _ = write!(out, "{passed} passed, {failed} failed");
    if unavailable > 0 {
        let _ = write!(out, ", {unavailable} not available on this machine");
    }
    out
}

fn is_failed(rows: &[Row]) -> bool {
    rows.iter().any(Row::failed)
}

/// The verdict, with the number of cases for one service, and the number of services for several.
pub(super) fn headline(rows: &[Row]) -> String {
    let word = if is_failed(rows) { "FAILED" } else { "OK" };
    let [row] = rows else {
        let failed = rows.iter().filter(|row| row.failed()).count();
        let checked = rows.iter().filter(|row| row.failed() || row.passed()).count();
        let number = if failed > 0 { failed } else { checked };
        return format!("{word}: {number} of {checked} services");
    };
    let what = match &row.outcome {
        Outcome::Checked(report) => {
            let failed = report.cases.iter().filter(|case| !case.passed()).count();
            let all = report.cases.len();
            format!("{} of {all} cases", if failed > 0 { failed } else { all })
        }
        Outcome::Failed(excluded) => first_line(&excluded.reason),
        Outcome::Unavailable(reason) => format!("not checked: {}", first_line(reason)),
    };
    let who = match row.id.variant.as_str() {
        "running" => row.id.service.clone(),
        _ => row.id.to_string(),
    };
    let protocol = row.protocol.title();
    format!("{word}: {what}; {who}, contract {}, {protocol}", row.contract)
}

fn report_of(row: &Row) -> Option<&CheckReport> {
    match &row.outcome {
        Outcome::Checked(report) => Some(report),
        _ => None,
    }
}

/// One line of marks per service, then the numbered cases.
fn matrix(out: &mut String, paint: Paint, rows: &[&Row]) {
    let mut cases: Vec<&str> = Vec::new();
    for case in rows
        .iter()
        .filter_map(|row| report_of(row))
        .flat_map(|report| &report.cases)
    {
        if !cases.contains(&case.name.as_str()) {
            cases.push(&case.name);
        }
    }
    let width = rows
        .iter()
        .map(|row| row.id.to_string().chars().count())
        .max()
        .unwrap_or_default();
    let numbers: Vec<String> = (1..=cases.len()).map(|number| format!("{number:>2}")).collect();
    let _ = writeln!(out, "  {:width$}  {}", "", numbers.join(" "));
    for row in rows {
        let _ = write!(out, "  {:width$}  ", row.id.to_string());
        let line = match &row.outcome {
            Outcome::Checked(report) => marks(paint, &cases, report),
            Outcome::Failed(excluded) => paint.with(RED, &first_line(&excluded.reason)),
            Outcome::Unavailable(reason) => {
                paint.with(YELLOW, &format!("not available: {}", first_line(reason)))
            }
        };
        let _ = writeln!(out, "{line}");
    }
    for (number, case) in cases.iter().enumerate() {
        let _ = writeln!(out, "  {:width$}  {:>2} {case}", "", number + 1);
    }
}

fn marks(paint: Paint, cases: &[&str], report: &CheckReport) -> String {
    let mark = |case: &&str| match report.cases.iter().find(|known| known.name == **case) {
        Some(known) if known.passed() => paint.with(GREEN, " ✓"),
        Some(_) => paint.with(RED, " ✗"),
        None => " ·".to_owned(),
    };
    let marks: Vec<String> = cases.iter().map(mark).collect();
    format!("{}   {} ms", marks.join(" "), report.took.as_millis())
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

fn faults(out: &mut String, paint: Paint, row: &Row) {
    match &row.outcome {
        Outcome::Checked(report) => {
            for case in report.cases.iter().filter(|case| !case.passed()) {
                fault(out, paint, row, case);
            }
            for warning in &report.warnings {
                let _ = writeln!(out, "  {} {}: {}", paint.with(YELLOW, "!"), row.id, warning.text);
            }
        }
        Outcome::Failed(excluded) => {
            let _ = writeln!(
                out,
                "\n  {} {}: {}",
                paint.with(RED, "✗"),
                row.id,
                excluded.reason
            );
            for line in &excluded.log_tail {
                let _ = writeln!(out, "      {line}");
            }
        }
        Outcome::Unavailable(_) => {}
    }
}

fn fault(out: &mut String, paint: Paint, row: &Row, case: &CaseReport) {
    let (failed, all) = (case.failed, case.exchanges);
    let _ = writeln!(
        out,
        "\n  {} {}: {}: {failed} of {all} requests",
        paint.with(RED, "✗"),
        row.id,
        case.name
    );
    for Failure {
        request,
        what,
        expected,
        got,
    } in &case.failures
    {
        let _ = writeln!(out, "      {request}");
        let _ = writeln!(out, "      {what}");
        let _ = writeln!(out, "      {}", paint.with(GREEN, &format!("- {expected}")));
        let _ = writeln!(out, "      {}", paint.with(RED, &format!("+ {got}")));
    }
    if failed > case.failures.len() {
        let _ = writeln!(out, "      … and {} more", failed - case.failures.len());
    }
}
