//! Schemas of a description as JSON Schema 2020-12, with the schemas that they reference.

use super::reference::{Description, REFERENCES, reference_of};
use crate::import::DraftError;
use crate::import::document::step;
use crate::import::draft::Names;
use crate::import::size::Room;
use prony_load::validate_schema;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

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
const LEFT_OUT: [&str; 20] = [
    // References are rewritten, so that these names have no use.
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "$schema",
    "$comment",
    "title",
    "description",
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

/// Collects the schemas of replies. What is wrong in a schema is left out with a remark, so that it allows more than it should: one mistake
/// must not cost the description.
pub(super) struct Schemas<'a> {
    description: &'a Description<'a>,
    done: Map<String, Value>,
    /// The pointers of finished schemas by their names.
    pointers: BTreeMap<String, String>,
    /// The names of schemas by their pointers.
    names: BTreeMap<String, String>,
    used: Names,
    /// Pointers of schemas that have a name and are not converted yet.
    open: Vec<String>,
    /// A file can describe more than it contains: a schema within another is part of both.
    room: Room,
    /// The first schema that has no room.
    cut: Option<String>,
    remarks: Vec<String>,
    /// The names of schemas of which something was left out.
    reduced: BTreeSet<String>,
    /// The schema that is being converted.
    current: String,
}

/// The schemas of a draft.
pub(super) struct ConvertedSchemas {
    /// By name: `$defs` of a document.
    pub(super) definitions: Map<String, Value>,
    /// What was left out.
    pub(super) remarks: Vec<String>,
    /// The names of schemas of which something was left out, in themselves or in others that they use.
    pub(super) reduced: BTreeSet<String>,
}

impl<'a> Schemas<'a> {
    pub(super) fn new(description: &'a Description<'a>) -> Self {
        Self {
            description,
            done: Map::new(),
            pointers: BTreeMap::new(),
            names: BTreeMap::new(),
            used: Names::default(),
            open: Vec::new(),
            room: Room::of(LARGEST),
            cut: None,
            remarks: Vec::new(),
            reduced: BTreeSet::new(),
            current: String::new(),
        }
    }

    /// The name of the schema at a pointer: that of a component, otherwise derived from the given one.
    pub(super) fn named(&mut self, schema: &'a Value, pointer: &str, base: &str) -> String {
        let is_alone = schema.as_object().is_some_and(|all| all.len() == 1);
        if let Some(reference) = reference_of(schema).filter(|_| is_alone)
            && let Ok((_, target)) = self.description.target(reference, pointer)
            && self.description.resolved(schema, pointer).is_ok()
        {
            return self.name_of(target);
        }
        if let Some(name) = self.names.get(pointer) {
            return name.clone();
        }
        let name = self.used.unique(base);
        self.names.insert(pointer.to_owned(), name.clone());
        self.convert(name.clone(), schema, pointer);
        name
    }

    fn convert(&mut self, name: String, schema: &'a Value, pointer: &str) {
        self.current.clone_from(&name);
        let converted = self.converted(schema, pointer);
        self.pointers.insert(name.clone(), pointer.to_owned());
        self.done.insert(name, converted);
    }

    /// All of them, including those that they reference.
    pub(super) fn finish(mut self) -> ConvertedSchemas {
        while let Some(pointer) = self.open.pop() {
            let value = self.description.document.value.pointer(&pointer);
            let value = value.expect("invariant: it was found when it was named");
            let name = self.names[&pointer].clone();
            self.convert(name, value, &pointer);
        }
        let mut definitions = std::mem::take(&mut self.done);
        for (name, schema) in &mut definitions {
            let pointer = self.pointers[name].clone();
            self.current.clone_from(name);
            while let Some((at, why)) = fault(schema) {
                let word = at.rsplit('/').next().unwrap_or_default().to_owned();
                self.leave_out(
                    &format!("{pointer}{at}"),
                    &format!("`{word}` of a schema is left out: {why}"),
                );
                if !remove(schema, &at) {
                    *schema = Value::Bool(true);
                }
            }
        }
        if let Some(pointer) = &self.cut {
            self.remarks.push(format!(
                "{}: from here on, schemas of replies are left out, and any value is valid: a draft has at most {} MiB of them",
                self.description.place(pointer),
                LARGEST >> 20
            ));
        }
        ConvertedSchemas {
            reduced: with_users(self.reduced, &definitions),
            definitions,
            remarks: self.remarks,
        }
    }

