//! A loaded contract, and its description.

use crate::ConfigError;
use crate::contract::backing::{BackingRequirement, BackingSpec, FinalInvariant, LoadInvariant, Rows};
use crate::contract::jwt::{self, Tokens};
use crate::contract::proto::Schema;
use crate::contract::schema_files::SchemaFiles;
use crate::contract::source::RowTable;
use crate::contract::toml::{ContractToml, WorkloadToml, in_order};
use crate::format::SourceFile;
use crate::format::Spanned;
use crate::format::suggestion::suggest;
use prony_load::{Load, Protocol};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

/// The definition of what a service must do.
#[derive(Debug, Clone)]
pub struct Contract {
    /// The name of its folder.
    pub name: String,
    pub title: String,
    /// A description in a sentence or two.
    pub summary: String,
    /// The published measurement from which it was derived.
    pub study: Option<String>,
    /// The folder of the contract.
    pub folder: PathBuf,
    pub(crate) file: SourceFile,
    pub(crate) written: ContractToml,
    pub(crate) schema: Option<Schema>,
    pub(crate) tokens: Tokens,
    pub(crate) beside: BackingSpec,
    /// The rows that have been read, by their name in the contract.
    pub(crate) tables: BTreeMap<String, RowTable>,
    pub(crate) schemas: SchemaFiles,
    /// The seed of its files of known bytes.
    pub(crate) files_seed: u64,
}

/// One kind of call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationInfo {
    /// Its name in the contract.
    pub name: String,
    pub summary: String,
    /// Method and path over HTTP, `GET /person/{id}`.
    pub http: Option<String>,
    /// Method over gRPC, `package.Service/method`.
    pub grpc: Option<String>,
    /// Path of a WebSocket, `/ws/echo`.
    pub websocket: Option<String>,
}

impl Contract {
    /// A contract without a file and a name; nothing in it has been tried out.
    pub(crate) fn unnamed(
        folder: PathBuf,
        file: SourceFile,
        written: ContractToml,
    ) -> Result<Self, ConfigError> {
        Ok(Self {
            name: String::new(),
            title: String::new(),
            summary: String::new(),
            study: None,
            tokens: jwt::mint(&file, &folder, &written.jwt)?,
            folder,
            file,
            written,
            schema: None,
            beside: BackingSpec::default(),
            tables: BTreeMap::new(),
            schemas: SchemaFiles::default(),
            files_seed: 0,
        })
    }

    /// The protocols that a service of this contract may speak.
    pub fn protocols(&self) -> Vec<Protocol> {
        let operations = || self.written.operation.values().map(Spanned::get_ref);
        let mut protocols = Vec::new();
        if operations().any(|operation| operation.http.is_some()) {
            protocols.extend([Protocol::Http1, Protocol::Http2]);
        }
        if operations().any(|operation| operation.grpc.is_some()) {
            protocols.push(Protocol::Grpc);
        }
        if operations().any(|operation| operation.websocket.is_some()) {
            protocols.push(Protocol::WebSocket);
        }
        protocols
    }

    /// When the first of its tokens expires; `None` if none does.
    pub const fn tokens_expire(&self) -> Option<SystemTime> {
        self.tokens.expire
    }

    /// The required backing services, in the order of the file.
    pub fn backing_services(&self) -> &[BackingRequirement] {
        &self.beside.backing_services
    }

    /// The rows that requests and expectations use, in the order of the file. Before [`Contract::give_rows`], values of rows
    /// are stand-ins, which are useless for a check.
    pub fn rows(&self) -> &[Rows] {
        &self.beside.rows
    }

    /// The conditions on backing services after the load, in the order of the file.
    pub fn after(&self) -> &[FinalInvariant] {
        &self.beside.after
    }

    /// The conditions on backing services during the load, in the order of the file.
    pub fn during(&self) -> &[LoadInvariant] {
        &self.beside.during
    }

    /// Environment variables of a service of this contract.
    pub const fn environment(&self) -> &BTreeMap<String, String> {
        &self.beside.environment
    }

