//! `json_schema`: a schema that a reply must match, inline or from a file of the contract.

use super::Call;
use crate::ConfigError;
use crate::contract::named_file;
use crate::contract::schema_files::SchemaAccess;
use crate::format::{SpannedValue, TomlValue};
use prony_load::{BodyRule, SchemaPart};

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
