//! Parses the test results from the output of a step.

/// Numbers of tests, and the names to show.
#[derive(Default, Debug, PartialEq, Eq)]
pub(crate) struct TestCounts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    /// Tests that failed, were repeated, and passed.
    pub(crate) flaky: Vec<String>,
    /// Why tests were skipped, one line for each.
    pub(crate) reasons: Vec<String>,
}

impl TestCounts {
    /// Parses the output of a step. `skipped` contains a line `NAME: REASON` for each test that ended without testing anything; its
    /// runner counted it as passed. A command without test results counts as one test.
    pub(crate) fn read(output: &str, skipped: &str, is_success: bool) -> Self {
        let mut counts = Self::default();
        for line in output.lines().map(str::trim_end) {
            counts.take_summary(line);
            if let Some(test) = flaky(line.trim_start()) {
                counts.flaky.push(test);
            }
        }
        counts.reasons = skipped
            .lines()
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect();
        let left = (counts.reasons.len() as u64).min(counts.passed);
        counts.passed -= left;
        counts.skipped += left;
        if counts.passed + counts.failed + counts.skipped == 0 {
            if is_success {
                counts.passed = 1;
            } else {
                counts.failed = 1;
            }
        } else if !is_success && counts.failed == 0 {
            counts.failed = 1;
        }
        counts
    }

    pub(crate) fn skipped_step() -> Self {
        Self {
            skipped: 1,
            ..Self::default()
        }
    }

