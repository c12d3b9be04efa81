//! `json_schema`: a schema that a reply must match, inline or from a file of the contract.

use super::Call;
use crate::ConfigError;
use crate::contract::named_file;
use crate::format::{SpannedValue, TomlValue};
use prony_load::{BodyRule, Expectation};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Removes the definitions that the schema at `pointer` does not reference: every operation passes its own to the generator.
fn only_reached(file: &mut Value, pointer: &str) {
    const DEFINITIONS: &str = "/$defs/";
    if !pointer.starts_with(DEFINITIONS) {
        return;
    }
    let mut reached = BTreeSet::new();
    let mut open = vec![format!("#{pointer}")];
    while let Some(reference) = open.pop() {
        let Some(rest) = reference
            .strip_prefix('#')
            .and_then(|path| path.strip_prefix(DEFINITIONS))
        else {
            continue;
        };
        let name = rest.split('/').next().unwrap_or_default().to_owned();
        if let Some(schema) = file.pointer(&format!("{DEFINITIONS}{name}"))
            && reached.insert(name.replace("~1", "/").replace("~0", "~"))
        {
            references(schema, &mut open);
        }
    }
    if let Some(definitions) = file.get_mut("$defs").and_then(Value::as_object_mut) {
        definitions.retain(|name, _| reached.contains(name));
    }
}

fn references(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get("$ref") {
                into.push(reference.clone());
            }
            members.values().for_each(|member| references(member, into));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, into)),
        _ => {}
    }
}

/// The identifier of a schema file that does not set `$id`.
const FILE: &str = "prony:///json_schema";

impl Call<'_> {
    /// `"FILE"`, `"FILE#/POINTER"`, or the schema itself as a table.
    pub(super) fn json_schema(&self, written: &SpannedValue) -> Result<BodyRule, ConfigError> {
        let at = |reason: String| self.invalid(written.span(), format!("`json_schema`: {reason}"));
        let schema = match written.get_ref() {
            TomlValue::Text(name) => self.schema_of_file(name).map_err(at)?,
            table @ TomlValue::Table(_) => table.to_json(),
            _ => {
                return Err(at(
                    "give a file of this folder, `\"schema.json\"` or `\"schemas.json#/$defs/Pet\"`, or a table".into(),
                ));
            }
        };
        let rule = BodyRule::JsonSchema(schema);
        let alone = Expectation {
            body: vec![rule.clone()],
            ..Expectation::default()
        };
        alone.compile().map_err(|error| at(error.to_string()))?;
        Ok(rule)
    }

    fn schema_of_file(&self, name: &str) -> Result<Value, String> {
        let (file, pointer) = name.split_once('#').unwrap_or((name, ""));
        let text =
            named_file::read(&self.contract.folder, file).map_err(|reason| format!("{file}: {reason}"))?;
        let mut schema: Value = serde_json::from_str(&text).map_err(|error| {
            format!(
                "{file}:{}:{}: it is not JSON from here on",
                error.line(),
                error.column()
            )
        })?;
        if pointer.is_empty() {
            return Ok(schema);
        }
        if schema.pointer(pointer).is_none() {
            return Err(format!("{file} has nothing at `{pointer}`"));
        }
        only_reached(&mut schema, pointer);
        // The whole file is included under a separate name, so that references within it still resolve.
        let members = schema
            .as_object_mut()
            .ok_or_else(|| format!("{file}: a schema must be an object"))?;
        let id = members.entry("$id").or_insert_with(|| FILE.into());
        let reference = format!("{}#{pointer}", id.as_str().unwrap_or(FILE));
        Ok(json!({ "$ref": reference, "$defs": { "file": schema } }))
    }
}
