//! The results of a check.

use prony_config::contract::Contract;
use prony_load::Protocol;
use prony_records::{CaseFailure, ServiceCheck, ServiceId, Warning};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// The result of checking one service.
#[derive(Debug, Clone)]
pub struct CheckReport {
    pub contract: String,
    pub protocol: Protocol,
    /// Seed of the random values: the same seed produces the same requests.
    pub seed: u64,
    /// The cases that ran, in the contract's order; disruptive ones come last.
    pub cases: Vec<CaseReport>,
    /// The operations, by their names, and the cases that were not sent because they may change data on a server that prony did not
    /// start.
    pub skipped: Vec<String>,
    /// The operations of the contract that the protocol can call.
    pub operations: Vec<CheckedOperation>,
    pub warnings: Vec<Warning>,
    pub took: Duration,
}

/// An operation of the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedOperation {
    pub name: String,
    /// `GET /users/{id}`; for gRPC the method.
    pub request: String,
}

impl CheckedOperation {
    /// The operations of a contract over a protocol.
    pub(crate) fn all(contract: &Contract, protocol: Protocol) -> Vec<Self> {
        let operations = contract.operations().into_iter();
        let called = operations.filter_map(|operation| {
            let request = match protocol {
                Protocol::Http1 | Protocol::Http2 => operation.http,
                Protocol::Grpc => operation.grpc,
                Protocol::WebSocket => operation.websocket,
            };
            Some(Self {
                request: request?,
                name: operation.name,
            })
        });
        called.collect()
    }
}

/// The result of a case.
#[derive(Debug, Clone)]
pub struct CaseReport {
    pub name: String,
    /// The operations that it calls.
    pub operations: Vec<String>,
    /// Number of requests that were sent.
    pub exchanges: usize,
    /// Number of requests that failed.
    pub failed: usize,
    /// The first failures.
    pub failures: Vec<Failure>,
    /// The trait that the case tries; `None`: the service must pass the case.
    pub trait_name: Option<String>,
}

/// A request without the expected reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The label of the request.
    pub request: String,
    /// The part that differs: `status`, `header content-type`, `body: …`, `connection`.
    pub what: String,
    pub expected: String,
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
    /// Whether every case passed. If everything was skipped, nothing was shown.
    pub fn passed(&self) -> bool {
        !self.is_all_skipped() && self.cases.iter().all(CaseReport::passed)
    }

    /// Whether no request could be sent.
    pub const fn is_all_skipped(&self) -> bool {
        self.cases.is_empty() && !self.skipped.is_empty()
    }

    /// The cases that the service must pass.
    pub fn required(&self) -> impl Iterator<Item = &CaseReport> {
        self.cases.iter().filter(|case| case.trait_name.is_none())
    }

    /// The traits that were tried, and whether the service has each.
    pub fn traits(&self) -> BTreeMap<String, bool> {
        let tried = self.cases.iter().filter_map(|case| {
            let name = case.trait_name.clone()?;
            Some((name, case.failed == 0))
        });
        tried.collect()
    }

    /// The first failure with its case, as one line of text.
    pub fn first_failure(&self) -> Option<String> {
        self.required()
            .find_map(|case| Some(format!("{}: {}", case.name, case.failures.first()?)))
    }

    /// The row of this service in the table of a check.
    pub fn row(&self, service: &ServiceId) -> ServiceCheck {
        ServiceCheck {
            service: service.service.clone(),
            variant: service.variant.clone(),
            contract: self.contract.clone(),
            protocol: Some(protocol_word(self.protocol).to_owned()),
            passed: self.passed(),
            cases: self.required().map(|case| case.name.clone()).collect(),
            operations: self
                .required()
                .map(|case| (case.name.clone(), case.operations.clone()))
                .collect(),
            traits: self.traits(),
            failures: self.required().flat_map(CaseReport::rows).collect(),
            warnings: self.warnings.iter().map(|warning| warning.text.clone()).collect(),
            skipped: self.skipped.clone(),
            unavailable: None,
            took_ms: Some(self.took.as_millis() as u64),
        }
    }
}

impl CaseReport {
    /// Whether every request got the expected reply, or the case only tries a trait.
    pub const fn passed(&self) -> bool {
        self.failed == 0 || self.trait_name.is_some()
    }

    fn rows(&self) -> impl Iterator<Item = CaseFailure> {
        self.failures.iter().map(|failure| CaseFailure {
            case: self.name.clone(),
            expected: format!("{}: {}: {}", failure.request, failure.what, failure.expected),
            got: failure.got.clone(),
        })
    }
}

/// The protocol as the command line names it.
pub const fn protocol_word(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Http1 => "http",
        Protocol::Http2 => "http2",
        Protocol::Grpc => "grpc",
        Protocol::WebSocket => "websocket",
    }
}
