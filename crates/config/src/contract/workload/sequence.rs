//! A sequence of requests in a file, for a load without a contract: `prony load --sequence FILE`.
//!
//! Its steps have the format of a contract's operations and become a contract with one workload, so that both follow the
//! same rules.

use crate::ConfigError;
use crate::contract::Contract;
use crate::contract::jwt::Jwts;
use crate::contract::toml::{
    CallToml, ContractToml, ExpectToml, OneOrMany, OperationToml, Status, StepToml, TableToml, WorkloadToml,
};
use crate::format::{FileKind, SourceFile};
use crate::format::{Spanned, SpannedValue};
use crate::load_table::LoadToml;
use prony_load::{Limits, Pick, Protocol, Source, Workload};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;
use std::time::SystemTime;

/// A sequence of requests for `prony load --sequence`.
#[derive(Debug, Clone, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SequenceToml {
    /// A CSV or JSON Lines file with a row for each user. `{COLUMN}` is a value of the user's row.
    data: Option<Spanned<TableToml>>,
    /// Whether users return the cookies that they receive.
    #[serde(default)]
    cookies: bool,
    /// Tokens that requests carry. `{NAME}` is the signed token.
    #[serde(default)]
    jwt: Jwts,
    /// Constants of any shape. `{NAME}` is the value.
    #[serde(default)]
    value: BTreeMap<String, SpannedValue>,
    /// The requests that each user sends, one after the other.
    #[serde(default)]
    step: Vec<Spanned<CallToml>>,
}

/// A sequence of requests for a load without a contract.
#[derive(Debug, Clone, PartialEq)]
pub struct SequenceFile {
    /// The requests that each user sends.
    pub workload: Workload,
    /// The largest number of requests, if each row of the table is used once.
    pub most_requests: Option<u64>,
    /// When the first of its tokens expires.
    pub tokens_expire: Option<SystemTime>,
}

impl SequenceFile {
    /// Reads a file of steps.
    pub fn read(path: &Path, protocol: Protocol) -> Result<Self, ConfigError> {
        Self::of(SourceFile::read(path)?, protocol)
    }

    /// The same, from the text of the file.
    pub(crate) fn of(file: SourceFile, protocol: Protocol) -> Result<Self, ConfigError> {
        let written: SequenceToml = file.parse(FileKind::Sequence)?;
        if written.step.is_empty() {
            let help = "add at least one, with `http = \"GET /path\"`";
            return Err(file.invalid_with(0..0, "the file has no `[[step]]`", help));
        }
        let steps = written.step.len() as u64;
        let contract = contract(file, written)?;
        let workload = contract.workload(NAME, protocol)?;
        let rows = workload
            .parameters
            .iter()
            .find_map(|parameter| match &parameter.source {
                Source::Column {
                    values,
                    pick: Pick::Once,
                } => Some(values.len() as u64),
                _ => None,
            });
        Ok(Self {
            workload,
            most_requests: rows.map(|rows| rows * steps),
            tokens_expire: contract.tokens_expire(),
        })
    }

    /// The limits of a load, combined with `limits`.
    pub fn limits(&self, limits: Limits) -> Limits {
        let most = self.most_requests;
        Limits {
            requests: limits.requests.into_iter().chain(most).min(),
            ..limits
        }
    }
}

/// The name of the only workload.
const NAME: &str = "sequence";

fn contract(file: SourceFile, written: SequenceToml) -> Result<Contract, ConfigError> {
    let mut operation = BTreeMap::new();
    let mut sequence = Vec::new();
    for (place, step) in written.step.into_iter().enumerate() {
        let span = step.span();
        let call = step.into_inner();
        let expect = call.expect.as_ref();
        let excluded = [
            ("operation", call.operation.as_ref().map(Spanned::span)),
            ("retry_for", call.retry_for.map(|_| span.clone())),
            (
                "within",
                expect
                    .filter(|expect| expect.get_ref().within.is_some())
                    .map(Spanned::span),
            ),
        ];
        if let Some((key, span)) = excluded.into_iter().find_map(|(key, span)| Some((key, span?))) {
            let message = format!("`{key}` belongs to contracts: a file of steps has none");
            let help = if key == "operation" {
                "write the request as `http`"
            } else {
                "remove it"
            };
            return Err(file.invalid_with(span, message, help));
        }
        // A step without a name is named after its request.
        let line = call
            .http
            .as_ref()
            .map(|http| http.get_ref().clone())
            .unwrap_or_default();
        let name = format!("{}: {line}", place + 1);
        sequence.push(Spanned::new(
            span.clone(),
            StepToml::of(Spanned::new(span.clone(), name.clone())),
        ));
        operation.insert(name, Spanned::new(span, completed(call)));
    }
    // The command line defines the load.
    let load = LoadToml::Closed {
        connections: Spanned::new(0..0, NonZeroU32::MIN),
        in_flight: None,
        think: None,
        room_size: None,
    };
    let workload = WorkloadToml {
        summary: String::new(),
        mix: Vec::new(),
        sequence,
        data: written.data,
        cookies: written.cookies,
        load: Spanned::new(0..0, load),
    };
    let folder = file.path.parent().unwrap_or_else(|| Path::new("")).to_owned();
    let workload = BTreeMap::from([(NAME.to_owned(), Spanned::new(0..0, workload))]);
    let written = ContractToml {
        jwt: written.jwt,
        value: written.value,
        operation,
        workload,
        ..ContractToml::default()
    };
    Contract::unnamed(folder, file, written)
}

/// A step as an operation. Without a status, it accepts 200.
fn completed(call: CallToml) -> OperationToml {
    let mut expect = call
        .expect
        .unwrap_or_else(|| Spanned::new(0..0, ExpectToml::default()));
    expect
        .get_mut()
        .status
        .get_or_insert_with(|| OneOrMany(vec![Status::Code(200)]));
    OperationToml {
        summary: String::new(),
        safe: None,
        common_cases: true,
        needs: Vec::new(),
        http: call.http,
        websocket: None,
        grpc: call.grpc,
        with: call.with,
        headers: call.headers,
        json: call.json,
        text: call.text,
        file: call.file,
        generated: call.generated,
        message: call.message,
        messages: call.messages,
        deadline: call.deadline,
        expect: Some(expect),
        capture: call.capture.unwrap_or_default(),
    }
}
