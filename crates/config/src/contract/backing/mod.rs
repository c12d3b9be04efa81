//! The backing services of a contract, rows of their data, and what is verified there after the load.
//!
//! Nothing here starts or queries them: the runner of the backing services reads `[rows]` from them and passes the result to
//! the contract.

mod equals;

pub use equals::{ReplyCounter, SumTarget};

use crate::ConfigError;
use crate::contract::named_file;
use crate::contract::toml::{
    BackingRequirementToml, ContractToml, FileToml, InvariantToml, UpperLimitToml, VariableToml, in_order,
};
use crate::format::SourceFile;
use crate::format::Spanned;
use crate::format::suggestion::{known, suggest};
use crate::format::template::is_place;
use equals::{Quantity, SumTerm};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

/// A backing service that a contract requires: a database, a cache, a slow backend.
#[derive(Debug, Clone, PartialEq)]
pub struct BackingRequirement {
    name: String,
    uses: String,
    seed: Vec<PathBuf>,
    settings: BTreeMap<String, Value>,
}

impl BackingRequirement {
    /// Its name in the contract.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of its folder in `backing-services/`.
    pub fn uses(&self) -> &str {
        &self.uses
    }

    /// Files that create its data, in the order in which they run.
    pub fn seed(&self) -> &[PathBuf] {
        &self.seed
    }

    /// Further keys, which the backing service defines.
    pub const fn settings(&self) -> &BTreeMap<String, Value> {
        &self.settings
    }
}

/// Values of the seeded data that requests and expectations use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    name: String,
    backing_service: String,
    query: String,
}

impl Rows {
    /// The name of the rows in the contract.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the backing service that is queried.
    pub fn backing_service(&self) -> &str {
        &self.backing_service
    }

    /// Each column is read as text; a missing value becomes `null`.
    pub fn query(&self) -> &str {
        &self.query
    }
}

/// A condition that must hold in the backing service after the load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinalInvariant {
    name: String,
    backing_service: String,
    query: String,
    written: String,
    equals: Vec<SumTerm>,
}

impl FinalInvariant {
    /// A description of the condition.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the backing service that is queried.
    pub fn backing_service(&self) -> &str {
        &self.backing_service
    }

    /// The query: it returns one row with one whole number.
    pub fn query(&self) -> &str {
        &self.query
    }

    /// The sum that the number must equal, as written.
    pub fn equals(&self) -> &str {
        &self.written
    }

    /// The expected number; `before` is the result of the same query before the load.
    pub fn expected(&self, before: i64, counts: &dyn ReplyCounter) -> SumTarget {
        equals::expected(&self.equals, before, counts)
    }
}

/// Everything that a contract says about backing services, verified.
#[derive(Debug, Clone, Default)]
pub(crate) struct BackingSpec {
    pub(crate) backing_services: Vec<BackingRequirement>,
    pub(crate) rows: Vec<Rows>,
    pub(crate) after: Vec<FinalInvariant>,
    pub(crate) during: Vec<LoadInvariant>,
    pub(crate) environment: BTreeMap<String, String>,
}

impl BackingSpec {
    pub(crate) fn read(
        file: &SourceFile,
        folder: &Path,
        written: &ContractToml,
    ) -> Result<Self, ConfigError> {
        let reader = Reader {
            file,
            folder,
            written,
        };
        let mut backing_services = Vec::new();
        for (name, keys) in in_order(&written.backing_service) {
            backing_services.push(reader.backing_service(name, keys)?);
        }
        let mut rows = Vec::new();
        for (name, table) in in_order(&written.rows) {
            let at = format!("`rows.{name}`");
            reader.named(name, table.span())?;
            rows.push(Rows {
                name: name.to_owned(),
                backing_service: reader.queried(
                    &at,
                    table.get_ref().backing_service.as_ref(),
                    table.span(),
                )?,
                query: reader.query(&table.get_ref().query, table.span())?,
            });
        }
        let (mut after, mut during) = (Vec::new(), Vec::new());
        for table in &written.invariant {
            match reader.invariant(table)? {
                Invariant::Final(invariant) => after.push(invariant),
                Invariant::Load(invariant) => during.push(invariant),
            }
        }
        Ok(Self {
            backing_services,
            rows,
            after,
            during,
            environment: reader.environment()?,
        })
    }
}

struct Reader<'a> {
    file: &'a SourceFile,
    folder: &'a Path,
    written: &'a ContractToml,
}

