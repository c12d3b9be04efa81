//! `json_schema`: a schema that a reply must match, inline or from a file of the contract.

use super::Call;
use crate::ConfigError;
use crate::contract::named_file;
use crate::format::{SpannedValue, TomlValue};
use prony_load::{BodyRule, SchemaDocument, SchemaPart};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The schema files of a contract, each read once.
#[derive(Debug, Clone, Default)]
pub(crate) struct SchemaFiles {
    pub(crate) access: SchemaAccess,
    documents: Arc<Mutex<BTreeMap<String, SchemaDocument>>>,
    /// Whether all schemas can be read and compiled, once that is known.
    pub(crate) verified: Arc<OnceLock<Result<(), ConfigError>>>,
}

/// What happens to a schema while a contract is read. Large ones take seconds to read and compile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum SchemaAccess {
    /// It is not opened: any value is valid.
    Skip,
    /// It is read, and compiled once a reply is judged.
    #[default]
    Read,
    /// It is compiled, to find what is wrong with it.
    Compile,
}

impl SchemaFiles {
    fn document(&self, name: &str, read: impl FnOnce() -> Result<String, String>) -> Result<SchemaDocument, String> {
        let mut known = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(document) = known.get(name) {
            return Ok(document.clone());
        }
        let text = read().map_err(|reason| format!("{name}: {reason}"))?;
        let value = serde_json::from_str(&text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            format!("{name}:{line}:{column}: it is not JSON from here on")
        })?;
        let document = SchemaDocument::new(value);
        known.insert(name.to_owned(), document.clone());
        Ok(document)
    }
}

impl Call<'_> {
    /// `"FILE"`, `"FILE#/POINTER"`, or the schema itself as a table.
    pub(super) fn json_schema(&self, written: &SpannedValue) -> Result<BodyRule, ConfigError> {
        let at = |reason: String| self.invalid(written.span(), format!("`json_schema`: {reason}"));
        let schema = match written.get_ref() {
            _ if self.contract.schemas.access == SchemaAccess::Skip => SchemaPart::whole(true.into()),
            TomlValue::Text(name) => self.schema_of_file(name).map_err(at)?,
            table @ TomlValue::Table(_) => SchemaPart::whole(table.to_json()),
            _ => {
                return Err(at(
                    "give a file of this folder, `\"schema.json\"` or `\"schemas.json#/$defs/Pet\"`, or a table".into(),
                ));
            }
        };
        if self.contract.schemas.access == SchemaAccess::Compile {
            schema.validate().map_err(|error| at(error.to_string()))?;
        }
        Ok(BodyRule::JsonSchema(schema))
    }

    fn schema_of_file(&self, name: &str) -> Result<SchemaPart, String> {
        let (file, pointer) = name.split_once('#').unwrap_or((name, ""));
        let read = || named_file::read(&self.contract.folder, file);
        let document = self.contract.schemas.document(file, read)?;
        if document.value().pointer(pointer).is_none() {
            return Err(format!("{file} has nothing at `{pointer}`"));
        }
        Ok(SchemaPart {
            document,
            pointer: pointer.to_owned(),
        })
    }
}
