//! Schemas of a description as JSON Schema 2020-12, with the schemas that they reference.

use super::reference::Description;
use crate::import::DraftError;
use crate::import::document::step;
use crate::import::draft::Names;
use crate::import::size::Room;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Keywords with one schema.
const ONE: [&str; 10] = [
    "items",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "additionalProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
];
/// Keywords with a list of schemas.
const SEVERAL: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords with named schemas.
const NAMED: [&str; 5] = [
    "properties",
    "patternProperties",
    "dependentSchemas",
    "$defs",
    "definitions",
];
/// Keywords that do not constrain a value, or that only OpenAPI has.
const LEFT_OUT: [&str; 12] = [
    "nullable",
    "discriminator",
    "xml",
    "externalDocs",
    "example",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "default",
    "exclusiveMinimum",
    "exclusiveMaximum",
];

/// The size of all schemas of a draft, bytes.
const LARGEST: usize = 16 << 20;

fn has_schemas(word: &str) -> bool {
    ONE.contains(&word) || SEVERAL.contains(&word) || NAMED.contains(&word)
}

/// Collects the schemas of replies.
pub(super) struct Schemas<'a> {
    description: &'a Description<'a>,
    done: Map<String, Value>,
    /// The names of schemas by their pointers.
    names: BTreeMap<String, String>,
    used: Names,
    /// Pointers of schemas that have a name and are not converted yet.
    open: Vec<String>,
    /// A file can describe more than it contains: a schema within another is part of both.
    room: Room,
    /// The first schema that has no room.
    cut: Option<String>,
}

impl<'a> Schemas<'a> {
    pub(super) fn new(description: &'a Description<'a>) -> Self {
        Self {
            description,
            done: Map::new(),
            names: BTreeMap::new(),
            used: Names::default(),
            open: Vec::new(),
            room: Room::of(LARGEST),
            cut: None,
        }
    }

    /// The name of the schema at a pointer: that of a component, otherwise derived from the given one.
    pub(super) fn named(
        &mut self,
        schema: &'a Value,
        pointer: &str,
        wished: &str,
    ) -> Result<String, DraftError> {
        if let (Some(Value::String(reference)), true) = (
            schema.get("$ref"),
            schema.as_object().is_some_and(|all| all.len() == 1),
        ) {
            self.description.resolved(schema, pointer)?;
            return self.name_of(reference, pointer);
        }
        if let Some(name) = self.names.get(pointer) {
            return Ok(name.clone());
        }
        let converted = self.converted(schema, pointer)?;
        let name = self.used.unique(wished);
        self.names.insert(pointer.to_owned(), name.clone());
        self.done.insert(name.clone(), converted);
        Ok(name)
    }

    /// All of them, including those that they reference, and what is missing.
    pub(super) fn finish(mut self) -> Result<(Map<String, Value>, Option<String>), DraftError> {
        while let Some(pointer) = self.open.pop() {
            let value = self
                .description
                .document
                .value
                .pointer(&pointer)
                .expect("invariant: it was found when it was named");
            let converted = self.converted(value, &pointer)?;
            let name = self.names[&pointer].clone();
            self.done.insert(name, converted);
        }
        let remark = self.cut.map(|pointer| {
            format!(
                "{}: from here on, schemas of replies are left out, and any value is valid: a draft has at most {} MiB of them",
                self.description.document.place(&pointer),
                LARGEST >> 20
            )
        });
        Ok((self.done, remark))
    }

    fn name_of(&mut self, reference: &str, at: &str) -> Result<String, DraftError> {
        let (_, pointer) = self.description.target(reference, at)?;
        if let Some(name) = self.names.get(&pointer) {
            return Ok(name.clone());
        }
        let plain = |text: &str| -> String {
            text.chars()
                .map(|letter| {
                    let fine = letter.is_ascii_alphanumeric() || "._-".contains(letter);
                    if fine { letter } else { '_' }
                })
                .collect()
        };
        let short = pointer
            .strip_prefix("/components/schemas/")
            .filter(|rest| !rest.contains('/'));
        let name = plain(short.unwrap_or_else(|| pointer.trim_start_matches('/')));
        let name = self.used.unique(&name);
        self.names.insert(pointer.clone(), name.clone());
        self.open.push(pointer);
        Ok(name)
    }

