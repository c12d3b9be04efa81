//! Files of known bytes, which the backing service `files` writes: a table of them for placeholders, and rules for bodies.

use crate::ConfigError;
use crate::contract::Contract;
use crate::contract::call::{Context, PlaceholderValues};
use crate::contract::source::RowTable;
use crate::contract::toml::{ContractToml, FilePartToml, FilesToml, TextOrNumber, in_order};
use crate::format::{SourceFile, Spanned};
use prony_load::known_files::{FILES, KnownFile};
use prony_load::{BodyRule, FilePart, Template};
use std::collections::BTreeMap;

/// The backing service that writes them.
const WRITER: &str = "files";
const COLUMNS: [&str; 4] = ["name", "bytes", "type", "modified"];

/// The tables of a contract's `[files]`, of a seed.
pub(crate) fn tables(
    file: &SourceFile,
    written: &ContractToml,
    seed: u64,
) -> Result<BTreeMap<String, RowTable>, ConfigError> {
    let mut tables = BTreeMap::new();
    for (name, keys) in in_order(&written.files) {
        let mut services = written.backing_service.values();
        if !services.any(|service| service.get_ref().uses.get_ref() == WRITER) {
            let message = format!("`files.{name}`: no backing service writes files");
            let help = format!("add `[backing_service.{WRITER}]` with `use = \"{WRITER}\"`");
            return Err(file.invalid_with(keys.span(), message, help));
        }
        let table = table(keys.get_ref(), seed);
        if table.rows.is_empty() {
            return Err(file.invalid(keys.span(), format!("`files.{name}`: there is no such file")));
        }
        tables.insert(name.to_owned(), table);
    }
    Ok(tables)
}

fn table(keys: &FilesToml, seed: u64) -> RowTable {
    let is_chosen = |file: &&KnownFile| {
        keys.text.is_none_or(|text| file.is_text == text)
            && keys.min_bytes.is_none_or(|least| file.bytes as u64 >= least)
    };
    let row = |file: &KnownFile| {
        vec![
            file.name.into(),
            file.bytes.into(),
            file.media_type.into(),
            file.last_modified(seed, 1).into(),
        ]
    };
    RowTable {
        columns: COLUMNS.map(str::to_owned).to_vec(),
        rows: FILES.iter().filter(is_chosen).map(row).collect(),
    }
}

impl Contract {
    /// The names of all tables whose columns placeholders may use.
    pub(crate) fn table_names(&self) -> Vec<&str> {
        let files = self.written.files.keys().map(String::as_str);
        self.rows().iter().map(super::Rows::name).chain(files).collect()
    }

    /// Whether a backing service works while the service is loaded: one that has written files does not.
    pub fn has_busy_backing_services(&self) -> bool {
        let mut services = self.backing_services().iter();
        services.any(|service| service.uses() != WRITER)
    }

    /// Whether it has files of known bytes, which [`Contract::give_files`] must be told the seed of.
    pub fn has_files(&self) -> bool {
        !self.written.files.is_empty()
    }

    /// Expects the files of a seed.
    pub fn give_files(mut self, seed: u64) -> Result<Self, ConfigError> {
        self.files_seed = seed;
        let tables = tables(&self.file, &self.written, seed)?;
        self.tables.extend(tables);
        Ok(self)
    }

    /// The rule of `file_part`.
    pub(crate) fn file_part(
        &self,
        part: &Spanned<FilePartToml>,
        filling: &PlaceholderValues<'_>,
    ) -> Result<BodyRule, ConfigError> {
        let FilePartToml {
            file,
            from,
            to,
            version,
        } = part.get_ref();
        let number = |number: &Option<Spanned<TextOrNumber>>| {
            let number = number.as_ref().map(TextOrNumber::at);
            number.map(|text| filling.fill(&text, Context::Text)).transpose()
        };
        let name = filling.fill(file, Context::Text)?;
        self.verify_file(file, &name)?;
        Ok(BodyRule::FilePart(FilePart {
            seed: self.files_seed,
            version: version.unwrap_or(1),
            file: name,
            from: number(from)?,
            to: number(to)?,
        }))
    }

    fn verify_file(&self, written: &Spanned<String>, name: &Template) -> Result<(), ConfigError> {
        let text = crate::contract::template::constant(name);
        let text = String::from_utf8_lossy(&text);
        if !name.is_constant() || KnownFile::find(&text).is_some() {
            return Ok(());
        }
        let known = FILES.map(|file| file.name);
        let help = crate::format::suggestion::suggest(known, &text);
        let message = format!("there is no file `{text}` of known bytes");
        Err(self.file.invalid_with(written.span(), message, help))
    }
}