    /// The contract without its descriptions: two contracts with equal values require the same of a service, regardless of
    /// formatting. Some formats distinguish keys by position, so append new keys at the end of their type.
    pub fn values(&self) -> impl Serialize + '_ {
        let names = |backing_service: &BackingRequirement| {
            let seed = backing_service.seed().iter().map(|file| {
                let name = file.strip_prefix(&self.folder).unwrap_or(file);
                name.to_string_lossy().into_owned()
            });
            (
                backing_service.name().to_owned(),
                backing_service.uses().to_owned(),
                seed.collect::<Vec<_>>(),
                backing_service.settings().clone(),
            )
        };
        (
            &self.written,
            self.backing_services().iter().map(names).collect::<Vec<_>>(),
            // The first workload is the default, and cases call operations in this order.
            in_order(&self.written.operation)
                .map(|(name, _)| name)
                .collect::<Vec<_>>(),
            in_order(&self.written.workload)
                .map(|(name, _)| name)
                .collect::<Vec<_>>(),
        )
    }

    /// An error at the limit of connections of an invariant.
    pub(crate) fn connections_error(&self, invariant: &str, message: &str, help: &str) -> ConfigError {
        let mut all = self.written.invariant.iter().map(Spanned::get_ref);
        let limit = all
            .find(|written| written.name == invariant)
            .and_then(|written| written.max_connections.as_ref());
        let span = limit.map(Spanned::span).unwrap_or_default();
        self.file.invalid_with(span, message, help)
    }

    /// An error at a key of `[backing_service.NAME]` or of its settings, or at the table if it has no such key. The part of the
    /// reason after a colon is what to do.
    pub fn backing_service_error(&self, name: &str, key: &str, reason: &str) -> ConfigError {
        let table = self.written.backing_service.get(name);
        let span = table.map(|table| {
            let keys = table.get_ref();
            let setting = keys.settings.get(key).map(Spanned::span);
            let seed = keys.seed.first().filter(|_| key == "seed").map(Spanned::span);
            let uses = (key == "use").then(|| keys.uses.span());
            setting.or(seed).or(uses).unwrap_or_else(|| table.span())
        });
        let span = span.unwrap_or_default();
        match reason.split_once(": ") {
            Some((message, help)) => self.file.invalid_with(span, message, help),
            None => self.invalid(span, reason),
        }
    }

    /// The operations in the order of the file.
    pub fn operations(&self) -> Vec<OperationInfo> {
        let text = |text: &Option<Spanned<String>>| text.as_ref().map(|text| text.get_ref().clone());
        in_order(&self.written.operation)
            .map(|(name, operation)| OperationInfo {
                name: name.to_owned(),
                summary: operation.get_ref().summary.clone(),
                http: text(&operation.get_ref().http),
                grpc: text(&operation.get_ref().grpc),
                websocket: text(&operation.get_ref().websocket),
            })
            .collect()
    }

    /// The workloads in the order of the file, each with its summary. The first is the default.
    pub fn workloads(&self) -> Vec<(String, String)> {
        in_order(&self.written.workload)
            .map(|(name, workload)| (name.to_owned(), workload.get_ref().summary.clone()))
            .collect()
    }

    /// A workload's name and load; those of the first workload if no name is given.
    pub fn load_of(&self, workload: Option<&str>) -> Result<(String, Load), ConfigError> {
        let (name, written) = self.written_workload(workload)?;
        let load = written.get_ref().load.get_ref().clone();
        Ok((name.to_owned(), load.resolve(&self.file)?))
    }

    /// Whether a workload is a sequence of requests.
    pub fn is_sequence(&self, workload: &str) -> bool {
        let written = self.written.workload.get(workload);
        written.is_some_and(|written| !written.get_ref().sequence.is_empty())
    }

    pub(crate) fn written_workload(
        &self,
        name: Option<&str>,
    ) -> Result<(&str, &Spanned<WorkloadToml>), ConfigError> {
        let mut all = in_order(&self.written.workload);
        let found = match name {
            Some(name) => all.find(|(known, _)| *known == name),
            None => all.next(),
        };
        found.ok_or_else(|| ConfigError::UnknownInContract {
            contract: self.name.clone(),
            kind: "workload",
            name: name.unwrap_or_default().to_owned(),
            allowed: suggest(
                self.written.workload.keys().map(String::as_str),
                name.unwrap_or_default(),
            ),
        })
    }

    /// Whether it comes from a contract file, and not from a sequence of a single load.
    pub(crate) const fn is_file(&self) -> bool {
        !self.name.is_empty()
    }

    /// An error at a position of the contract's file.
    pub(crate) fn invalid(&self, span: std::ops::Range<usize>, message: impl Into<String>) -> ConfigError {
        self.file.invalid(span, message)
    }
}
