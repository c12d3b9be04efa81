//! Results of checking services against contracts: the JSON object of `prony check --json`.

use serde::{Deserialize, Serialize};

/// The result of checking services against contracts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckMatrix {
    /// Version of the JSON format.
    pub schema: u32,
    /// One row per service, variant and contract.
    pub services: Vec<ServiceCheck>,
}

/// The result of checking one service against one contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceCheck {
    /// Name of the service, or the URL of a server that was already running.
    pub service: String,
    /// Name of the variant.
    pub variant: String,
    /// Name of the contract.
    pub contract: String,
    /// Protocol: `http`, `http2`, `grpc`, `websocket`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Whether every case passed.
    pub passed: bool,
    /// Every case that was checked, in the contract's order.
    #[serde(default)]
    pub cases: Vec<String>,
    /// The cases that failed.
    #[serde(default)]
    pub failures: Vec<CaseFailure>,
    /// Remarks that are no failures.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Why the service could not be checked on this machine; `None` if it was checked.
    pub unavailable: Option<String>,
}

/// A case that a service failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseFailure {
    /// Name of the case.
    pub case: String,
    /// The expected value.
    pub expected: String,
    /// The received value.
    pub got: String,
}
