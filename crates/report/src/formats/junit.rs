//! `JUnit` XML of contract checks: a suite per service and contract, a test case per case of the contract.

use super::escaped;
use prony_records::{CheckMatrix, ServiceCheck};
use std::collections::BTreeSet;

/// A check matrix as `JUnit` XML.
pub fn junit(matrix: &CheckMatrix) -> String {
    let mut out =
        String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"prony check\">\n");
    for check in &matrix.services {
        out += &suite(check);
    }
    out + "</testsuites>\n"
}

fn suite(check: &ServiceCheck) -> String {
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
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\">\n",
        escaped(&name),
        cases.len()
    );
    for case in cases {
        out += &format!(
            "    <testcase classname=\"{}\" name=\"{}\">",
            escaped(&name),
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
        out += "</testcase>\n";
    }
    if !check.warnings.is_empty() {
        out += &format!(
            "    <system-out>{}</system-out>\n",
            escaped(&check.warnings.join("\n"))
        );
    }
    out + "  </testsuite>\n"
}
