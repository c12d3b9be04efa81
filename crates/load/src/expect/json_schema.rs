//! Rules that a JSON Schema sets. A schema is a part of a document. The rules of many operations share a document: it is kept, sent to
//! generators and compiled once, not once for each of them.

use super::header::hex;
use super::json::parsed;
use super::{ExpectationError, Memory, Mismatch, excerpt};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use prony_schema::{Schema, SchemaError};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The parts of a document that are compiled together: the members of this object.
const DEFINITIONS: &str = "/$defs/";
/// The identifier of a document that has no `$id`.
const IDENTIFIER: &str = "prony:///json_schema";
/// What a fragment of a URI must not contain (RFC 3986, section 3.5).
const FRAGMENT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'`')
    .add(b'#')
    .add(b'%')
    .add(b'{')
    .add(b'}')
    .add(b'|')
    .add(b'^')
    .add(b'[')
    .add(b']')
    .add(b'\\');
/// Largest number of documents kept.
const MOST: usize = 64;
/// The documents of this process: the check builds a new expectation for each request, and compiling schemas is the most expensive part of
/// that.
static KNOWN: Mutex<Vec<SchemaDocument>> = Mutex::new(Vec::new());

/// A JSON Schema: the part of a document at a JSON pointer, empty for all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SchemaPart {
    /// The document.
    pub document: SchemaDocument,
    /// JSON pointer (RFC 6901) to the schema.
    pub pointer: String,
}

/// A JSON document with schemas. Clones share it, and everything that was compiled of it. Serialized, it is its digest alone: a
/// [`crate::Workload`] has the documents of all its operations.
#[derive(Clone)]
pub struct SchemaDocument(Arc<Content>);

struct Content {
    /// SHA-256 of the text, in hexadecimal digits.
    digest: String,
    value: Value,
    /// All members of `$defs`.
    definitions: OnceLock<Result<Arc<Schema>, String>>,
    /// Other parts, by their pointers.
    others: Mutex<BTreeMap<String, Arc<Schema>>>,
}

impl PartialEq for SchemaDocument {
    fn eq(&self, other: &Self) -> bool {
        self.0.digest == other.0.digest
    }
}

impl Eq for SchemaDocument {}

impl fmt::Debug for SchemaDocument {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SchemaDocument({})", self.0.digest)
    }
}

impl Serialize for SchemaDocument {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.digest.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SchemaDocument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::with(String::deserialize(deserializer)?, Value::Null))
    }
}

impl SchemaDocument {
    /// A document with this content.
    pub fn new(value: Value) -> Self {
        let digest = hex(&Sha256::digest(value.to_string()).into());
        let digest = String::from_utf8_lossy(&digest).into_owned();
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(same) = known.iter().find(|one| one.0.digest == digest) {
            return same.clone();
        }
        let new = Self::with(digest, value);
        if known.len() == MOST {
            known.clear();
        }
        known.push(new.clone());
        new
    }

    fn with(digest: String, value: Value) -> Self {
        Self(Arc::new(Content {
            digest,
            value,
            definitions: OnceLock::new(),
            others: Mutex::default(),
        }))
    }

    /// Its content.
    pub fn value(&self) -> &Value {
        &self.0.value
    }

    /// Its digest, by which parts name it.
    pub(crate) fn digest(&self) -> &str {
        &self.0.digest
    }

    /// Compiles all members of `$defs`: each is the schema of the property of that name.
    fn definitions(&self) -> Result<Arc<Schema>, String> {
        let compiled = self.0.definitions.get_or_init(|| {
            let names = self.0.value.get("$defs").and_then(Value::as_object);
            let properties = names.into_iter().flatten().map(|(name, _)| {
                let token = name.replace('~', "~0").replace('/', "~1");
                (
                    name.clone(),
                    json!({ "$ref": self.reference(&format!("{DEFINITIONS}{token}")) }),
                )
            });
            self.compiled(
                ("properties", properties.collect::<Map<_, _>>().into()),
                self.0.value.clone(),
            )
        });
        compiled.clone()
    }

