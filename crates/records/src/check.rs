//! What checking services against contracts found: the JSON object of `prony check --json`.

use serde::{Deserialize, Serialize};

/// What a check of services against contracts found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckMatrix {
    /// Version of the JSON.
    pub schema: u32,
    /// A row per service, variant and contract.
    pub services: Vec<ServiceCheck>,
}

/// What the check of one service against one contract found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceCheck {
    /// The service's name, or the URL of a server that was already running.
    pub service: String,
    /// The variant's name.
    pub variant: String,
    /// The contract.
    pub contract: String,
    /// What was spoken: `http`, `http2`, `grpc`, `websocket`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Whether every case passed.
    pub passed: bool,
    /// Every case that was tried, in the contract's order.
    #[serde(default)]
    pub cases: Vec<String>,
    /// The cases that failed.
    #[serde(default)]
    pub failures: Vec<CaseFailure>,
    /// What is worth saying though nothing failed.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Why the service could not be checked on this machine.
    pub unavailable: Option<String>,
}

/// A case that a service failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseFailure {
    /// The case.
    pub case: String,
    /// What should have come.
    pub expected: String,
    /// What came.
    pub got: String,
}