    /// Remembers that something is missing in the current schema.
    fn leave_out(&mut self, pointer: &str, why: &str) {
        self.reduced.insert(self.current.clone());
        self.remarks
            .push(format!("{}: {why}", self.description.place(pointer)));
    }

    /// Any value, in place of a schema that is wrong.
    fn any(&mut self, error: &DraftError) -> Value {
        self.reduced.insert(self.current.clone());
        self.remarks.push(format!("{error}; any value is valid there"));
        Value::Bool(true)
    }

    fn name_of(&mut self, pointer: String) -> String {
        if let Some(name) = self.names.get(&pointer) {
            return name.clone();
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
            .filter(|rest| !rest.contains('/'))
            .map(str::to_owned)
            .or_else(|| self.description.files.name(&pointer));
        let name = plain(&short.unwrap_or_else(|| pointer.trim_start_matches('/').to_owned()));
        let name = self.used.unique(&name);
        self.names.insert(pointer.clone(), name.clone());
        self.open.push(pointer);
        name
    }

    fn converted(&mut self, schema: &'a Value, pointer: &str) -> Value {
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
            self.reduced.insert(self.current.clone());
            return Value::Bool(true);
        }
        let Value::Object(members) = schema else {
            if schema.is_boolean() {
                return schema.clone();
            }
            let error = self.description.invalid(pointer, "a schema must be an object");
            return self.any(&error);
        };
        let Some(word) = REFERENCES.into_iter().find(|word| members.contains_key(*word)) else {
            return self.members(members, pointer);
        };
        let target = match &members[word] {
            Value::String(reference) => self
                .description
                .target((word, reference), pointer)
                .and_then(|(_, target)| self.description.resolved(schema, pointer).map(|_| target)),
            _ => Err(self
                .description
                .invalid(pointer, format!("`{word}` is not a text"))),
        };
        let own = match target {
            Ok(target) => json!({ "$ref": format!("#/$defs/{}", self.name_of(target)) }),
            Err(error) => return self.any(&error),
        };
        // 3.0 ignores everything next to a reference; later versions combine both.
        if self.description.is_old || members.len() == 1 {
            return own;
        }
        let rest = self.members(members, pointer);
        if rest == json!({}) {
            own
        } else {
            json!({ "allOf": [own, rest] })
        }
    }

    fn members(&mut self, members: &'a Map<String, Value>, pointer: &str) -> Value {
        let mut out = Map::new();
        for (word, value) in members {
            let below = step(pointer, word);
            let converted = match word.as_str() {
                word if REFERENCES.contains(&word) => continue,
                word if ONE.contains(&word) => self.converted(value, &below),
                word if SEVERAL.contains(&word) => self.list(value, &below),
                word if NAMED.contains(&word) => self.by_name(value, &below),
                word if LEFT_OUT.contains(&word) || word.starts_with("x-") => continue,
                // A name that is listed twice has the same meaning.
                "required" | "enum" | "type" => without_repetitions(value),
                _ => value.clone(),
            };
            out.insert(word.clone(), converted);
        }
        limits(members, &mut out);
        only_written(members, &mut out);
        nullable(members, out)
    }

    fn list(&mut self, value: &'a Value, pointer: &str) -> Value {
        let Some(items) = value.as_array() else {
            // It is left out when the schema is tried out.
            return value.clone();
        };
        let items = items.iter().enumerate();
        items
            .map(|(place, item)| self.converted(item, &step(pointer, &place.to_string())))
            .collect()
    }

    fn by_name(&mut self, value: &'a Value, pointer: &str) -> Value {
        let Some(members) = value.as_object() else {
            return value.clone();
        };
        let members = members.iter();
        let members =
            members.map(|(name, member)| (name.clone(), self.converted(member, &step(pointer, name))));
        Value::Object(members.collect())
    }
}

