//! A value that a schema allows: its example if it has one, otherwise the simplest valid value.

use super::pattern::matching;
use super::reference::Description;
use crate::import::document::step;
use crate::import::size::{Room, is_too_deep};
use crate::import::{DraftError, Operation};
use serde_json::{Map, Number, Value, json};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashSet};

/// The deepest nesting of schemas.
const DEEPEST: usize = 40;
/// The largest sample of a request, bytes.
const LARGEST: usize = 64 << 10;
/// The most schemas and properties that are visited for all samples of a draft.
const MOST_VISITS: usize = 1_000_000;
/// The size of all samples that are kept for their next use, bytes.
const KEPT: usize = 16 << 20;

/// Makes the samples of a draft: requests leave out read-only properties. A small description can ask for endless values, so each
/// operation has room for a limited sample, which is cut where the room ends.
pub(super) struct Sampler<'a> {
    pub(super) description: &'a Description<'a>,
    /// The samples by the pointers of their schemas, and what each takes.
    known: RefCell<BTreeMap<String, (Value, usize)>>,
    to_keep: RefCell<Room>,
    visits: Cell<usize>,
    /// What is left for the operation.
    room: RefCell<Room>,
    /// The schema at which the samples of the operation were cut.
    cut: RefCell<Option<String>>,
    /// Remarks about the samples of the operation.
    remarks: RefCell<Vec<String>>,
}

/// A value; `None` if the schema contains itself endlessly, or if there is no room left.
type SampleValue = Result<Option<Value>, DraftError>;

impl<'a> Sampler<'a> {
    pub(super) fn new(description: &'a Description<'a>) -> Self {
        Self {
            description,
            known: RefCell::default(),
            to_keep: RefCell::new(Room::of(KEPT)),
            visits: Cell::new(MOST_VISITS),
            room: RefCell::new(Room::of(LARGEST)),
            cut: RefCell::default(),
            remarks: RefCell::default(),
        }
    }

    /// Begins with the samples of the next operation.
    pub(super) fn begin(&self) {
        *self.room.borrow_mut() = Room::of(LARGEST);
        *self.cut.borrow_mut() = None;
        self.remarks.borrow_mut().clear();
    }

    /// Adds remarks about the samples of the operation.
    pub(super) fn finish(&self, made: &mut Operation) {
        if let Some(pointer) = self.cut.borrow().as_deref() {
            let place = self.description.place(pointer);
            made.add_gap(format!(
                "{place}: the sample of its request is cut here, since it would have more than {} KiB: complete it, or give an `example`.",
                LARGEST >> 10
            ));
        }
        made.remarks.append(&mut self.remarks.borrow_mut());
    }

    fn remark(&self, pointer: &str, remark: &str) {
        let remark = format!("{}: {remark}", self.description.place(pointer));
        let mut remarks = self.remarks.borrow_mut();
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    }

    /// An example that is a text although an object or a list is described, as hand-written files have it: the JSON in the text.
    pub(super) fn as_described(&self, value: Value, schema: Option<&'a Value>, pointer: &str) -> Value {
        let Value::String(text) = &value else { return value };
        let schema = schema.and_then(|schema| self.description.resolved(schema, pointer).ok());
        let is_structure = schema.is_some_and(|(schema, _)| matches!(kind(schema), "object" | "array"));
        match serde_json::from_str::<Value>(text) {
            Ok(parsed) if is_structure && (parsed.is_object() || parsed.is_array()) => {
                self.remark(
                    pointer,
                    "its example is a text that contains JSON, which is sent.",
                );
                parsed
            }
            _ => value,
        }
    }

    /// The schema of a property, also of one in `allOf`, and its pointer.
    pub(super) fn property(
        &self,
        schema: &'a Value,
        pointer: &str,
        name: &str,
    ) -> Option<(&'a Value, String)> {
        self.property_within(schema, pointer, (name, 0))
    }

    fn property_within(
        &self,
        schema: &'a Value,
        pointer: &str,
        (name, depth): (&str, usize),
    ) -> Option<(&'a Value, String)> {
        if depth > DEEPEST {
            return None;
        }
        let (schema, pointer) = self.description.resolved(schema, pointer).ok()?;
        if let Some(property) = schema.get("properties").and_then(|all| all.get(name)) {
            let below = step(&step(&pointer, "properties"), name);
            return self.description.resolved(property, &below).ok();
        }
        let parts = schema.get("allOf").and_then(Value::as_array)?;
        let below = step(&pointer, "allOf");
        let mut parts = parts.iter().enumerate();
        parts.find_map(|(place, part)| {
            self.property_within(part, &step(&below, &place.to_string()), (name, depth + 1))
        })
    }

