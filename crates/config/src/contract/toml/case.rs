//! Cases of a check.

use super::call::CallToml;
use super::values::OneOrMany;
use crate::format::Spanned;
use prony_load::DurationText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A case: calls, one after the other, and how they are delivered.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaseToml {
    /// What it checks.
    pub(crate) name: Spanned<String>,
    /// The calls.
    #[schemars(extend("x-aliases" = ["calls"]))]
    pub(crate) call: OneOrMany<Spanned<CallToml>>,
    /// How the requests are delivered.
    #[serde(default)]
    pub(crate) deliver: Deliver,
    /// Whether no other case may run at the same time.
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["alone"]))]
    pub(crate) serial: bool,
    /// Whether only a thorough check runs it, because it takes long.
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["thorough"]))]
    pub(crate) slow: bool,
    /// How often the calls are repeated. Default: 1.
    #[schemars(range(min = 1))]
    pub(crate) times: Option<u32>,
    /// A backing service that goes away and comes back.
    pub(crate) restart: Option<Spanned<RestartToml>>,
    /// Clients that disconnect in the middle of their streams.
    #[schemars(extend("x-aliases" = ["leave"]))]
    pub(crate) disconnect: Option<Spanned<ClientDisconnectToml>>,
    /// The case shows a trait with this name, which reports list as yes or no. It is never a failure.
    #[serde(default, rename = "trait", skip_serializing_if = "Option::is_none")]
    pub(crate) shows: Option<Spanned<String>>,
    /// The number of connections over which `many_connections` spreads the requests. Default: 32.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub(crate) connections: Option<u32>,
}

/// A backing service that goes away and comes back with the same data.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RestartToml {
    /// Its name in this contract.
    pub(crate) service: Spanned<String>,
    /// How long it is away. Default: 1 s.
    pub(crate) down: Option<Spanned<DurationText>>,
    /// The longest time from its return until all calls succeed. Default: 5 s.
    pub(crate) recover_within: Option<DurationText>,
    /// The statuses with which the service may report that it is away. Default: 500 and 503.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) statuses: Vec<u16>,
    /// The longest time until such a reply. Default: `down` and `recover_within` together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reply_within: Option<DurationText>,
}

/// Clients that disconnect in the middle of their streams.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClientDisconnectToml {
    /// Their number, each with a stream of its own.
    #[schemars(range(min = 1, max = 1000), extend("x-aliases" = ["streams"]))]
    pub(crate) clients: u32,
    /// The longest time until the service has stopped working for them. Default: 5 s.
    pub(crate) within: Option<DurationText>,
}

/// How the requests of a case are delivered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Deliver {
    /// One after the other on one connection.
    #[default]
    Whole,
    /// In single bytes.
    SingleBytes,
    /// All in one write on one connection.
    Pipelined,
    /// Each body in chunks.
    Chunked,
    /// Spread over many connections.
    ManyConnections,
}
