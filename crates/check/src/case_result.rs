//! What came of the exchanges of a case.

use super::reply_traits::ReplyTraits;
use super::report::Failure;
use prony_config::contract::Exchange;

/// Failures of a case that are kept.
const KEPT: usize = 3;

/// What came of some exchanges.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) sent: usize,
    pub(super) failed: usize,
    /// Of the failed ones, those that said that there are too many headers.
    pub(super) refused: usize,
    pub(super) failures: Vec<Failure>,
    pub(super) traits: ReplyTraits,
}

impl Tally {
    pub(super) fn merge(&mut self, other: Self) {
        self.sent += other.sent;
        self.failed += other.failed;
        self.refused += other.refused;
        self.failures.extend(other.failures);
        self.failures.truncate(KEPT);
        self.traits.merge(&other.traits);
    }

    /// A server may refuse more headers than it likes, if it says so with the status made for that (RFC 6585, section 5).
    pub(super) fn forgive_refused_headers(&mut self) {
        if self.failed > 0 && self.failed == self.refused {
            self.traits.too_many_headers += self.failed;
            self.failed = 0;
            self.failures.clear();
        }
    }

    pub(super) fn record(&mut self, exchange: &Exchange, result: Result<(), Failure>) {
        self.sent += 1;
        if let Err(failure) = result {
            self.failed += 1;
            self.refused += usize::from(failure.what == "status" && failure.got.starts_with("431"));
            if self.failures.len() < KEPT {
                self.failures.push(Failure {
                    request: exchange.label.clone(),
                    ..failure
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_beyond_those_that_are_kept() {
        let many = KEPT + 1;
        let tally = |refused| Tally {
            sent: many,
            failed: many,
            refused,
            ..Tally::default()
        };
        let mut all = tally(many);
        all.forgive_refused_headers();
        assert_eq!((all.failed, all.traits.too_many_headers), (0, many));
        let mut others = tally(many - 1);
        others.forgive_refused_headers();
        assert_eq!((others.failed, others.traits.too_many_headers), (many, 0));
    }
}