    /// Compiles the part at a pointer on its own.
    fn alone(&self, pointer: &str) -> Result<Arc<Schema>, String> {
        let mut others = self.0.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(compiled) = others.get(pointer) {
            return Ok(Arc::clone(compiled));
        }
        let compiled = if pointer.is_empty() {
            compile(&self.0.value)?
        } else {
            self.compiled(
                ("$ref", self.reference(pointer).into()),
                self.only(std::iter::once(pointer)),
            )?
        };
        others.insert(pointer.to_owned(), Arc::clone(&compiled));
        Ok(compiled)
    }

    fn identifier(&self) -> &str {
        self.0
            .value
            .get("$id")
            .and_then(Value::as_str)
            .unwrap_or(IDENTIFIER)
    }

    fn reference(&self, pointer: &str) -> String {
        format!("{}#{}", self.identifier(), utf8_percent_encode(pointer, FRAGMENT))
    }

    /// Compiles a schema with one keyword that refers to this document, which it contains under its identifier: so references within the
    /// document keep their meaning.
    fn compiled(&self, (keyword, value): (&str, Value), mut document: Value) -> Result<Arc<Schema>, String> {
        document
            .as_object_mut()
            .ok_or_else(|| "a schema must be an object".to_owned())?
            .insert("$id".to_owned(), self.identifier().into());
        compile(&json!({ keyword: value, "$defs": { "file": document } }))
    }

    /// The document with only those definitions that these parts use.
    pub fn only<'a>(&self, pointers: impl Iterator<Item = &'a str>) -> Value {
        let mut open: Vec<String> = pointers.map(|pointer| format!("#{pointer}")).collect();
        let has_other_parts = open.iter().any(|pointer| !pointer[1..].starts_with(DEFINITIONS));
        let mut value = self.0.value.clone();
        if has_other_parts {
            return value;
        }
        let mut used = BTreeSet::new();
        while let Some(reference) = open.pop() {
            let path = reference
                .strip_prefix('#')
                .and_then(|path| path.strip_prefix(DEFINITIONS));
            let Some(token) = path.and_then(|path| path.split('/').next()) else {
                continue;
            };
            if let Some(definition) = self.0.value.pointer(&format!("{DEFINITIONS}{token}"))
                && used.insert(token.replace("~1", "/").replace("~0", "~"))
            {
                references(definition, &mut open);
            }
        }
        if let Some(definitions) = value.get_mut("$defs").and_then(Value::as_object_mut) {
            definitions.retain(|name, _| used.contains(name));
        }
        value
    }
}

/// Fails if a value is not a JSON Schema. The error names the part of it that is wrong.
pub fn validate_schema(schema: &Value) -> Result<(), SchemaError> {
    Schema::compile(schema).map(drop)
}

fn compile(schema: &Value) -> Result<Arc<Schema>, String> {
    Schema::compile(schema)
        .map(Arc::new)
        .map_err(|error| error.to_string())
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

impl SchemaPart {
    /// The whole of a schema.
    pub fn whole(schema: Value) -> Self {
        Self {
            document: SchemaDocument::new(schema),
            pointer: String::new(),
        }
    }

    /// Fails if it is not a JSON Schema.
    pub fn validate(&self) -> Result<(), ExpectationError> {
        self.compile().map(drop)
    }

    /// Compiles it, with the other definitions of its document; each is compiled once. If another one is wrong, it is compiled alone.
    pub(super) fn compile(&self) -> Result<CompiledSchema, ExpectationError> {
        let definition = self
            .pointer
            .strip_prefix(DEFINITIONS)
            .filter(|name| !name.contains('/'));
        if let Some(name) = definition
            && let Ok(schema) = self.document.definitions()
        {
            return Ok(CompiledSchema {
                schema,
                definition: Some(name.replace("~1", "/").replace("~0", "~")),
                subjects: self.subjects(),
            });
        }
        let schema = self.document.alone(&self.pointer);
        Ok(CompiledSchema {
            schema: schema.map_err(|reason| ExpectationError::JsonSchema { reason })?,
            definition: None,
            subjects: self.subjects(),
        })
    }

    /// What a verdict depends on.
    fn subjects(&self) -> Vec<Subject> {
        let mut subjects = Vec::new();
        let schema = self.document.value().pointer(&self.pointer);
        add_subjects(schema.unwrap_or(&Value::Null), &mut Vec::new(), &mut subjects);
        subjects
    }
}

/// A value on which the verdict of a schema depends.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Subject {
    /// The tokens of the JSON pointer to it.
    path: Vec<String>,
    matters: Matters,
}