    /// Whether a schema, or that of the items of a list, describes bytes.
    pub(super) fn is_binary(&self, (schema, pointer): (&'a Value, String)) -> bool {
        let is_bytes = |schema: &Value| {
            let text = |word: &str| schema.get(word).and_then(Value::as_str);
            text("format") == Some("binary")
                || text("contentMediaType").is_some() && text("contentEncoding").is_none()
        };
        let items = schema.get("items");
        let items = items.and_then(|items| self.description.resolved(items, &step(&pointer, "items")).ok());
        is_bytes(schema) || items.is_some_and(|(items, _)| is_bytes(items))
    }

    /// A value for a request; an error if every value is endless.
    pub(super) fn sample(&self, schema: &'a Value, pointer: &str) -> Result<Value, DraftError> {
        match self.value(schema, pointer, &mut Vec::new())? {
            Some(value) => Ok(value),
            None if self.is_cut() => Ok(Value::Null),
            None => {
                let message = "this schema contains itself endlessly: make a member in the cycle optional, or give an `example`";
                Err(self.description.invalid(pointer, message))
            }
        }
    }

    /// A value of the description; null where there is no room for it.
    pub(super) fn copy(&self, value: &Value, pointer: &str) -> Value {
        self.copied(value, pointer).unwrap_or_default()
    }

    fn copied(&self, value: &Value, pointer: &str) -> Option<Value> {
        if is_too_deep(value) || !self.room.borrow_mut().take(value) {
            self.cut_at(pointer);
        }
        (!self.is_cut()).then(|| value.clone())
    }

    fn is_cut(&self) -> bool {
        self.cut.borrow().is_some()
    }

    fn cut_at(&self, pointer: &str) {
        self.cut.borrow_mut().get_or_insert_with(|| pointer.to_owned());
    }

    /// Counts a visit. Returns whether the sample goes on.
    fn visit(&self, pointer: &str) -> bool {
        match self.visits.get().checked_sub(1) {
            Some(left) => self.visits.set(left),
            None => self.cut_at(pointer),
        }
        !self.is_cut()
    }

    fn value(&self, schema: &'a Value, pointer: &str, way: &mut Vec<String>) -> SampleValue {
        if !self.visit(pointer) {
            return Ok(None);
        }
        let (resolved, here) = self.description.resolved(schema, pointer)?;
        if here != pointer && way.contains(&here) || way.len() > DEEPEST {
            return Ok(None);
        }
        if let Some(given) = given(resolved) {
            let copy = self.copied(given, &here);
            return Ok(copy.map(|copy| self.as_described(copy, Some(resolved), &here)));
        }
        if let Some((value, size)) = self.known.borrow().get(&here) {
            if !self.room.borrow_mut().take_bytes(*size) {
                self.cut_at(&here);
            }
            return Ok((!self.is_cut()).then(|| value.clone()));
        }
        let before = self.room.borrow().left();
        way.push(here.clone());
        let value = self.built(resolved, &here, way);
        way.pop();
        if let Ok(Some(value)) = &value
            && !self.is_cut()
        {
            // A value is valid wherever its schema is named; that there is none may depend on the way.
            let size = before - self.room.borrow().left();
            if self.to_keep.borrow_mut().take_bytes(size + here.len()) {
                self.known.borrow_mut().insert(here, (value.clone(), size));
            }
        }
        value
    }

    /// A value that is not copied from the description.
    fn made(&self, value: Value, pointer: &str) -> Option<Value> {
        if !self.room.borrow_mut().take(&value) {
            self.cut_at(pointer);
        }
        (!self.is_cut()).then_some(value)
    }

    fn built(&self, schema: &'a Value, pointer: &str, way: &mut Vec<String>) -> SampleValue {
        if let Some(all) = schema.get("allOf").and_then(Value::as_array) {
            return self.merged(schema, all, (pointer, way));
        }
        for word in ["oneOf", "anyOf"] {
            let Some(choices) = schema.get(word).and_then(Value::as_array) else {
                continue;
            };
            let is_null = |choice: &Value| choice.get("type") == Some(&json!("null"));
            for (place, choice) in choices.iter().enumerate().filter(|(_, choice)| !is_null(choice)) {
                let below = step(&step(pointer, word), &place.to_string());
                let Some(mut value) = self.value(choice, &below, way)? else {
                    continue;
                };
                tell_apart(schema, choice, &mut value);
                return self.with_own(schema, (pointer, way), value);
            }
            return Ok(None);
        }
        match kind(schema) {
            "object" => self.object(schema, pointer, way),
            "array" => self.array(schema, pointer, way),
            "boolean" => Ok(self.made(json!(true), pointer)),
            "null" => Ok(self.made(Value::Null, pointer)),
            "integer" => Ok(self.made(number(schema, true), pointer)),
            "number" => Ok(self.made(number(schema, false), pointer)),
            _ => Ok(self.made(Value::from(self.text(schema, pointer)), pointer)),
        }
    }

    /// A text of the described length and format, or one that matches the pattern.
    fn text(&self, schema: &Value, pointer: &str) -> String {
        let text = text(schema);
        let Some(pattern) = schema.get("pattern").and_then(Value::as_str) else {
            return text;
        };
        let fits = regex::Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(&text));
        let length = |word: &str| schema.get(word).and_then(Value::as_u64);
        let has_length = |text: &str| {
            let count = text.chars().count() as u64;
            count >= length("minLength").unwrap_or(0) && count <= length("maxLength").unwrap_or(u64::MAX)
        };
        match matching(pattern).filter(|found| has_length(found)) {
            _ if fits => text,
            Some(found) => found,
            None => {
                self.remark(pointer, "it must match a pattern: check its value.");
                text
            }
        }
    }

