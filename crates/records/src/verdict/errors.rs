//! The requests without a valid reply, in words.

use super::count;
use crate::{Outcome, Recording};

impl Recording {
    /// The requests without a valid reply, and the first reply that was not: `3 timeouts, 1 reset`. Empty if all were valid.
    pub fn errors_in_words(&self) -> String {
        let kinds = Outcome::ALL
            .into_iter()
            .filter(|&outcome| outcome != Outcome::Valid)
            .map(|outcome| (self.outcomes.of(outcome), outcome))
            .filter(|(number, _)| *number > 0);
        let kinds: Vec<String> = kinds
            .map(|(number, outcome)| {
                let (one, several) = outcome.nouns();
                let noun = if number == 1 { one } else { several };
                format!("{} {noun}", count(number))
            })
            .collect();
        let first = self.unexpected_replies.first().map(|wrong| {
            format!(
                "; {}: {}: expected {}, got {}",
                wrong.operation,
                wrong.what,
                wrong.expected,
                wrong.got_in_brief()
            )
        });
        kinds.join(", ") + &first.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Outcomes, UnexpectedReply};

    fn recording(what: &str, got: &str) -> Recording {
        Recording {
            outcomes: Outcomes {
                valid: 5,
                status: 1952,
                reset: 1,
                ..Outcomes::default()
            },
            unexpected_replies: vec![UnexpectedReply {
                operation: "range(from=0)".to_owned(),
                what: what.to_owned(),
                expected: "206".to_owned(),
                got: got.to_owned(),
            }],
            ..Recording::default()
        }
    }

    #[test]
    fn valid_replies_are_no_errors() {
        let mut recording = recording("status", "206");
        assert_eq!(
            recording.errors_in_words(),
            "1,952 unexpected statuses, 1 reset; range(from=0): status: expected 206, got 206"
        );
        recording.outcomes = Outcomes {
            valid: 5,
            ..Outcomes::default()
        };
        recording.unexpected_replies.clear();
        assert_eq!(recording.errors_in_words(), "");
    }

    /// The body of a page of errors is not what was compared; that of a wrong body is.
    #[test]
    fn of_a_page_with_a_wrong_status_the_start_is_shown() {
        let got = format!("200, text/html, 900 bytes: {}…", "ä".repeat(400));
        let text = recording("status", &got).errors_in_words();
        let start = "got 200, text/html, 900 bytes: ää";
        assert!(text.contains(start) && text.ends_with("ä…"), "{text}");
        let shown = text.split_once("got ").map(|(_, shown)| shown.chars().count());
        assert_eq!(shown, Some(160));
        assert!(recording("body", &got).errors_in_words().ends_with(&got));
    }
}