impl Reader<'_> {
    fn backing_service(
        &self,
        name: &str,
        keys: &Spanned<BackingRequirementToml>,
    ) -> Result<BackingRequirement, ConfigError> {
        self.named(name, keys.span())?;
        let BackingRequirementToml { uses, seed, settings } = keys.get_ref();
        let mut files = Vec::new();
        for file in seed {
            let name = file.get_ref();
            let is_inside = Path::new(name)
                .components()
                .all(|part| matches!(part, Component::Normal(_)));
            let path = self.folder.join(name);
            if !is_inside || named_file::find(self.folder, name).is_err() {
                let message = format!("`seed` has \"{name}\"");
                let help = "give a file of the contract's folder";
                return Err(self.file.invalid_with(file.span(), message, help));
            }
            files.push(path);
        }
        Ok(BackingRequirement {
            name: name.to_owned(),
            uses: uses.get_ref().clone(),
            seed: files,
            settings: settings
                .iter()
                .map(|(key, value)| (key.clone(), value.get_ref().to_json()))
                .collect(),
        })
    }

    fn invariant(&self, table: &Spanned<InvariantToml>) -> Result<Invariant, ConfigError> {
        let written = table.get_ref();
        let at = format!("invariant \"{}\"", written.name);
        let backing_service = self.queried(&at, written.backing_service.as_ref(), table.span())?;
        match (&written.query, &written.equals, &written.max_connections) {
            (Some(query), Some(equals), None) => Ok(Invariant::Final(FinalInvariant {
                name: written.name.clone(),
                backing_service,
                query: self.query(query.get_ref(), query.span())?,
                written: equals.get_ref().clone(),
                equals: self.sum(equals)?,
            })),
            (None, None, Some(limit)) => Ok(Invariant::Load(LoadInvariant {
                name: written.name.clone(),
                backing_service,
                connections: match limit.get_ref() {
                    UpperLimitToml::Number(number) => UpperLimit::Number(*number),
                    UpperLimitToml::Variable(name) => UpperLimit::Variable(name.clone()),
                },
            })),
            _ => {
                let message = format!("{at} is incomplete");
                let help = "give `query` and `equals`, for after the load, or `max_connections`, for during the load";
                Err(self.file.invalid_with(table.span(), message, help))
            }
        }
    }

    fn sum(&self, equals: &Spanned<String>) -> Result<Vec<SumTerm>, ConfigError> {
        let terms = equals::parse(equals.get_ref()).and_then(|terms| {
            terms.iter().try_for_each(|term| self.operation(term))?;
            Ok(terms)
        });
        terms.map_err(|reason| {
            let (message, help) = reason.split_once(": ").unwrap_or((&reason, ""));
            self.file
                .invalid_with(equals.span(), format!("`equals`: {message}"), help)
        })
    }

    fn operation(&self, term: &SumTerm) -> Result<(), String> {
        let known_operations = &self.written.operation;
        match &term.of {
            Quantity::Replies { operation, .. } if !known_operations.contains_key(operation) => Err(format!(
                "there is no operation `{operation}`: {}",
                suggest(known_operations.keys().map(String::as_str), operation)
            )),
            _ => Ok(()),
        }
    }

    fn environment(&self) -> Result<BTreeMap<String, String>, ConfigError> {
        let variables = self.written.env.iter();
        variables
            .map(|(name, value)| {
                let text = match value.get_ref() {
                    VariableToml::Text(text) => text.clone(),
                    VariableToml::File(FileToml { file }) => {
                        named_file::read(self.folder, file).map_err(|reason| {
                            let message = format!("`env.{name}` is \"{file}\": {reason}");
                            self.file.invalid(value.span(), message)
                        })?
                    }
                };
                Ok((name.clone(), text))
            })
            .collect()
    }

    /// Names become environment variables and parts of paths.
    fn named(&self, name: &str, span: Range<usize>) -> Result<(), ConfigError> {
        if is_place(name) {
            return Ok(());
        }
        let message = format!("`{name}` is not a name: use lower-case letters, digits and `_`");
        Err(self.file.invalid(span, message))
    }

    fn query(&self, query: &str, span: Range<usize>) -> Result<String, ConfigError> {
        let query = query.trim();
        if query.is_empty() {
            return Err(self.file.invalid(span, "`query` is empty"));
        }
        Ok(query.to_owned())
    }

    /// The backing service that is queried. It need not be named if there is only one.
    fn queried(
        &self,
        at: &str,
        name: Option<&Spanned<String>>,
        span: Range<usize>,
    ) -> Result<String, ConfigError> {
        let all = &self.written.backing_service;
        match name {
            Some(name) if all.contains_key(name.get_ref()) => Ok(name.get_ref().clone()),
            Some(name) => {
                let message = format!("there is no backing service `{}`", name.get_ref());
                let help = suggest(all.keys().map(String::as_str), name.get_ref());
                Err(self.file.invalid_with(name.span(), message, help))
            }
            None => match all.keys().collect::<Vec<_>>().as_slice() {
                [only] => Ok((*only).clone()),
                [] => {
                    let message = format!("{at} queries a backing service, and the contract has none");
                    let help = "add `[backing_service.NAME]`";
                    Err(self.file.invalid_with(span, message, help))
                }
                _ => {
                    let message = format!("{at} does not say which backing service to query");
                    let names = known(all.keys().map(String::as_str));
                    let help = format!("add `backing_service = …`: {names}");
                    Err(self.file.invalid_with(span, message, help))
                }
            },
        }
    }
}

/// A condition, by when it must hold.
enum Invariant {
    Final(FinalInvariant),
    Load(LoadInvariant),
}

/// A condition that must hold in the backing service during a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadInvariant {
    name: String,
    backing_service: String,
    connections: UpperLimit,
}

/// The highest allowed number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpperLimit {
    Number(u64),
    /// The value of this variable, which the backing service exports to the service.
    Variable(String),
}

impl LoadInvariant {
    /// A description of the condition.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the monitored backing service.
    pub fn backing_service(&self) -> &str {
        &self.backing_service
    }

    /// The limit of connections that the service may have open at the same time.
    pub const fn connections(&self) -> &UpperLimit {
        &self.connections
    }
}

impl fmt::Display for UpperLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(formatter),
            Self::Variable(name) => name.fmt(formatter),
        }
    }
}