/// A list without values that it already has; any other value as it is.
fn without_repetitions(value: &Value) -> Value {
    let Value::Array(items) = value else {
        return value.clone();
    };
    let mut known = BTreeSet::new();
    items
        .iter()
        .filter(|item| known.insert(item.to_string()))
        .cloned()
        .collect()
}

/// What is wrong with a schema by itself, and where.
fn fault(schema: &Value) -> Option<(String, String)> {
    let mut alone = schema.clone();
    without_references(&mut alone);
    let error = validate_schema(&alone).err()?;
    // An error about a regular expression does not say where it is.
    let at = error.at.is_empty().then(|| invalid_pattern(&alone, "")).flatten();
    Some((at.unwrap_or(error.at), error.reason))
}

/// Where a regular expression cannot be read.
fn invalid_pattern(schema: &Value, pointer: &str) -> Option<String> {
    let is_invalid = |pattern: &str| validate_schema(&json!({ "pattern": pattern })).is_err();
    match schema {
        Value::Object(members) => members.iter().find_map(|(word, value)| {
            let below = step(pointer, word);
            match value {
                Value::String(pattern) if word == "pattern" && is_invalid(pattern) => Some(below),
                Value::Object(named) if word == "patternProperties" => {
                    let found = named.keys().find(|pattern| is_invalid(pattern));
                    found
                        .map(|pattern| step(&below, pattern))
                        .or_else(|| invalid_pattern(value, &below))
                }
                _ => invalid_pattern(value, &below),
            }
        }),
        Value::Array(items) => {
            let mut items = items.iter().enumerate();
            items.find_map(|(place, item)| invalid_pattern(item, &step(pointer, &place.to_string())))
        }
        _ => None,
    }
}

/// References lead to schemas that are tried out by themselves.
fn without_references(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members.get("$ref").is_some_and(Value::is_string) {
                members.remove("$ref");
            }
            members.values_mut().for_each(without_references);
        }
        Value::Array(items) => items.iter_mut().for_each(without_references),
        _ => {}
    }
}

/// Removes the value at a pointer, or the closest existing one above it.
fn remove(schema: &mut Value, pointer: &str) -> bool {
    let mut pointer = pointer;
    while schema.pointer(pointer).is_none() {
        let Some((above, _)) = pointer.rsplit_once('/') else {
            return false;
        };
        pointer = above;
    }
    let Some((above, key)) = pointer.rsplit_once('/') else {
        return false;
    };
    match schema.pointer_mut(above) {
        Some(Value::Object(members)) => members
            .remove(&key.replace("~1", "/").replace("~0", "~"))
            .is_some(),
        Some(Value::Array(items)) => match key.parse::<usize>() {
            // The others keep their numbers.
            Ok(number) if items[number] != Value::Bool(true) => {
                items[number] = Value::Bool(true);
                true
            }
            _ => remove(schema, above),
        },
        _ => false,
    }
}

/// These schemas, and all that use one of them.
fn with_users(mut reduced: BTreeSet<String>, definitions: &Map<String, Value>) -> BTreeSet<String> {
    let mut users: BTreeMap<String, Vec<&String>> = BTreeMap::new();
    for (name, schema) in definitions {
        used(schema, &mut |target| {
            users.entry(target.to_owned()).or_default().push(name);
        });
    }
    let mut open: Vec<String> = reduced.iter().cloned().collect();
    while let Some(name) = open.pop() {
        for user in users.get(&name).into_iter().flatten() {
            if reduced.insert((*user).clone()) {
                open.push((*user).clone());
            }
        }
    }
    reduced
}

fn used<'v>(schema: &'v Value, found: &mut impl FnMut(&'v str)) {
    match schema {
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            if let Some(name) = reference.and_then(|reference| reference.strip_prefix("#/$defs/")) {
                found(name);
            }
            members.values().for_each(|below| used(below, found));
        }
        Value::Array(items) => items.iter().for_each(|below| used(below, found)),
        _ => {}
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
