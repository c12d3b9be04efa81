//! What a check found.

use prony_load::Protocol;
use prony_records::{CaseFailure, ServiceCheck, ServiceId, Warning};
use std::fmt;
use std::time::Duration;

/// What a check of one service found.
#[derive(Debug, Clone)]
pub struct CheckReport {
    /// The contract.
    pub contract: String,
    /// What was spoken.
    pub protocol: Protocol,
    /// Decided the random values: the same seed gives the same requests.
    pub seed: u64,
    /// Every case that was tried, in the contract's order.
    pub cases: Vec<CaseReport>,
    /// What is worth saying though nothing failed.
    pub warnings: Vec<Warning>,
    /// How long it took.
    pub took: Duration,
}

/// What became of a case.
#[derive(Debug, Clone)]
pub struct CaseReport {
    /// The case.
    pub name: String,
    /// Requests that were sent.
    pub exchanges: usize,
    /// Requests that failed.
    pub failed: usize,
    /// The first of them.
    pub failures: Vec<Failure>,
}

/// A request that did not get the reply that it must get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The request, in short.
    pub request: String,
    /// What was looked at: `status`, `header content-type`, `body: …`, `connection`.
    pub what: String,
    /// What should have come.
    pub expected: String,
    /// What came.
    pub got: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            request,
            what,
            expected,
            got,
        } = self;
        write!(formatter, "{request}: {what}: expected {expected}, got {got}")
    }
}

impl CheckReport {
    /// Whether every case passed.
    pub fn passed(&self) -> bool {
        self.cases.iter().all(CaseReport::passed)
    }

    /// The first failure with its case, in a sentence.
    pub fn first_failure(&self) -> Option<String> {
        self.cases
            .iter()
            .find_map(|case| Some(format!("{}: {}", case.name, case.failures.first()?)))
    }

    /// As a row of the matrix of a check.
    pub fn row(&self, service: &ServiceId) -> ServiceCheck {
        ServiceCheck {
            service: service.service.clone(),
            variant: service.variant.clone(),
            contract: self.contract.clone(),
            protocol: Some(protocol_word(self.protocol).to_owned()),
            passed: self.passed(),
            cases: self.cases.iter().map(|case| case.name.clone()).collect(),
            failures: self.cases.iter().flat_map(CaseReport::rows).collect(),
            warnings: self.warnings.iter().map(|warning| warning.text.clone()).collect(),
            unavailable: None,
        }
    }
}

impl CaseReport {
    /// Whether every request got its reply.
    pub const fn passed(&self) -> bool {
        self.failed == 0
    }

    fn rows(&self) -> impl Iterator<Item = CaseFailure> {
        self.failures.iter().map(|failure| CaseFailure {
            case: self.name.clone(),
            expected: format!("{}: {}: {}", failure.request, failure.what, failure.expected),
            got: failure.got.clone(),
        })
    }
}

/// The word for what is spoken.
pub const fn protocol_word(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Http1 => "http",
        Protocol::Http2 => "http2",
        Protocol::Grpc => "grpc",
        Protocol::WebSocket => "websocket",
    }
}
