//! Renders the results of a check: the verdict, the operations and cases of a service or a row for each service, then each failure.
//! Pure functions from results to text.

use crate::exit::Exit;
use crate::text::{self, Column, plural};
use prony_check::{CaseReport, CheckReport, CheckedOperation, Failure, protocol_word};
use prony_config::contract::is_common_case;
use prony_runner::check_services::{Outcome, Row};
use std::collections::BTreeSet;

/// The case that sends valid requests of every operation.
const KEEP_ALIVE: &str = "keep-alive";

pub(super) fn text(rows: &[Row], columns: usize) -> String {
    let mut parts = vec![text::headline(&headline(rows), columns)];
    parts.extend(match rows {
        [row] => report_of(row).map(|report| operations(report, columns)),
        several => Some(services(several, columns)),
    });
    let is_alone = rows.len() == 1;
    for row in rows {
        parts.extend(faults(row, is_alone, columns));
    }
    for row in rows {
        parts.extend(warnings(row, is_alone, columns));
    }
    parts.push(summary(rows, columns));
    parts.join("\n\n")
}

/// The verdict of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckVerdict {
    /// A service does not do what its contract says.
    Failed,
    /// Every service that can run here passed.
    Ok,
    /// No check took place, which must not look like a passed one.
    NotChecked,
}

impl CheckVerdict {
    pub(super) fn of(rows: &[Row]) -> Self {
        if rows.iter().any(Row::failed) {
            Self::Failed
        } else if rows.iter().any(Row::passed) {
            Self::Ok
        } else {
            Self::NotChecked
        }
    }

    /// The first word of the text.
    const fn shown(self) -> &'static str {
        match self {
            Self::Failed => "FAILED",
            Self::Ok => "OK",
            Self::NotChecked => "NOT CHECKED",
        }
    }

    /// The word in JSON.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Ok => "ok",
            Self::NotChecked => "not_checked",
        }
    }

    /// How the command ends.
    pub(super) const fn exit(self) -> Exit {
        match self {
            Self::Failed => Exit::ObjectiveFailed,
            Self::Ok => Exit::Fine,
            Self::NotChecked => Exit::Failed,
        }
    }
}

/// The verdict, with the number of cases for one service, and the number of services for several.
pub(super) fn headline(rows: &[Row]) -> String {
    let word = CheckVerdict::of(rows).shown();
    let [row] = rows else {
        let failed = rows.iter().filter(|row| row.failed()).count();
        let checked = rows.iter().filter(|row| row.failed() || row.passed()).count();
        if checked == 0 {
            return format!("{word}: none of {} services can run here", rows.len());
        }
        let number = if failed > 0 { failed } else { checked };
        return format!("{word}: {number} of {checked} services");
    };
    let what = match &row.outcome {
        Outcome::Checked(report) if report.cases.is_empty() => "every case was skipped".to_owned(),
        Outcome::Checked(report) => {
            let failed = report.cases.iter().filter(|case| !case.passed()).count();
            let all = report.cases.len();
            format!("{} of {all} cases", if failed > 0 { failed } else { all })
        }
        Outcome::Failed(excluded) => first_line(&excluded.reason),
        Outcome::Unavailable(reason) => first_line(reason),
    };
    let protocol = row.channel.title();
    format!(
        "{word}: {what}; {}, contract {}, {protocol}",
        who(row),
        row.contract
    )
}

fn who(row: &Row) -> String {
    match row.id.variant.as_str() {
        "running" => row.id.service.clone(),
        _ => row.id.to_string(),
    }
}

fn report_of(row: &Row) -> Option<&CheckReport> {
    match &row.outcome {
        Outcome::Checked(report) => Some(report),
        _ => None,
    }
}

