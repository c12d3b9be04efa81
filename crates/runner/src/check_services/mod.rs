//! Services that are asked whether they do what their contracts say.

mod services;

pub use services::{Asked, check_services};

use prony_check::{CheckReport, protocol_word};
use prony_config::Service;
use prony_load::Protocol;
use prony_records::{CaseFailure, Exclusion, ServiceCheck, ServiceId, Stage};

/// A service checked against a contract, or why it was not.
pub struct Row {
    /// The service.
    pub id: ServiceId,
    /// The contract.
    pub contract: String,
    /// What was spoken.
    pub protocol: Protocol,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a check.
pub enum Outcome {
    /// It was checked.
    Checked(CheckReport),
    /// It could not be started, or its build is broken.
    Failed(Exclusion),
    /// The machine lacks something that it needs.
    Unavailable(String),
}

impl Row {
    /// Whether every case passed.
    pub fn passed(&self) -> bool {
        matches!(&self.outcome, Outcome::Checked(report) if report.passed())
    }

    /// Whether the service is at fault.
    pub fn failed(&self) -> bool {
        !self.passed() && !matches!(self.outcome, Outcome::Unavailable(_))
    }

    /// As a row of the matrix.
    pub fn record(&self) -> ServiceCheck {
        let empty = ServiceCheck {
            service: self.id.service.clone(),
            variant: self.id.variant.clone(),
            contract: self.contract.clone(),
            protocol: Some(protocol_word(self.protocol).to_owned()),
            passed: false,
            cases: Vec::new(),
            failures: Vec::new(),
            warnings: Vec::new(),
            unavailable: None,
        };
        match &self.outcome {
            Outcome::Checked(report) => report.row(&self.id),
            Outcome::Unavailable(reason) => ServiceCheck {
                unavailable: Some(reason.clone()),
                ..empty
            },
            Outcome::Failed(excluded) => ServiceCheck {
                failures: vec![CaseFailure {
                    case: format!("{:?}", excluded.stage).to_lowercase(),
                    expected: "a service that runs".to_owned(),
                    got: excluded.reason.clone(),
                }],
                ..empty
            },
        }
    }
}

/// The row of a service that could not be checked, for this reason; `service` is what the catalogue says of it.
pub(crate) fn unchecked(
    id: &ServiceId,
    (contract, protocol): (&str, Protocol),
    excluded: &Exclusion,
    service: Option<&Service>,
) -> ServiceCheck {
    let outcome = match (service, excluded.stage) {
        (Some(service), Stage::Toolchain | Stage::Build) => not_built(service, excluded),
        _ => Outcome::Failed(excluded.clone()),
    };
    let row = Row {
        id: id.clone(),
        contract: contract.to_owned(),
        protocol,
        outcome,
    };
    row.record()
}

/// What the machine lacks is no fault of the service, nor is what its build cannot reach from here and says so.
fn not_built(service: &Service, excluded: &Exclusion) -> Outcome {
    match (&service.unavailable_hint, excluded.stage) {
        (Some(hint), _) => Outcome::Unavailable(format!("{hint} ({})", excluded.reason)),
        (None, Stage::Toolchain) => Outcome::Unavailable(excluded.reason.clone()),
        (None, _) => Outcome::Failed(excluded.clone()),
    }
}
