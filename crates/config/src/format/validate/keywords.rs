//! Reads the keywords of a schema: what it allows.

use crate::format::schema::{ALIASES, FORMER_VALUES, GIVE, resolved};
use serde_json::{Map, Value};
use std::sync::LazyLock;
use toml::de::DeValue;

/// Whether a table has a key, under one of its names.
pub(super) fn has_key(schema: &Value, name: &str) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.is_some_and(|properties| canonical(properties, name).is_some())
}

pub(super) fn branches(schema: &Value) -> Option<&[Value]> {
    let several = schema.get("anyOf").or_else(|| schema.get("oneOf"))?;
    several.as_array().map(Vec::as_slice)
}

/// The texts that a schema allows; `None`: any.
pub(super) fn enumerated(schema: &Value) -> Option<Vec<&str>> {
    if let Some(only) = schema.get("const").and_then(Value::as_str) {
        return Some(vec![only]);
    }
    let names = schema.get("enum")?.as_array()?;
    Some(names.iter().filter_map(Value::as_str).collect())
}

/// The key that every one of several tables has with a value of its own.
pub(super) fn tag_of<'a>(root: &'a Value, branch: &'a Value) -> Option<&'a str> {
    let properties = resolved(root, branch).get("properties")?.as_object()?;
    let is_tag = |(_, property): &(&String, &Value)| property.get("const").is_some_and(Value::is_string);
    properties.iter().find(is_tag).map(|(name, _)| name.as_str())
}

pub(super) fn tag_value<'a>(schema: &'a Value, tag: &str) -> Option<&'a str> {
    schema.get("properties")?.get(tag)?.get("const")?.as_str()
}

/// The current name of a key, if it is one.
pub(super) fn canonical<'a>(properties: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    if let Some((name, _)) = properties.get_key_value(key) {
        return Some(name);
    }
    properties
        .iter()
        .find(|(_, property)| {
            let aliases = property.get(ALIASES).and_then(Value::as_array);
            aliases.is_some_and(|aliases| aliases.iter().any(|alias| alias == key))
        })
        .map(|(name, _)| name.as_str())
}

/// The current name of a value that has been renamed.
pub(super) fn current_value<'a>(schema: &'a Value, value: &DeValue<'_>) -> Option<&'a str> {
    schema.get(FORMER_VALUES)?.get(value.as_str()?)?.as_str()
}

pub(super) fn no_keys() -> &'static Map<String, Value> {
    static NONE: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    &NONE
}

/// The largest number of an integer format.
pub(super) fn largest_of(format: &str) -> Option<f64> {
    match format {
        "uint8" => Some(f64::from(u8::MAX)),
        "uint16" => Some(f64::from(u16::MAX)),
        "uint32" => Some(f64::from(u32::MAX)),
        "int32" => Some(f64::from(i32::MAX)),
        // TOML's integers have 64 bits with a sign.
        "uint64" | "int64" | "uint" | "int" => Some(i64::MAX as f64),
        _ => None,
    }
}

/// Whether a schema allows lists of a type.
pub(super) fn is_list_of(root: &Value, schema: &Value, name: &str) -> bool {
    let schema = resolved(root, schema);
    match branches(schema) {
        Some(branches) => branches.iter().any(|branch| is_list_of(root, branch, name)),
        None => schema
            .get("items")
            .is_some_and(|items| types_of(root, items).contains(&name)),
    }
}

pub(super) fn has_pattern(root: &Value, schema: &Value) -> bool {
    schema.get("pattern").is_some() || resolved(root, schema).get("pattern").is_some()
}

pub(super) fn give_of<'a>(root: &'a Value, schema: &'a Value) -> Option<&'a str> {
    let own = schema.get(GIVE).or_else(|| resolved(root, schema).get(GIVE))?;
    own.as_str()
}

/// The JSON types that a schema allows, each once.
pub(super) fn types_of<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a str> {
    let schema = resolved(root, schema);
    let mut types: Vec<&str> = Vec::new();
    let mut add = |name| {
        if !types.contains(&name) {
            types.push(name);
        }
    };
    if let Some(branches) = branches(schema) {
        for branch in branches {
            types_of(root, branch).into_iter().for_each(&mut add);
        }
        return types;
    }
    match schema.get("type") {
        Some(Value::String(name)) => add(name.as_str()),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).for_each(add),
        _ if enumerated(schema).is_some() => add("string"),
        _ => {}
    }
    types
}

/// The smallest number of items of a list.
pub(super) fn least_items(root: &Value, schema: &Value) -> u64 {
    let schema = resolved(root, schema);
    match branches(schema) {
        Some(branches) => branches
            .iter()
            .map(|branch| least_items(root, branch))
            .max()
            .unwrap_or(0),
        None => schema.get("minItems").and_then(Value::as_u64).unwrap_or(0),
    }
}

pub(super) fn formats_of<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a str> {
    let schema = resolved(root, schema);
    match branches(schema) {
        Some(branches) => branches
            .iter()
            .flat_map(|branch| formats_of(root, branch))
            .collect(),
        None => schema.get("format").and_then(Value::as_str).into_iter().collect(),
    }
}