/// One line for each operation and each further case of the contract, then the common cases.
fn operations(report: &CheckReport, columns: usize) -> String {
    let (common, own): (Vec<&CaseReport>, Vec<&CaseReport>) =
        report.cases.iter().partition(|case| is_common_case(&case.name));
    let mut lines: Vec<[String; 4]> = Vec::new();
    for operation in &report.operations {
        let (mark, text) = of_operation(report, operation, &own);
        lines.push([
            operation.name.clone(),
            operation.request.clone(),
            mark.to_owned(),
            text,
        ]);
    }
    for case in own.into_iter().filter(|case| case.operations.len() != 1) {
        let mark = if case.passed() { "✓" } else { "✗" };
        let requests = plural(case.exchanges as u64, "request");
        lines.push([case.name.clone(), String::new(), mark.to_owned(), requests]);
    }
    for (name, has) in &report.traits {
        let mark = if *has { "✓" } else { "–" };
        lines.push([
            format!("trait: {name}"),
            String::new(),
            mark.to_owned(),
            yes_or_no(*has),
        ]);
    }
    for (mark, passed) in [("✓", true), ("✗", false)] {
        let names: Vec<&str> = common
            .iter()
            .filter(|case| case.passed() == passed)
            .map(|case| case.name.as_str())
            .collect();
        if !names.is_empty() {
            let is_first = lines.last().is_none_or(|line| line[0] != COMMON);
            let title = if is_first { COMMON } else { "" };
            lines.push([title.to_owned(), String::new(), mark.to_owned(), names.join(", ")]);
        }
    }
    aligned(&lines, columns)
}

fn yes_or_no(has: bool) -> String {
    if has { "yes" } else { "no" }.to_owned()
}

const COMMON: &str = "common cases";

