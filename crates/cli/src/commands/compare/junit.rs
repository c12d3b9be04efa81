//! `JUnit` XML: a suite per service and load, a test case per gated metric.

use super::FailOn;
use super::noise::layout;
use super::outcome::{CompareOutcome, ServiceMetric};
use prony_report::escaped;
use std::fmt::Write as _;

pub(super) fn xml(outcome: &CompareOutcome, fail_on: FailOn) -> String {
    let mut out =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"prony compare\">\n".to_owned();
    let gated: Vec<ServiceMetric<'_>> = outcome.metrics().filter(|one| one.change.gated).collect();
    for metrics in gated.chunk_by(|one, next| one.title() == next.title()) {
        let cases: Vec<TestCase> = metrics.iter().map(|one| TestCase::of(one, fail_on)).collect();
        let note = layout(metrics[0].comparison);
        out += &suite(&metrics[0].title(), &cases, note.as_deref());
    }
    if let Some(revisions) = outcome.revisions() {
        for failed in &revisions.failed {
            out += &suite(
                &failed.service,
                &[TestCase::named("comparison", "error", &failed.reason)],
                None,
            );
        }
        for left in &revisions.left_out {
            let reason = format!("{} {}", left.service, left.reason);
            out += &suite(
                &left.service,
                &[TestCase::named("comparison", "skipped", &reason)],
                None,
            );
        }
    }
    out + "</testsuites>"
}

/// A metric, and its result if it did not pass.
struct TestCase {
    name: String,
    /// The name of the element, and its message.
    result: Option<(&'static str, String)>,
}

impl TestCase {
    fn named(name: &str, element: &'static str, message: &str) -> Self {
        Self {
            name: name.to_owned(),
            result: Some((element, message.to_owned())),
        }
    }

    /// An inconclusive change has no result: its test was skipped, unless the user wants it to fail.
    fn of(one: &ServiceMetric<'_>, fail_on: FailOn) -> Self {
        let element = match (one.change.regressed, one.change.inconclusive) {
            (true, _) => Some("failure"),
            (false, true) if fail_on == FailOn::Inconclusive => Some("failure"),
            (false, true) => Some("skipped"),
            (false, false) => None,
        };
        Self {
            name: one.change.metric.title().to_owned(),
            result: element.map(|element| (element, one.sentence())),
        }
    }

    fn is(&self, element: &str) -> bool {
        self.result.as_ref().is_some_and(|(name, _)| *name == element)
    }
}

/// `note`: what is said about all of its cases.
fn suite(name: &str, cases: &[TestCase], note: Option<&str>) -> String {
    let count = |element: &str| cases.iter().filter(|case| case.is(element)).count();
    let mut out = format!(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n",
        escaped(name),
        cases.len(),
        count("failure"),
        count("error"),
        count("skipped")
    );
    for case in cases {
        let _ = write!(
            out,
            "    <testcase classname=\"{}\" name=\"{}\">",
            escaped(name),
            escaped(&case.name)
        );
        if let Some((element, message)) = &case.result {
            let _ = write!(out, "<{element} message=\"{}\"/>", escaped(message));
        }
        out += "</testcase>\n";
    }
    if let Some(note) = note {
        let _ = writeln!(out, "    <system-out>{}</system-out>", escaped(note));
    }
    out + "  </testsuite>\n"
}
