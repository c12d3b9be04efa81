//! A sequence of requests in a file of its own, for a load without a contract: `prony load --sequence FILE`.
//!
//! Its steps are written as a contract's operations are, and become a contract of one workload, so that both follow the same
//! rules.

use crate::contract::error::File;
use crate::contract::jwt::Jwts;
use crate::contract::toml::{
    OneOrMany, WrittenCall, WrittenContract, WrittenExpect, WrittenOperation, WrittenStep, WrittenTable,
    WrittenWorkload,
};
use crate::contract::{Contract, ContractError};
use prony_load::{Limits, Pick, Protocol, Source, Workload, WrittenLoad};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;
use toml::Spanned;

/// A file of steps, key by key.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSequence {
    data: Option<Spanned<WrittenTable>>,
    #[serde(default)]
    cookies: bool,
    #[serde(default)]
    jwt: Jwts,
    #[serde(default)]
    step: Vec<Spanned<WrittenCall>>,
}

/// A sequence, and where it ends the load.
#[derive(Debug, Clone, PartialEq)]
pub struct SequenceFile {
    /// What each user sends.
    pub workload: Workload,
    /// Where each row of a table is used once: the most requests that the load can send.
    pub most_requests: Option<u64>,
    /// When the first of its tokens expires.
    pub tokens_expire: Option<SystemTime>,
}

impl SequenceFile {
    /// Reads a file of steps.
    pub fn read(path: &Path, protocol: Protocol) -> Result<Self, ContractError> {
        let file = File::read(path)?;
        let written: WrittenSequence = file.parse()?;
        if written.step.is_empty() {
            return Err(file.invalid(
                0..0,
                "no `[[step]]`: give at least one, with `http = \"GET /path\"`",
            ));
        }
        let steps = written.step.len() as u64;
        let contract = contract(path, file, written)?;
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

    /// The ends of a load that has `limits` of its own.
    pub fn limits(&self, limits: Limits) -> Limits {
        let most = self.most_requests;
        Limits {
            requests: limits.requests.into_iter().chain(most).min(),
            ..limits
        }
    }
}

/// What the only workload is called.
const NAME: &str = "sequence";

fn contract(path: &Path, file: File, written: WrittenSequence) -> Result<Contract, ContractError> {
    let mut operation = BTreeMap::new();
    let mut sequence = Vec::new();
    for (place, step) in written.step.into_iter().enumerate() {
        let span = step.span();
        let call = step.into_inner();
        if call.operation.is_some() || call.within.is_some() || call.until.is_some() {
            let message = "a step has `http`, `headers`, a body, `with` and `expect`, and no `operation`, `within` or `until`";
            return Err(file.invalid(span, message));
        }
        // Steps without a name are called by what they send.
        let line = call
            .http
            .as_ref()
            .map(|http| http.get_ref().clone())
            .unwrap_or_default();
        let name = format!("{}: {line}", place + 1);
        sequence.push(Spanned::new(
            span.clone(),
            WrittenStep {
                operation: Spanned::new(span.clone(), name.clone()),
                with: BTreeMap::new(),
                weight: 1,
                times: 1,
            },
        ));
        operation.insert(name, Spanned::new(span, completed(call)));
    }
    // The command line says how the requests arrive.
    let load = WrittenLoad::Closed {
        connections: 1,
        in_flight: 1,
        members: None,
    };
    let workload = WrittenWorkload {
        summary: String::new(),
        mix: Vec::new(),
        sequence,
        data: written.data,
        cookies: written.cookies,
        load: Spanned::new(0..0, load),
    };
    let folder = path.parent().unwrap_or_else(|| Path::new("")).to_owned();
    let workload = BTreeMap::from([(NAME.to_owned(), Spanned::new(0..0, workload))]);
    Contract::unnamed(
        folder,
        file,
        WrittenContract::of(written.jwt, operation, workload),
    )
}

/// A step as an operation. What is not expected by name is any status from 200 to 299.
fn completed(call: WrittenCall) -> WrittenOperation {
    let mut expect = call
        .expect
        .unwrap_or_else(|| Spanned::new(0..0, WrittenExpect::default()));
    expect.get_mut().status.get_or_insert(OneOrMany(Vec::new()));
    WrittenOperation {
        summary: String::new(),
        common: true,
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
    }
}
