//! A contract: its operations, cases and workloads, validated.

use crate::ContractError;
use crate::error::{File, known};
use crate::schema::Schema;
use crate::written::{WrittenContract, WrittenWorkload};
use prony_load::{Load, Protocol};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Spanned;

/// What a service must do.
#[derive(Debug, Clone)]
pub struct Contract {
    /// The name: that of its folder.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// What it asks of a service, in a sentence or two.
    pub summary: String,
    /// The document that it comes from.
    pub document: Option<String>,
    /// The backend that a service of this contract needs; `None`: it stands alone.
    pub backend: Option<Backend>,
    /// The folder that holds it.
    pub folder: PathBuf,
    pub(crate) file: File,
    pub(crate) written: WrittenContract,
    pub(crate) schema: Option<Schema>,
    pub(crate) data: BTreeMap<String, Value>,
}

/// The backend that a service of a contract relays to: `prony backend`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backend {
    /// Time that it takes to answer; delays of several requests overlap.
    pub delay: Duration,
}

/// One kind of call, as a contract describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationInfo {
    /// The contract's word for it.
    pub name: String,
    /// What it does.
    pub summary: String,
    /// Method and path over HTTP, `GET /person/{id}`.
    pub http: Option<String>,
    /// Method over gRPC, `package.Service/method`.
    pub grpc: Option<String>,
}

/// Seed with which a contract is tried out while it is loaded: any would do.
const TRIED_SEED: u64 = 1;

impl Contract {
    /// Reads `contract.toml` of a folder and everything that it names, and tries every case and workload out.
    pub fn load(folder: &Path) -> Result<Self, ContractError> {
        let file = File::read(&folder.join("contract.toml"))?;
        let written: WrittenContract = file.parse()?;
        let own_name = folder
            .canonicalize()
            .ok()
            .and_then(|path| Some(path.file_name()?.to_owned()));
        if own_name.is_some_and(|name| name != written.name.get_ref().as_str()) {
            let message = format!(
                "`name` is `{}`: it must be the name of the folder",
                written.name.get_ref()
            );
            return Err(file.invalid(written.name.span(), message));
        }
        let schema = match &written.proto {
            None => None,
            Some(proto) => Some(Schema::compile(folder, proto.get_ref()).map_err(|reason| {
                file.invalid(
                    proto.span(),
                    format!("`proto`: {} does not resolve: {reason}", proto.get_ref()),
                )
            })?),
        };
        let contract = Self {
            name: written.name.get_ref().clone(),
            title: written.title.clone(),
            summary: written.summary.clone(),
            document: written.document.clone(),
            backend: written.backend.as_ref().map(|backend| Backend {
                delay: backend.delay.0,
            }),
            folder: folder.to_owned(),
            schema,
            data: data(&file, &written)?,
            file,
            written,
        };
        contract.try_out()?;
        Ok(contract)
    }

    /// Every contract of a folder of contracts, by name.
    pub fn all(folder: &Path) -> Result<Vec<Self>, ContractError> {
        let unreadable = |error: std::io::Error| ContractError::Unreadable {
            path: folder.to_owned(),
            reason: error.to_string(),
        };
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.join("contract.toml").is_file() {
                found.push(Self::load(&path)?);
            }
        }
        found.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(found)
    }

    /// What can be spoken with a service of this contract.
    pub fn protocols(&self) -> Vec<Protocol> {
        let operations = || self.written.operation.values().map(Spanned::get_ref);
        let mut protocols = Vec::new();
        if operations().any(|operation| operation.http.is_some()) {
            protocols.extend([Protocol::Http1, Protocol::Http2]);
        }
        if operations().any(|operation| operation.grpc.is_some()) {
            protocols.push(Protocol::Grpc);
        }
        protocols
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
            })
            .collect()
    }

    /// The workloads in the order of the file, each with its summary. The first is the default.
    pub fn workloads(&self) -> Vec<(String, String)> {
        in_order(&self.written.workload)
            .map(|(name, workload)| (name.to_owned(), workload.get_ref().summary.clone()))
            .collect()
    }

    /// A workload's name and its own load; of the first workload where no name is given.
    pub fn load_of(&self, workload: Option<&str>) -> Result<(String, Load), ContractError> {
        let (name, written) = self.written_workload(workload)?;
        let load = written.get_ref().load.clone();
        let span = load.span();
        Load::try_from(load.into_inner())
            .map(|load| (name.to_owned(), load))
            .map_err(|error| {
                self.file
                    .invalid(span, format!("`load` of workload `{name}`: {error}"))
            })
    }

    pub(crate) fn written_workload(
        &self,
        name: Option<&str>,
    ) -> Result<(&str, &Spanned<WrittenWorkload>), ContractError> {
        let mut all = in_order(&self.written.workload);
        let found = match name {
            Some(name) => all.find(|(known, _)| *known == name),
            None => all.next(),
        };
        found.ok_or_else(|| ContractError::Unknown {
            contract: self.name.clone(),
            kind: "workload",
            name: name.unwrap_or_default().to_owned(),
            allowed: known(self.written.workload.keys().map(String::as_str)),
        })
    }

    /// An error at a place of the contract's file.
    pub(crate) fn invalid(&self, span: std::ops::Range<usize>, message: impl Into<String>) -> ContractError {
        self.file.invalid(span, message)
    }

    /// Builds everything once, so that a contract that was loaded cannot fail later.
    fn try_out(&self) -> Result<(), ContractError> {
        if self.written.workload.is_empty() {
            return Err(self.invalid(0..0, "no `[workload.NAME]`: give at least one"));
        }
        self.verify_calls()?;
        // HTTP/1.1 and HTTP/2 send the same requests.
        for protocol in self
            .protocols()
            .into_iter()
            .filter(|protocol| *protocol != Protocol::Http2)
        {
            self.try_cases(protocol, TRIED_SEED)?;
            for name in self.written.workload.keys() {
                self.workload(name, protocol)?;
            }
        }
        self.written
            .workload
            .keys()
            .try_for_each(|name| self.load_of(Some(name)).map(drop))
    }
}

/// The tables of a kind in the order of the file.
pub(crate) fn in_order<T>(
    tables: &BTreeMap<String, Spanned<T>>,
) -> impl Iterator<Item = (&str, &Spanned<T>)> {
    let mut sorted: Vec<_> = tables
        .iter()
        .map(|(name, table)| (name.as_str(), table))
        .collect();
    sorted.sort_by_key(|(_, table)| table.span().start);
    sorted.into_iter()
}

fn data(file: &File, written: &WrittenContract) -> Result<BTreeMap<String, Value>, ContractError> {
    written
        .data
        .iter()
        .map(|(name, value)| {
            let value = crate::call::as_json(value)
                .map_err(|reason| file.invalid(0..0, format!("`data.{name}`: {reason}")))?;
            Ok((name.clone(), value))
        })
        .collect()
}
