//! Reads a contract's files, and tries out everything in them.

use crate::ConfigError;
use crate::contract::Contract;
use crate::contract::backing::BackingSpec;
use crate::contract::jwt;
use crate::contract::known_files;
use crate::contract::proto::Schema;
use crate::contract::schema_files::{SchemaAccess, SchemaFiles};
use crate::contract::source::RowTable;
use crate::contract::toml::ContractToml;
use crate::format::{Faults, FileKind, SourceFile};
use prony_load::Protocol;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// The seed with which a contract is tried out; any value works.
const TRIED_SEED: u64 = 1;

impl Contract {
    /// Reads `contract.toml` of a folder and all files that it names, compiles its JSON Schemas, and tries out every case and workload.
    pub fn load(folder: &Path) -> Result<Self, ConfigError> {
        Self::of(folder, SourceFile::read(&folder.join("contract.toml"))?)
    }

    /// The same, from the text of its `contract.toml`.
    pub(crate) fn of(folder: &Path, file: SourceFile) -> Result<Self, ConfigError> {
        Self::tried_out(folder, file, SchemaAccess::Compile)
    }

    /// The same without opening JSON Schemas, which are read when they are used.
    pub(crate) fn load_without_schemas(folder: &Path) -> Result<Self, ConfigError> {
        let file = SourceFile::read(&folder.join("contract.toml"))?;
        Self::tried_out(folder, file, SchemaAccess::Skip)
    }

    fn tried_out(folder: &Path, file: SourceFile, access: SchemaAccess) -> Result<Self, ConfigError> {
        let mut contract = Self::read(folder, file)?;
        contract.schemas.access = access;
        contract.try_out()?;
        contract.schemas.access = SchemaAccess::Read;
        if access == SchemaAccess::Compile {
            contract.schemas.verified = Arc::new(Ok(()).into());
        }
        Ok(contract)
    }

    /// Fails if a JSON Schema cannot be read or compiled. The result is kept.
    pub(crate) fn verify_schemas(&self) -> Result<(), ConfigError> {
        let verify = || {
            let mut contract = self.clone();
            contract.schemas.access = SchemaAccess::Compile;
            contract.try_out()
        };
        self.schemas.verified.get_or_init(verify).clone()
    }

    /// Reads a contract that is shipped with prony. Tests try it out, so that users need not wait for that with each command.
    pub(crate) fn load_shipped(folder: &Path) -> Result<Self, ConfigError> {
        let mut contract = Self::read(folder, SourceFile::read(&folder.join("contract.toml"))?)?;
        contract.schemas.verified = Arc::new(Ok(()).into());
        Ok(contract)
    }

    fn read(folder: &Path, file: SourceFile) -> Result<Self, ConfigError> {
        let written: ContractToml = file.parse(FileKind::Contract)?;
        let folder_name = folder
            .canonicalize()
            .ok()
            .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        if let (Some(name), Some(of_folder)) = (&written.name, &folder_name)
            && name.get_ref() != of_folder
        {
            let message = format!(
                "`name` is \"{}\", but the folder is `{of_folder}`",
                name.get_ref()
            );
            return Err(file.invalid_with(name.span(), message, "remove it: the name is that of the folder"));
        }
        let name = written.name.as_ref().map(|name| name.get_ref().clone());
        let name = name.or(folder_name).unwrap_or_default();
        let schema = match &written.proto {
            None => None,
            Some(proto) => Some(Schema::compile(folder, proto.get_ref()).map_err(|reason| {
                file.invalid(
                    proto.span(),
                    format!("`proto` is \"{}\": {reason}", proto.get_ref()),
                )
            })?),
        };
        Ok(Self {
            title: written.title.clone().unwrap_or_else(|| name.clone()),
            name,
            summary: written.summary.clone().unwrap_or_default(),
            study: written.study.clone(),
            folder: folder.to_owned(),
            schema,
            tokens: jwt::mint(&file, folder, &written.jwt)?,
            beside: BackingSpec::read(&file, folder, &written)?,
            tables: known_files::tables(&file, &written, 0)?,
            schemas: SchemaFiles::default(),
            files_seed: 0,
            file,
            written,
        })
    }

    /// Adds the rows that were read from the backing services, by the names of [`Contract::rows`]. Everything is tried out
    /// with them, so that a contract with rows cannot fail later either.
    pub fn give_rows(mut self, tables: BTreeMap<String, RowTable>) -> Result<Self, ConfigError> {
        for rows in self.rows() {
            let at = |reason: &str| {
                let span = self.written.rows[rows.name()].span();
                Err(self.invalid(span, format!("`rows.{}`: {reason}", rows.name())))
            };
            let Some(table) = tables.get(rows.name()) else {
                return at("no rows were read for it");
            };
            if table.rows.is_empty() {
                return at("the query returned no row");
            }
            if table.rows.iter().any(|row| row.len() != table.columns.len()) {
                return at("a row has more or fewer values than there are columns");
            }
        }
        self.tables.extend(tables);
        self.try_out()?;
        Ok(self)
    }

    /// Every contract of a folder of contracts, by name.
    pub fn all(folder: &Path) -> Result<Vec<Self>, ConfigError> {
        let unreadable = |error: std::io::Error| ConfigError::Unreadable {
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

    /// Builds everything once, so that a loaded contract cannot fail later.
    fn try_out(&self) -> Result<(), ConfigError> {
        let mut faults = Faults::default();
        faults.keep(self.delay());
        if self.written.workload.is_empty() {
            faults.keep::<()>(Err(self.file.invalid_with(
                0..0,
                "the contract has no workload",
                "add `[workload.NAME]`",
            )));
        }
        self.verify_calls(&mut faults);
        for (name, workload) in &self.written.workload {
            faults.keep(self.load_of(Some(name)));
            self.verify_steps(workload.get_ref(), &mut faults);
        }
        if faults.is_empty() {
            self.build_all(&mut faults);
        }
        faults.or(())
    }

    fn build_all(&self, faults: &mut Faults) {
        // HTTP/1.1 and HTTP/2 send the same requests.
        for protocol in self
            .protocols()
            .into_iter()
            .filter(|protocol| *protocol != Protocol::Http2)
        {
            faults.keep(self.try_cases(protocol, TRIED_SEED));
            for name in self.written.workload.keys() {
                faults.keep(self.workload(name, protocol));
            }
        }
    }
}