    fn converted(&mut self, schema: &'a Value, pointer: &str) -> Result<Value, DraftError> {
        // Keywords with a schema come back here; what other keywords have is copied.
        let own = match schema {
            Value::Object(members) => members
                .iter()
                .filter(|(word, _)| !LEFT_OUT.contains(&word.as_str()) && !has_schemas(word))
                .all(|(_, value)| self.room.take(value)),
            _ => true,
        };
        if !own || !self.room.take_bytes(64) {
            self.cut.get_or_insert_with(|| pointer.to_owned());
            return Ok(Value::Bool(true));
        }
        let Value::Object(members) = schema else {
            return match schema {
                Value::Bool(_) => Ok(schema.clone()),
                _ => Err(self
                    .description
                    .document
                    .invalid(pointer, "a schema must be an object")),
            };
        };
        if let Some(reference) = members.get("$ref") {
            let Value::String(reference) = reference else {
                return Err(self.description.document.invalid(pointer, "`$ref` is not a text"));
            };
            self.description.resolved(schema, pointer)?;
            let own = json!({ "$ref": format!("#/$defs/{}", self.name_of(reference, pointer)?) });
            // 3.0 ignores everything next to a reference; 3.1 combines both.
            if self.description.is_old || members.len() == 1 {
                return Ok(own);
            }
            let mut rest = members.clone();
            rest.remove("$ref");
            let rest = self.members(&rest, schema, pointer)?;
            return Ok(json!({ "allOf": [own, rest] }));
        }
        self.members(members, schema, pointer)
    }

    fn members(
        &mut self,
        members: &Map<String, Value>,
        schema: &'a Value,
        pointer: &str,
    ) -> Result<Value, DraftError> {
        let mut out = Map::new();
        for (word, value) in members {
            let below = step(pointer, word);
            let original = schema
                .get(word)
                .expect("invariant: the members are the schema's own");
            let converted = match word.as_str() {
                "$ref" => continue,
                word if ONE.contains(&word) => self.converted(original, &below)?,
                word if SEVERAL.contains(&word) => self.list(original, &below)?,
                word if NAMED.contains(&word) => self.by_name(original, &below)?,
                word if LEFT_OUT.contains(&word) || word.starts_with("x-") => continue,
                _ => value.clone(),
            };
            out.insert(word.clone(), converted);
        }
        limits(members, &mut out);
        only_written(members, &mut out);
        Ok(nullable(members, out))
    }

    fn list(&mut self, value: &'a Value, pointer: &str) -> Result<Value, DraftError> {
        let Some(items) = value.as_array() else {
            return Err(self
                .description
                .document
                .invalid(pointer, "give a list of schemas"));
        };
        let mut out = Vec::new();
        for (place, item) in items.iter().enumerate() {
            out.push(self.converted(item, &step(pointer, &place.to_string()))?);
        }
        Ok(Value::Array(out))
    }

    fn by_name(&mut self, value: &'a Value, pointer: &str) -> Result<Value, DraftError> {
        let Some(members) = value.as_object() else {
            return Err(self.description.document.invalid(pointer, "give schemas by name"));
        };
        let mut out = Map::new();
        for (name, member) in members {
            out.insert(name.clone(), self.converted(member, &step(pointer, name))?);
        }
        Ok(Value::Object(out))
    }
}

/// `exclusiveMinimum: true` of 3.0 modifies `minimum`; a number is a limit of its own.
fn limits(members: &Map<String, Value>, out: &mut Map<String, Value>) {
    for (exclusive, limit) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        match members.get(exclusive) {
            Some(Value::Bool(true)) => {
                if let Some(value) = out.remove(limit) {
                    out.insert(exclusive.to_owned(), value);
                }
            }
            Some(number @ Value::Number(_)) => {
                out.insert(exclusive.to_owned(), number.clone());
            }
            _ => {}
        }
    }
}

/// Write-only properties are absent from a reply.
fn only_written(members: &Map<String, Value>, out: &mut Map<String, Value>) {
    let Some(properties) = members.get("properties").and_then(Value::as_object) else {
        return;
    };
    let is_written = |name: &Value| {
        let property = name.as_str().and_then(|name| properties.get(name));
        property.and_then(|property| property.get("writeOnly")) == Some(&Value::Bool(true))
    };
    if let Some(required) = out.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| !is_written(name));
    }
}

/// `nullable: true` of 3.0.
fn nullable(members: &Map<String, Value>, mut out: Map<String, Value>) -> Value {
    if members.get("nullable") != Some(&Value::Bool(true)) {
        return Value::Object(out);
    }
    match out.get("type").cloned() {
        Some(Value::String(kind)) => {
            out.insert("type".to_owned(), json!([kind, "null"]));
            if let Some(values) = out.get_mut("enum").and_then(Value::as_array_mut)
                && !values.contains(&Value::Null)
            {
                values.push(Value::Null);
            }
            Value::Object(out)
        }
        _ => json!({ "anyOf": [out, { "type": "null" }] }),
    }
}