/// The lines with their texts below each other. Names and requests stay whole.
fn aligned(lines: &[[String; 4]], columns: usize) -> String {
    let widest = |place: usize| lines.iter().map(|line| text::width(&line[place])).max();
    let (name, request) = (widest(0).unwrap_or(0), widest(1).unwrap_or(0));
    // In a narrow terminal the requests are left out first: the names are enough to find the operation.
    let shows_requests = request > 0 && 2 + name + 2 + request + 5 + READABLE <= columns;
    let lines = lines.iter().map(|[title, sent, mark, what]| {
        let padded = |text: &str, width: usize| format!("  {text}{}", " ".repeat(width - text::width(text)));
        let sent = if shows_requests {
            padded(sent, request)
        } else {
            String::new()
        };
        let line = format!("{}{sent}  {mark}  ", padded(title, name));
        let used = text::width(&line);
        line + &text::wrapped(what, columns, used, used)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Columns that the texts of cases need to be readable.
const READABLE: usize = 24;

/// Whether an operation fulfils its contract, and by how many requests that was found. `own`: the cases of the contract itself.
fn of_operation(
    report: &CheckReport,
    operation: &CheckedOperation,
    own: &[&CaseReport],
) -> (&'static str, String) {
    if report.skipped.contains(&operation.name) {
        return ("–", "skipped, may write".to_owned());
    }
    let calls_only_it = |case: &&&CaseReport| case.operations == std::slice::from_ref(&operation.name);
    let own: Vec<&&CaseReport> = own.iter().filter(calls_only_it).collect();
    let failed: Vec<&str> = own
        .iter()
        .filter(|case| !case.passed())
        .map(|case| case.name.as_str())
        .collect();
    if !failed.is_empty() {
        return ("✗", failed.join(", "));
    }
    let examples: usize = own.iter().map(|case| case.exchanges).sum();
    if examples > 0 {
        return ("✓", plural(examples as u64, "example"));
    }
    let keep_alive = report.cases.iter().find(|case| case.name == KEEP_ALIVE);
    match keep_alive {
        Some(case) if case.passed() => ("✓", KEEP_ALIVE.to_owned()),
        Some(_) => ("✗", KEEP_ALIVE.to_owned()),
        None => ("–", "no case".to_owned()),
    }
}

/// One row for each service: the number of its cases or the names of those that failed, and whether it has each trait.
fn services(rows: &[Row], columns: usize) -> String {
    let mut headings = vec![
        Column::text("service", 0),
        Column::text("contract", 0),
        Column::text("protocol", 1),
    ];
    let traits = rows
        .iter()
        .filter_map(report_of)
        .flat_map(|report| report.traits.keys());
    let traits: BTreeSet<&str> = traits.map(String::as_str).collect();
    headings.extend(traits.iter().map(|name| Column::text(name, 2)));
    headings.push(Column::text("cases", 0));
    let cells = rows.iter().map(|row| {
        let what = match &row.outcome {
            Outcome::Checked(report) => of_report(report),
            Outcome::Failed(excluded) => format!("✗ {}", first_line(&excluded.reason)),
            Outcome::Unavailable(reason) => format!("– not available: {}", first_line(reason)),
        };
        let mut cells = vec![
            row.id.to_string(),
            row.contract.clone(),
            protocol_word(row.channel).to_owned(),
        ];
        cells.extend(traits.iter().map(|&name| {
            let has = report_of(row).and_then(|report| report.traits.get(name));
            has.map_or_else(|| "–".to_owned(), |has| yes_or_no(*has))
        }));
        cells.push(what);
        cells
    });
    text::table(&headings, &cells.collect::<Vec<_>>(), 2, columns)
}

fn of_report(report: &CheckReport) -> String {
    let all = report.cases.len();
    let failed: Vec<&str> = report
        .cases
        .iter()
        .filter(|case| !case.passed())
        .map(|case| case.name.as_str())
        .collect();
    if all == 0 {
        "– every case was skipped".to_owned()
    } else if failed.is_empty() {
        format!("✓ {all} of {all}")
    } else {
        format!("✗ {}", failed.join(", "))
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// The failures of a service, which is named unless it is the only one.
fn faults(row: &Row, is_alone: bool, columns: usize) -> Vec<String> {
    let name = if is_alone {
        String::new()
    } else {
        format!("{}: ", row.id)
    };
    match &row.outcome {
        Outcome::Checked(report) => {
            let failed = report.cases.iter().filter(|case| !case.passed());
            failed.flat_map(|case| of_case(&name, case, columns)).collect()
        }
        Outcome::Failed(excluded) => {
            let mut text = text::marked('✗', &format!("{name}{}", excluded.reason), None, columns);
            for line in &excluded.log_tail {
                text = format!("{text}\n      {line}");
            }
            vec![text]
        }
        Outcome::Unavailable(_) => Vec::new(),
    }
}

fn of_case(name: &str, case: &CaseReport, columns: usize) -> Vec<String> {
    let mut failures: Vec<String> = case
        .failures
        .iter()
        .map(|failure| of_failure(&format!("{name}{}", case.name), failure, columns))
        .collect();
    let more = case.failed - case.failures.len().min(case.failed);
    if more > 0
        && let Some(last) = failures.last_mut()
    {
        *last = format!("{last}\n      … and {more} more of {} requests", case.exchanges);
    }
    failures
}

/// The request, the expected and the received value. `status` comes before both values; a longer description of the difference
/// follows the request.
fn of_failure(case: &str, failure: &Failure, columns: usize) -> String {
    const VALUES: usize = 16;
    let Failure {
        request,
        what,
        expected,
        got,
    } = failure;
    let (title, word) = if what.contains([':', ' ']) {
        (format!("{case}: {request}: {what}"), String::new())
    } else {
        (format!("{case}: {request}"), format!("{what} "))
    };
    let value = |label: &str, value: &str| {
        let value = text::wrapped(&format!("{word}{value}"), columns, VALUES, VALUES);
        format!("\n      {label:<10}{value}")
    };
    let mut text = text::marked('✗', &title, None, columns);
    text += &value("expected", expected);
    text + &value("got", got)
}

fn warnings(row: &Row, is_alone: bool, columns: usize) -> Option<String> {
    let warnings = &report_of(row)?.warnings;
    let lines = warnings.iter().map(|warning| {
        let text = if is_alone {
            warning.text.clone()
        } else {
            format!("{}: {}", row.id, warning.text)
        };
        text::marked('⚠', &text, warning.advice.as_deref(), columns)
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// How many cases passed, failed and were skipped; for several services, how many services.
fn summary(rows: &[Row], columns: usize) -> String {
    let skipped: usize = rows
        .iter()
        .filter_map(report_of)
        .map(|report| report.skipped.len())
        .sum();
    let mut text = if let [
        Row {
            outcome: Outcome::Checked(report),
            ..
        },
    ] = rows
    {
        let failed = report.cases.iter().filter(|case| !case.passed()).count();
        let passed = report.cases.len() - failed;
        format!("{} passed, {failed} failed", plural(passed as u64, "case"))
    } else {
        let count = |is: fn(&Row) -> bool| rows.iter().filter(|row| is(row)).count();
        let (passed, failed) = (count(Row::passed), count(Row::failed));
        let unavailable = rows.len() - passed - failed;
        let passed = plural(passed as u64, "service");
        match unavailable {
            0 => format!("{passed} passed, {failed} failed"),
            _ => format!("{passed} passed, {failed} failed, {unavailable} not available on this machine"),
        }
    };
    if skipped > 0 {
        let advice = "--allow-writes also sends requests that may change data, such as POST and DELETE. Use it where data may \
                      change.";
        text = format!(
            "{text}, {skipped} skipped\n→ {}",
            text::wrapped(advice, columns, 2, 2)
        );
    }
    text
}

#[cfg(test)]
mod tests;