/// What of a value matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Matters {
    /// All of it.
    Whole,
    /// Whether it is an object: its members are subjects of their own. All of another value matters.
    Object,
    /// Whether it is there.
    Presence,
}

/// Adds the values that a schema judges: where it says nothing but what single members are, only those members.
fn add_subjects(schema: &Value, path: &mut Vec<String>, subjects: &mut Vec<Subject>) {
    const ABOUT_MEMBERS: [&str; 9] = [
        "$schema",
        "$id",
        "$comment",
        "title",
        "description",
        "type",
        "properties",
        "required",
        "$defs",
    ];
    let about_members = schema
        .as_object()
        .filter(|schema| schema.keys().all(|key| ABOUT_MEMBERS.contains(&key.as_str())))
        .filter(|schema| schema.contains_key("properties") || schema.contains_key("required"));
    subjects.push(Subject {
        path: path.clone(),
        matters: if about_members.is_some() {
            Matters::Object
        } else {
            Matters::Whole
        },
    });
    let Some(schema) = about_members else {
        return;
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    for (name, property) in properties.into_iter().flatten() {
        path.push(name.clone());
        add_subjects(property, path, subjects);
        path.pop();
    }
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if properties.is_none_or(|properties| !properties.contains_key(name)) {
            let path = path.iter().cloned().chain([name.to_owned()]).collect();
            subjects.push(Subject {
                path,
                matters: Matters::Presence,
            });
        }
    }
}

/// A compiled schema.
#[derive(Debug, Clone)]
pub(super) struct CompiledSchema {
    schema: Arc<Schema>,
    /// The definition of the document; its schema applies to a property of this name.
    definition: Option<String>,
    subjects: Vec<Subject>,
}

impl CompiledSchema {
    /// Judges a body. If everything on which the verdict depends has the same bytes as in a valid one before, it is valid.
    pub(super) fn judge_known(
        &self,
        (place, body): (usize, &[u8]),
        memory: &mut Memory,
    ) -> Result<(), Mismatch> {
        let mut known = std::mem::take(&mut memory.wanted);
        known.clear();
        if memory.reads(body) {
            let document = &memory.documents.got;
            for subject in &self.subjects {
                let Some(place) = document.at(&subject.path) else {
                    known.push(b'-');
                    continue;
                };
                match subject.matters {
                    Matters::Presence => {
                        known.push(b'+');
                        continue;
                    }
                    Matters::Object if document.is_object(place) => {
                        known.push(b'{');
                        continue;
                    }
                    Matters::Object | Matters::Whole => {}
                }
                let value = &body[document.source(place)];
                known.push(b'=');
                known.extend_from_slice(&(value.len() as u64).to_le_bytes());
                known.extend_from_slice(value);
            }
        } else {
            known.push(b'?');
            known.extend_from_slice(body);
        }
        let result = if memory.accepted.contains(place, b"", &known) {
            Ok(())
        } else {
            self.judge(body)
                .inspect(|()| memory.accepted.insert(place, b"", &known))
        };
        memory.wanted = known;
        result
    }

    /// Judges a body; the mismatch names the first member that the schema does not allow.
    pub(super) fn judge(&self, body: &[u8]) -> Result<(), Mismatch> {
        let value = parsed(body, || "JSON that the schema allows".to_owned())?;
        let value = match &self.definition {
            Some(name) => Map::from_iter([(name.clone(), value)]).into(),
            None => value,
        };
        self.schema.judge(&value).map_err(|fault| {
            let mut at = fault.at.as_str();
            if self.definition.is_some() {
                // Without the property.
                at = at
                    .get(1..)
                    .and_then(|rest| Some(&rest[rest.find('/')?..]))
                    .unwrap_or_default();
            }
            let what = if at.is_empty() {
                "body".to_owned()
            } else {
                format!("body at {at}")
            };
            let wanted = format!("{} (schema {})", fault.reason, fault.rule);
            Mismatch::new(what, wanted, excerpt(fault.got.as_bytes()))
        })
    }
}
