//! The results of the exchanges of a case, and traits of its replies that are worth a warning.

use super::report::{CaseReport, Failure};
use prony_config::contract::{Case, Exchange};
use prony_load::Protocol;
use prony_protocols::client::Reply;
use prony_protocols::protocol::Version;
use prony_records::{Warning, WarningKind};

/// Failures of a case that are reported in full; further ones are only counted.
const REPORTED_FAILURES: usize = 3;

/// The results of some exchanges.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) sent: usize,
    pub(super) failed: usize,
    /// Failed exchanges whose reply says that the request has too many headers.
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
        self.failures.truncate(REPORTED_FAILURES);
        self.traits.merge(&other.traits);
    }

    /// The report of the case whose exchanges these are.
    pub(super) fn report(self, case: &Case) -> CaseReport {
        CaseReport {
            name: case.name.clone(),
            operations: case.operations.clone(),
            exchanges: self.sent,
            failed: self.failed,
            failures: self.failures,
            trait_name: case.trait_name.clone(),
        }
    }

    /// A server may limit the number of headers, if it reports that with the status made for it (RFC 6585, section 5).
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
            if self.failures.len() < REPORTED_FAILURES {
                self.failures.push(Failure {
                    request: exchange.label.clone(),
                    ..failure
                });
            }
        }
    }
}

/// Traits that are worth a warning, with the number of replies that have each.
#[derive(Default)]
pub(super) struct ReplyTraits {
    replies: usize,
    pub(super) closed: usize,
    http10: usize,
    without_date: usize,
    /// Requests refused for the number of their headers.
    pub(super) too_many_headers: usize,
}

impl ReplyTraits {
    /// Counts a successful reply. After an error, a service may close the connection.
    pub(super) fn count(&mut self, reply: &Reply, protocol: Protocol) {
        if !(200..300).contains(&reply.status) || protocol == Protocol::Grpc {
            return;
        }
        self.replies += 1;
        self.closed += usize::from(reply.closes);
        self.http10 += usize::from(reply.version == Version::Http10);
        self.without_date += usize::from(reply.header("date").is_none());
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.replies += other.replies;
        self.closed += other.closed;
        self.http10 += other.http10;
        self.without_date += other.without_date;
        self.too_many_headers += other.too_many_headers;
    }

    pub(super) fn warnings(&self) -> Vec<Warning> {
        let share = |count: usize| format!("{count} of {} replies", self.replies);
        let mut warnings = Vec::new();
        let mut warn = |count: usize, kind, text: String| {
            if count > 0 {
                warnings.push(Warning::new(kind, text));
            }
        };
        warn(
            self.closed,
            WarningKind::ConnectionClosed,
            format!("Closes the connection after {}.", share(self.closed)),
        );
        warn(
            self.http10,
            WarningKind::ConnectionClosed,
            format!("Answers {} with HTTP/1.0.", share(self.http10)),
        );
        warn(
            self.without_date,
            WarningKind::MissingHeader,
            format!("No Date header in {}.", share(self.without_date)),
        );
        warn(
            self.too_many_headers,
            WarningKind::Note,
            "Rejects 100 headers (431).".to_owned(),
        );
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_beyond_the_failures_that_are_reported() {
        let many = REPORTED_FAILURES + 1;
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