    /// The value of a choice, with the properties next to the choice.
    fn with_own(
        &self,
        schema: &'a Value,
        (pointer, way): (&str, &mut Vec<String>),
        value: Value,
    ) -> SampleValue {
        let Value::Object(mut members) = value else {
            return Ok(Some(value));
        };
        if schema.get("properties").is_some()
            && let Some(Value::Object(own)) = self.object(schema, pointer, way)?
        {
            for (name, member) in own {
                members.entry(name).or_insert(member);
            }
        }
        Ok(Some(Value::Object(members)))
    }

    fn merged(
        &self,
        schema: &'a Value,
        all: &'a [Value],
        (pointer, way): (&str, &mut Vec<String>),
    ) -> SampleValue {
        let mut merged = Map::new();
        let mut last = None;
        for (place, part) in all.iter().enumerate() {
            let below = step(&step(pointer, "allOf"), &place.to_string());
            match self.value(part, &below, way)? {
                None if self.is_cut() => break,
                None => return Ok(None),
                Some(Value::Object(members)) => merged.extend(members),
                Some(other) => last = last.or(Some(other)),
            }
        }
        if schema.get("properties").is_some() {
            match self.object(schema, pointer, way)? {
                None => return Ok(None),
                Some(Value::Object(members)) => merged.extend(members),
                Some(_) => {}
            }
        }
        Ok(Some(match last {
            Some(other) if merged.is_empty() => other,
            _ => Value::Object(merged),
        }))
    }

    fn object(&self, schema: &'a Value, pointer: &str, way: &mut Vec<String>) -> SampleValue {
        let required: HashSet<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let mut members = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            let below = step(&step(pointer, "properties"), name);
            if !self.visit(&below) {
                break;
            }
            let (resolved, _) = self.description.resolved(property, &below)?;
            if resolved.get("readOnly") == Some(&json!(true)) {
                continue;
            }
            let is_required = required.contains(name.as_str());
            if !is_required && given(resolved).is_none() {
                continue;
            }
            match self.value(property, &below, way)? {
                Some(value) => {
                    if !self.room.borrow_mut().take_bytes(name.len()) {
                        self.cut_at(&below);
                    }
                    members.insert(name.clone(), value);
                }
                None if is_required && !self.is_cut() => return Ok(None),
                None => {}
            }
        }
        // The members have been counted.
        if !self.room.borrow_mut().take(&json!({})) {
            self.cut_at(pointer);
        }
        Ok(Some(Value::Object(members)))
    }

    fn array(&self, schema: &'a Value, pointer: &str, way: &mut Vec<String>) -> SampleValue {
        let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0);
        let most = schema.get("maxItems").and_then(Value::as_u64).unwrap_or(u64::MAX);
        let Some(items) = schema.get("items").filter(|items| items.is_object()) else {
            return Ok(self.made(json!([]), pointer));
        };
        let before = self.room.borrow().left();
        match self.value(items, &step(pointer, "items"), way)? {
            Some(item) => {
                let size = (before - self.room.borrow().left()).max(1);
                let count = self.repeated(least.max(1).min(most), size, pointer);
                Ok(Some(vec![item; count].into()))
            }
            None if least == 0 => Ok(self.made(json!([]), pointer)),
            None => Ok(None),
        }
    }

    /// How many of `count` items there are after the first, which has been counted and takes `size` bytes.
    fn repeated(&self, count: u64, size: usize, pointer: &str) -> usize {
        if self.is_cut() {
            return 1;
        }
        let most = 1 + self.room.borrow().left() / size;
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if count > most {
            self.cut_at(pointer);
            return most;
        }
        self.room.borrow_mut().take_bytes(count.saturating_sub(1) * size);
        count
    }
}