    pub(crate) fn failed_step() -> Self {
        Self {
            failed: 1,
            ..Self::default()
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.flaky.extend_from_slice(&other.flaky);
        self.reasons.extend_from_slice(&other.reasons);
    }

    /// Prefixes each flaky test with its step.
    pub(crate) fn name_flaky(&mut self, step: &str) {
        for test in &mut self.flaky {
            *test = format!("{step}: {test}");
        }
    }

    /// The line that CI reads.
    pub(crate) fn summary(&self) -> String {
        match self.skipped {
            0 => format!("{} passed, {} failed", self.passed, self.failed),
            skipped => format!(
                "{} passed, {} failed, {skipped} skipped",
                self.passed, self.failed
            ),
        }
    }

    /// Adds the numbers of a summary line: of nextest, of `cargo test`, of Node.js, or of our own programs
    /// (`NAME: 3 passed, 0 failed, 1 skipped`). Except in nextest's own, an indented line is output of a failed attempt, which the
    /// next attempt may have made good.
    fn take_summary(&mut self, line: &str) {
        if line.trim_start().starts_with("Summary [") {
            // Tests that nextest skips were not selected: `make test-all` runs them.
            self.passed += number_before(line, "passed");
            self.failed += number_before(line, "failed") + number_before(line, "timed out");
        } else if line.starts_with("test result: ") || is_own_summary(line) {
            self.passed += number_before(line, "passed");
            self.failed += number_before(line, "failed");
            self.skipped += number_before(line, "skipped");
        } else if let Some(count) = line.strip_prefix("ℹ pass ") {
            self.passed += count.parse().unwrap_or(0);
        } else if let Some(count) = line.strip_prefix("ℹ fail ") {
            self.failed += count.parse().unwrap_or(0);
        }
    }
}

/// `NAME: N passed, N failed…`, with nothing before the name.
fn is_own_summary(line: &str) -> bool {
    let Some((name, rest)) = line.split_once(": ") else {
        return false;
    };
    let is_name = name
        .chars()
        .all(|letter| letter.is_ascii_lowercase() || letter == ' ' || letter == '-');
    let words: Vec<&str> = rest.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    is_name
        && matches!(words[..], [passed, "passed", failed, "failed", ..] if is_number(passed) && is_number(failed))
}

fn is_number(word: &str) -> bool {
    word.parse::<u64>().is_ok()
}

fn number_before(line: &str, word: &str) -> u64 {
    let Some(end) = line.find(&format!(" {word}")) else {
        return 0;
    };
    let start = line[..end].rfind(' ').map_or(0, |space| space + 1);
    line[start..end].parse().unwrap_or(0)
}

/// The name of a test that passed only when repeated: `FLAKY 2/2 [ 0.1s] (3/9) BINARY TEST` or `flaky: NAME…`.
fn flaky(line: &str) -> Option<String> {
    if let Some(name) = line.strip_prefix("flaky: ") {
        return Some(name.to_owned());
    }
    let rest = line.strip_prefix("FLAKY ")?;
    let (_, name) = rest.split_once(']')?;
    let name = name.trim();
    let name = match name.strip_prefix('(').and_then(|inner| inner.split_once(") ")) {
        Some((_, name)) => name,
        None => name,
    };
    Some(name.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::TestCounts;

    #[test]
    fn summaries_of_every_runner_are_added() {
        let output = "     Summary [ 412.0s] 1200 tests run: 1198 passed (2 flaky), 1 failed, 1 timed out, 80 skipped\n\
                      test result: ok. 10 passed; 1 failed; 2 ignored\n\
                      services: 14 passed, 0 failed, 2 skipped\nℹ pass 7\nℹ fail 0\n";
        let counts = TestCounts::read(output, "", false);
        assert_eq!((counts.passed, counts.failed, counts.skipped), (1229, 3, 2));
        assert_eq!(counts.summary(), "1229 passed, 3 failed, 2 skipped");
    }

    #[test]
    fn a_test_that_could_not_run_is_not_passed() {
        let counts = TestCounts::read(
            "Summary [1s] 3 tests run: 3 passed, 0 skipped",
            "testbed::one: no root\n",
            true,
        );
        assert_eq!((counts.passed, counts.failed, counts.skipped), (2, 0, 1));
        assert_eq!(counts.reasons, ["testbed::one: no root"]);
    }

    #[test]
    fn a_command_without_tests_counts_as_one() {
        assert_eq!(
            TestCounts::read("Finished", "", true).summary(),
            "1 passed, 0 failed"
        );
        assert_eq!(
            TestCounts::read("error", "", false).summary(),
            "0 passed, 1 failed"
        );
    }

    #[test]
    fn a_failure_beside_passed_tests_is_counted() {
        assert_eq!(
            TestCounts::read("web: 3 passed, 0 failed", "", false).summary(),
            "3 passed, 1 failed"
        );
    }

    #[test]
    fn a_flaky_test_is_named_with_its_step() {
        let output = "   FLAKY 2/2 [   1.234s] ( 3/90) prony::black-box run::a_run\nflaky: go-chi/current: 3 timeouts\n";
        let mut counts = TestCounts::read(output, "", true);
        counts.name_flaky("tests");
        assert_eq!(
            counts.flaky,
            [
                "tests: prony::black-box run::a_run",
                "tests: go-chi/current: 3 timeouts"
            ]
        );
    }

    #[test]
    fn the_output_of_a_failed_attempt_is_no_summary() {
        let output = "  TRY 1 FAIL [ 0.3s] prony load::one\n    test result: FAILED. 0 passed; 1 failed; 0 ignored\n  TRY 2 PASS [ 0.2s] prony load::one\n     \
                      Summary [ 9.0s] 2 tests run: 2 passed (1 flaky), 0 skipped\n   FLAKY 2/2 [ 0.2s] (1/2) prony load::one\n";
        let counts = TestCounts::read(output, "", true);
        assert_eq!(counts.summary(), "2 passed, 0 failed");
        assert_eq!(counts.flaky, ["prony load::one"]);
    }

    #[test]
    fn other_lines_that_hold_numbers_are_no_summaries() {
        let counts = TestCounts::read("1 | services: 4 passed, 0 failed\nnote: 3 passed here", "", true);
        assert_eq!(counts.summary(), "1 passed, 0 failed");
    }
}
