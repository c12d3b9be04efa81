//! `JUnit` XML of contract checks: a suite per service and contract, a test case per case of the contract.

use super::escaped;
use crate::Report;
use prony_records::{CheckMatrix, ServiceCheck};
use std::collections::BTreeSet;

/// Where and when checks were made.
#[derive(Debug, Clone, Copy)]
pub struct CheckRun<'a> {
    /// The run that they belong to.
    pub run: Option<&'a str>,
    /// RFC 3339, UTC.
    pub started_at: &'a str,
    /// Name of the host.
    pub host: &'a str,
}

impl<'a> CheckRun<'a> {
    /// That of a report. A run records the name of its host only in a testbed; the format requires one.
    pub fn of(report: &'a Report) -> Self {
        let mut hosts = report.environment.hosts.keys();
        Self {
            run: Some(&report.run),
            started_at: &report.started_at,
            host: hosts.next().map_or("localhost", String::as_str),
        }
    }
}

/// A check matrix as `JUnit` XML.
pub fn junit(matrix: &CheckMatrix, run: CheckRun<'_>) -> String {
    let took = matrix.services.iter().filter_map(|check| check.took_ms);
    let took = took.reduce(|sum, one| sum + one);
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"prony check\"{}>\n",
        time(took)
    );
    for check in &matrix.services {
        out += &suite(check, run);
    }
    out + "</testsuites>\n"
}

/// The attribute with a time, if it is known. Only whole checks are timed, not their cases.
fn time(ms: Option<u64>) -> String {
    ms.map_or_else(String::new, |ms| {
        format!(" time=\"{}.{:03}\"", ms / 1000, ms % 1000)
    })
}

fn suite(check: &ServiceCheck, run: CheckRun<'_>) -> String {
    let mut name = format!("{}/{} {}", check.service, check.variant, check.contract);
    if let Some(protocol) = check.protocol.as_ref().filter(|protocol| *protocol != "http") {
        name += &format!(" ({protocol})");
    }
    let mut cases: Vec<&str> = check.cases.iter().map(String::as_str).collect();
    let known: BTreeSet<&str> = cases.iter().copied().collect();
    cases.extend(
        check
            .failures
            .iter()
            .map(|failure| failure.case.as_str())
            .filter(|case| !known.contains(case)),
    );
    if check.unavailable.is_some() || cases.is_empty() {
        cases = vec!["check"];
    }
    let failed = cases
        .iter()
        .filter(|case| check.failures.iter().any(|failure| failure.case == **case))
        .count();
    let skipped = usize::from(check.unavailable.is_some());
    let mut out = format!(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\"{} \
         timestamp=\"{}\" hostname=\"{}\">\n",
        escaped(&name),
        cases.len(),
        time(check.took_ms),
        // The format has no time zone.
        escaped(run.started_at.trim_end_matches('Z')),
        escaped(run.host)
    );
    if let Some(run) = run.run {
        out += &format!(
            "    <properties><property name=\"prony.run\" value=\"{}\"/></properties>\n",
            escaped(run)
        );
    }
    for case in cases {
        out += &test_case(check, &name, case);
    }
    if !check.warnings.is_empty() {
        out += &format!(
            "    <system-out>{}</system-out>\n",
            escaped(&check.warnings.join("\n"))
        );
    }
    out + "  </testsuite>\n"
}

fn test_case(check: &ServiceCheck, suite: &str, case: &str) -> String {
    let mut out = format!(
        "    <testcase classname=\"{}\" name=\"{}\">",
        escaped(suite),
        escaped(case)
    );
    if let Some(reason) = &check.unavailable {
        out += &format!("<skipped message=\"{}\"/>", escaped(reason));
    }
    for failure in check.failures.iter().filter(|failure| failure.case == case) {
        out += &format!(
            "<failure message=\"expected {}\">got {}</failure>",
            escaped(&failure.expected),
            escaped(&failure.got)
        );
    }
    out + "</testcase>\n"
}
