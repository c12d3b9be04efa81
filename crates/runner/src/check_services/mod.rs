//! Checks whether services fulfil their contracts.

mod services;

pub use services::{CheckScope, check_services};

use prony_check::{CheckReport, protocol_word};
use prony_config::Service;
use prony_load::Protocol;
use prony_records::{CaseFailure, Exclusion, ServiceCheck, ServiceId, TrialStage};

/// The result of one service, contract and protocol.
pub struct Row {
    pub id: ServiceId,
    pub contract: String,
    pub protocol: Protocol,
    pub outcome: Outcome,
}

pub enum Outcome {
    /// The check ran; its cases may have failed.
    Checked(CheckReport),
    /// The service could not be started, or its build failed.
    Failed(Exclusion),
    /// The machine lacks a requirement of the service.
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

    /// The result as a row of the matrix.
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

/// The row of a service that could not be checked; `service` is its entry in the catalogue.
pub(crate) fn unchecked(
    id: &ServiceId,
    (contract, protocol): (&str, Protocol),
    excluded: &Exclusion,
    service: Option<&Service>,
) -> ServiceCheck {
    let outcome = match (service, excluded.stage) {
        (Some(service), TrialStage::Toolchain | TrialStage::Build) => not_built(service, excluded),
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

/// A requirement that the machine lacks is not the fault of the service, nor is a build that cannot download its dependencies
/// here if the service declares this.
fn not_built(service: &Service, excluded: &Exclusion) -> Outcome {
    match (&service.unavailable_hint, excluded.stage) {
        (Some(hint), _) => Outcome::Unavailable(format!("{hint} ({})", excluded.reason)),
        (None, TrialStage::Toolchain) => Outcome::Unavailable(excluded.reason.clone()),
        (None, _) => Outcome::Failed(excluded.clone()),
    }
}
