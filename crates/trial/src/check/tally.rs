//! What came of the exchanges of a case.

use super::report::Failure;
use super::traits::Traits;
use prony_contract::Exchange;

/// Failures of a case that are kept.
const KEPT: usize = 3;

/// What came of some exchanges.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) sent: usize,
    pub(super) failed: usize,
    pub(super) failures: Vec<Failure>,
    pub(super) traits: Traits,
}

impl Tally {
    pub(super) fn merge(&mut self, other: Self) {
        self.sent += other.sent;
        self.failed += other.failed;
        self.failures.extend(other.failures);
        self.failures.truncate(KEPT);
        self.traits.merge(&other.traits);
    }

    /// A server may refuse more headers than it likes, if it says so with the status made for that (RFC 6585, section 5).
    pub(super) fn forgive_refused_headers(&mut self) {
        let refused = |failure: &Failure| failure.what == "status" && failure.got.starts_with("431");
        if self.failed > 0 && self.failed == self.failures.len() && self.failures.iter().all(refused) {
            self.traits.too_many_headers += self.failed;
            self.failed = 0;
            self.failures.clear();
        }
    }

    pub(super) fn record(&mut self, exchange: &Exchange, result: Result<(), Failure>) {
        self.sent += 1;
        if let Err(failure) = result {
            self.failed += 1;
            if self.failures.len() < KEPT {
                self.failures.push(Failure {
                    request: exchange.label.clone(),
                    ..failure
                });
            }
        }
    }
}