/// The example, default or constant of the schema.
fn given(schema: &Value) -> Option<&Value> {
    let first = |word: &str| {
        schema
            .get(word)
            .and_then(Value::as_array)
            .and_then(|list| list.first())
    };
    schema
        .get("example")
        .or_else(|| first("examples"))
        .or_else(|| schema.get("const"))
        .or_else(|| schema.get("default").filter(|value| !value.is_null()))
        .or_else(|| first("enum"))
}

/// Sets the discriminator of a choice to the choice's name.
fn tell_apart(schema: &Value, choice: &Value, value: &mut Value) {
    let discriminator = schema.get("discriminator");
    let Some(name) = discriminator
        .and_then(|one| one.get("propertyName"))
        .and_then(Value::as_str)
    else {
        return;
    };
    let Some(reference) = choice.get("$ref").and_then(Value::as_str) else {
        return;
    };
    let short = reference.rsplit('/').next().unwrap_or_default();
    let mapping = discriminator
        .and_then(|one| one.get("mapping"))
        .and_then(Value::as_object);
    let mapped = mapping.into_iter().flatten().find(|(_, target)| {
        target
            .as_str()
            .is_some_and(|target| target == reference || target == short)
    });
    if let Some(members) = value.as_object_mut() {
        members.insert(
            name.to_owned(),
            Value::from(mapped.map_or(short, |(word, _)| word.as_str())),
        );
    }
}

/// The type of a schema: as written, otherwise derived from its keywords.
fn kind(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(kind)) => kind,
        Some(Value::Array(kinds)) => kinds
            .iter()
            .filter_map(Value::as_str)
            .find(|kind| *kind != "null")
            .unwrap_or("null"),
        _ if schema.get("items").is_some() => "array",
        _ if schema.get("properties").is_some() || schema.get("additionalProperties").is_some() => "object",
        _ if schema.get("minimum").is_some() || schema.get("maximum").is_some() => "number",
        _ if schema.get("pattern").is_some() || schema.get("format").is_some() => "string",
        _ => "object",
    }
}

fn number(schema: &Value, whole: bool) -> Value {
    let limit = |word: &str| schema.get(word).and_then(Value::as_f64);
    let is_open = |word: &str| schema.get(word) == Some(&json!(true));
    let gap = if whole { 1.0 } else { 0.5 };
    let least = match (limit("minimum"), limit("exclusiveMinimum")) {
        (_, Some(open)) => Some(open + gap),
        (Some(least), None) if is_open("exclusiveMinimum") => Some(least + gap),
        (least, None) => least,
    };
    let most = match (limit("maximum"), limit("exclusiveMaximum")) {
        (_, Some(open)) => Some(open - gap),
        (Some(most), None) if is_open("exclusiveMaximum") => Some(most - gap),
        (most, None) => most,
    };
    let wished = match (least, most) {
        (Some(least), _) if least > 1.0 => least,
        (_, Some(most)) if most < 1.0 => most,
        _ => 1.0,
    };
    let value = match limit("multipleOf").filter(|step| *step > 0.0) {
        Some(step) => (wished / step).ceil() * step,
        None => wished,
    };
    if whole {
        Value::from(value.ceil() as i64)
    } else {
        Number::from_f64(value).map_or(json!(1), Value::Number)
    }
}

fn text(schema: &Value) -> String {
    let length = |word: &str| schema.get(word).and_then(Value::as_u64);
    let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
    let text = match format {
        "date-time" => "2026-01-02T03:04:05Z",
        "date" => "2026-01-02",
        "time" => "03:04:05Z",
        "duration" => "PT1H",
        "uuid" => "7f3a1c52-9d4e-4b8a-8c21-5e6f70819203",
        "email" | "idn-email" => "ada@example.com",
        "uri" | "url" | "iri" => "https://example.com/a",
        "uri-reference" => "/a",
        "hostname" => "example.com",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "byte" => "cHJvbnk=",
        "password" => "correct horse battery",
        _ => "text",
    };
    let mut text = text.to_owned();
    // One that has no room need not be longer.
    let least = length("minLength").unwrap_or(0).min(LARGEST as u64 + 1) as usize;
    text.extend(std::iter::repeat_n('a', least.saturating_sub(text.len())));
    if let Some(most) = length("maxLength").filter(|most| (*most as usize) < text.len()) {
        text.truncate(most as usize);
    }
    text
}
