//! The backing services of a contract, rows of their data, and what is verified there after the load.
//!
//! Nothing here starts or queries them: the runner of the backing services reads `[rows]` from them and passes the result to
//! the contract.

mod equals;

pub use equals::{ReplyCounter, SumTarget};

use crate::ConfigError;
use crate::format::SourceFile;
use crate::format::suggestion::known;
use crate::contract::template::is_place;
use crate::contract::toml::{
    BackingRequirementToml, ContractToml, FinalInvariantToml, LoadInvariantToml, UpperLimitToml,
    VariableToml, in_order,
};
use equals::{Quantity, SumTerm};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use crate::format::Spanned;

/// A backing service that a contract requires: a database, a cache, a slow backend.
#[derive(Debug, Clone, PartialEq)]
pub struct BackingRequirement {
    name: String,
    uses: String,
    seed: Vec<PathBuf>,
    settings: BTreeMap<String, toml::Value>,
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
    pub const fn settings(&self) -> &BTreeMap<String, toml::Value> {
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
    pub(crate) fn read(file: &SourceFile, folder: &Path, written: &ContractToml) -> Result<Self, ConfigError> {
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
            let at = format!("rows.{name}");
            reader.named(&at, name, table.span())?;
            rows.push(Rows {
                name: name.to_owned(),
                backing_service: reader.queried_backing_service(
                    &at,
                    table.get_ref().backing_service.as_ref(),
                    table.span(),
                )?,
                query: reader.query(&at, &table.get_ref().query, table.span())?,
            });
        }
        let mut after = Vec::new();
        for table in &written.after {
            after.push(reader.after(table)?);
        }
        let during = written.during.iter().map(|table| reader.during(table));
        Ok(Self {
            backing_services,
            rows,
            after,
            during: during.collect::<Result<_, _>>()?,
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
        let at = |key: &str, span: Range<usize>, reason: &str| {
            Err(self
                .file
                .invalid(span, format!("`backing.{name}{key}`: {reason}")))
        };
        self.named(&format!("backing.{name}"), name, keys.span())?;
        let uses = match keys.get_ref().get("use") {
            None => {
                return at(
                    "",
                    keys.span(),
                    "no `use`: give the name of a backing service, like `use = \"postgresql\"`",
                );
            }
            Some(uses) => match uses.get_ref() {
                toml::Value::String(text) if !text.is_empty() => text.clone(),
                _ => {
                    return at(
                        ".use",
                        uses.span(),
                        "give the name of a backing service, like \"postgresql\"",
                    );
                }
            },
        };
        let mut seed = Vec::new();
        if let Some(files) = keys.get_ref().get("seed") {
            let wrong = "give a list of files of this folder, like [\"schema.sql\", \"data.sql\"]";
            let toml::Value::Array(list) = files.get_ref() else {
                return at(".seed", files.span(), wrong);
            };
            for value in list {
                let Some(name) = value.as_str() else {
                    return at(".seed", files.span(), wrong);
                };
                let inside = Path::new(name)
                    .components()
                    .all(|part| matches!(part, Component::Normal(_)));
                if !inside {
                    return at(
                        ".seed",
                        files.span(),
                        &format!("{name}: give a file of this folder"),
                    );
                }
                let path = self.folder.join(name);
                if !path.is_file() {
                    return at(
                        ".seed",
                        files.span(),
                        &format!("{name}: no such file in this folder"),
                    );
                }
                seed.push(path);
            }
        }
        let settings = keys
            .get_ref()
            .iter()
            .filter(|(key, _)| !matches!(key.as_str(), "use" | "seed"))
            .map(|(key, value)| (key.clone(), value.get_ref().clone()))
            .collect();
        Ok(BackingRequirement {
            name: name.to_owned(),
            uses,
            seed,
            settings,
        })
    }

    fn after(&self, table: &Spanned<FinalInvariantToml>) -> Result<FinalInvariant, ConfigError> {
        let written = table.get_ref();
        let at = format!("after `{}`", written.name);
        let equals = equals::parse(written.equals.get_ref())
            .and_then(|terms| {
                terms.iter().try_for_each(|term| self.operation(term))?;
                Ok(terms)
            })
            .map_err(|reason| {
                self.file
                    .invalid(written.equals.span(), format!("{at}: `equals`: {reason}"))
            })?;
        Ok(FinalInvariant {
            name: written.name.clone(),
            backing_service: self.queried_backing_service(
                &at,
                written.backing_service.as_ref(),
                table.span(),
            )?,
            query: self.query(&at, &written.query, table.span())?,
            written: written.equals.get_ref().clone(),
            equals,
        })
    }

    fn during(&self, table: &Spanned<LoadInvariantToml>) -> Result<LoadInvariant, ConfigError> {
        let written = table.get_ref();
        let at = format!("during `{}`", written.name);
        let connections = match written.connections.get_ref() {
            UpperLimitToml::Number(0) => {
                let message =
                    format!("{at}: `connections` is 0: no service could connect to its backing service");
                return Err(self.file.invalid(written.connections.span(), message));
            }
            UpperLimitToml::Number(number) => UpperLimit::Number(*number),
            UpperLimitToml::Variable(name) => UpperLimit::Variable(name.clone()),
        };
        Ok(LoadInvariant {
            name: written.name.clone(),
            backing_service: self.queried_backing_service(
                &at,
                written.backing_service.as_ref(),
                table.span(),
            )?,
            connections,
        })
    }

    fn operation(&self, term: &SumTerm) -> Result<(), String> {
        let known_operations = &self.written.operation;
        match &term.of {
            Quantity::Replies { operation, .. } if !known_operations.contains_key(operation) => Err(format!(
                "`{operation}` is not an operation: {}",
                known(known_operations.keys().map(String::as_str))
            )),
            _ => Ok(()),
        }
    }

    fn environment(&self) -> Result<BTreeMap<String, String>, ConfigError> {
        let variables = self.written.environment.iter();
        variables
            .map(|(name, value)| {
                let text = match value.get_ref() {
                    VariableToml::Text(text) => text.clone(),
                    VariableToml::File { file } => {
                        std::fs::read_to_string(self.folder.join(file)).map_err(|error| {
                            let message = format!("`environment.{name}`: {file}: {error}");
                            self.file.invalid(value.span(), message)
                        })?
                    }
                };
                Ok((name.clone(), text))
            })
            .collect()
    }

    /// Names become environment variables and parts of paths.
    fn named(&self, at: &str, name: &str, span: Range<usize>) -> Result<(), ConfigError> {
        if is_place(name) {
            return Ok(());
        }
        let message = format!("`{at}`: a name consists of lowercase letters, digits and `_`");
        Err(self.file.invalid(span, message))
    }

    fn query(&self, at: &str, query: &str, span: Range<usize>) -> Result<String, ConfigError> {
        let query = query.trim();
        if query.is_empty() {
            return Err(self
                .file
                .invalid(span, format!("`{at}`: `query` is empty: give a query")));
        }
        Ok(query.to_owned())
    }

    /// The backing service that is queried. It need not be named if there is only one.
    fn queried_backing_service(
        &self,
        at: &str,
        name: Option<&Spanned<String>>,
        span: Range<usize>,
    ) -> Result<String, ConfigError> {
        let all = &self.written.backing_service;
        let names = || known(all.keys().map(String::as_str));
        match name {
            Some(name) if all.contains_key(name.get_ref()) => Ok(name.get_ref().clone()),
            Some(name) => Err(self.file.invalid(
                name.span(),
                format!("`{at}`: `backing` is `{}`: {}", name.get_ref(), names()),
            )),
            None => match all.keys().collect::<Vec<_>>().as_slice() {
                [only] => Ok((*only).clone()),
                [] => Err(self.file.invalid(
                    span,
                    format!("`{at}`: no `[backing.NAME]` in this contract: add one"),
                )),
                _ => Err(self.file.invalid(
                    span,
                    format!("`{at}`: no `backing`: name the one to query; {}", names()),
                )),
            },
        }
    }
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
