//! Values of a contract: TOML as JSON or as messages, with the names of `[data]` resolved.

use super::PlaceholderValues;
use crate::format::suggestion::known;
use crate::contract::proto::{MessageText, encode};
use crate::contract::template::constant;
use prony_load::{Part, Template};
use prost_reflect::MessageDescriptor;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Encodes a message whose texts may have placeholders.
pub(super) fn message(
    kind: &MessageDescriptor,
    value: &Value,
    filling: &PlaceholderValues<'_>,
) -> Result<Template, String> {
    // Names without a value are reported here; after this, every name is known to be bound.
    let mut used = BTreeSet::new();
    strings(value, &mut |text| {
        let template = filling.fill(text, str::to_owned)?;
        used.extend(template.0.iter().filter_map(|part| match part {
            Part::Value(index) => Some(*index),
            Part::Literal(_) => None,
        }));
        Ok(())
    })?;
    let used: Vec<usize> = used.into_iter().collect();
    let text = MessageText {
        kind,
        parameters: filling.parameters,
    };
    text.encode(&used, |letters| {
        replaced(value, &|text| {
            let template = filling.fill(text, str::to_owned)?;
            let mut out = Vec::new();
            template.render(&mut out, |index, out| {
                out.extend_from_slice(letters(index).as_bytes());
            });
            Ok(String::from_utf8_lossy(&out).into_owned())
        })
    })
}

/// The value with the formulas of its texts computed for item `i`. The values of its placeholders must be known.
pub(super) fn worked_out(value: &Value, i: i64, filling: &PlaceholderValues<'_>) -> Result<Value, String> {
    replaced(value, &|text| {
        if text.contains(FORMULA) {
            prony_load::evaluate_formulas(&known_text(text, filling)?, i)
        } else {
            Ok(text.to_owned())
        }
    })
}

/// A number of encoded messages; in their formulas, `i` is the number of the message, from 1. The values of their
/// placeholders must be known.
pub(super) fn numbered(
    kind: &MessageDescriptor,
    each: &Value,
    count: u32,
    filling: &PlaceholderValues<'_>,
) -> Result<Vec<Vec<u8>>, String> {
    // The placeholders have the same value in all messages: they are filled once.
    let each = replaced(each, &|text| known_text(text, filling))?;
    let one = |i| {
        let value = replaced(&each, &|text| {
            if text.contains(FORMULA) {
                prony_load::evaluate_formulas(text, i)
            } else {
                Ok(text.to_owned())
            }
        })?;
        encode(kind, &value)
    };
    (1..=i64::from(count)).map(one).collect()
}

/// The start of a formula.
const FORMULA: &str = "{=";

fn known_text(text: &str, filling: &PlaceholderValues<'_>) -> Result<String, String> {
    let template = filling.fill(text, str::to_owned)?;
    if !template.is_constant() {
        return Err(format!(
            "`{text}` would differ between requests: set its placeholders in the workload"
        ));
    }
    Ok(String::from_utf8_lossy(&constant(&template)).into_owned())
}

/// The value with every text replaced.
fn replaced(value: &Value, text: &impl Fn(&str) -> Result<String, String>) -> Result<Value, String> {
    Ok(match value {
        Value::String(old) => Value::String(text(old)?),
        Value::Array(items) => items
            .iter()
            .map(|item| replaced(item, text))
            .collect::<Result<_, _>>()?,
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| Ok((name.clone(), replaced(member, text)?)))
            .collect::<Result<serde_json::Map<_, _>, String>>()?
            .into(),
        other => other.clone(),
    })
}

/// Calls `each` with every text of a value.
fn strings(value: &Value, each: &mut impl FnMut(&str) -> Result<(), String>) -> Result<(), String> {
    match value {
        Value::String(text) => each(text),
        Value::Array(items) => items.iter().try_for_each(|item| strings(item, each)),
        Value::Object(members) => members.values().try_for_each(|member| strings(member, each)),
        _ => Ok(()),
    }
}

/// Converts a TOML value to JSON.
pub(crate) fn as_json(value: &toml::Value) -> Result<Value, String> {
    Ok(match value {
        toml::Value::String(text) => Value::from(text.as_str()),
        toml::Value::Integer(number) => Value::from(*number),
        toml::Value::Float(number) => Value::from(*number),
        toml::Value::Boolean(truth) => Value::from(*truth),
        toml::Value::Datetime(_) => return Err("JSON has no dates: write a text".to_owned()),
        toml::Value::Array(items) => items.iter().map(as_json).collect::<Result<_, _>>()?,
        toml::Value::Table(members) => members
            .iter()
            .map(|(name, member)| Ok((name.clone(), as_json(member)?)))
            .collect::<Result<serde_json::Map<_, _>, String>>()?
            .into(),
    })
}

/// Nesting of names deeper than this is a cycle.
const DEEPEST: u32 = 16;

/// The values of `[data]`, and the names of the placeholders.
pub(super) struct Data<'a> {
    pub(super) values: &'a BTreeMap<String, Value>,
    pub(super) filling: &'a PlaceholderValues<'a>,
}

impl Data<'_> {
    /// Replaces each text `$name` with the value of that name, and the text `$null` with null.
    pub(super) fn resolve(&self, value: Value, depth: u32) -> Result<Value, String> {
        match value {
            Value::String(text) => match text.strip_prefix('$') {
                None => Ok(Value::String(text)),
                Some("null") => Ok(Value::Null),
                Some(name) => self.named(name, depth),
            },
            Value::Array(items) => items
                .into_iter()
                .map(|item| self.resolve(item, depth))
                .collect::<Result<_, _>>()
                .map(Value::Array),
            Value::Object(members) => members
                .into_iter()
                .map(|(name, member)| Ok((name, self.resolve(member, depth)?)))
                .collect::<Result<_, String>>()
                .map(Value::Object),
            other => Ok(other),
        }
    }

    fn named(&self, name: &str, depth: u32) -> Result<Value, String> {
        let template = self.filling.fill(name, str::to_owned)?;
        if !template.is_constant() {
            return Err(format!(
                "`${name}` would differ between requests: set its placeholder in the workload"
            ));
        }
        let filled = String::from_utf8_lossy(&constant(&template)).into_owned();
        match self.values.get(&filled) {
            Some(_) if depth > DEEPEST => Err(format!("`${name}` refers to itself")),
            Some(value) => self.resolve(value.clone(), depth + 1),
            None => Err(format!(
                "`${filled}` is not in `[data]`: {}",
                known(self.values.keys().map(String::as_str))
            )),
        }
    }
}
