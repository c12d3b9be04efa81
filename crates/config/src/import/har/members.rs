//! Members of the JSON of a HAR file, all of which may be missing.

use serde_json::Value;

/// A text that is not empty.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    let text = value.pointer(pointer)?.as_str()?;
    Some(text).filter(|text| !text.is_empty())
}

/// The list at a pointer; empty if there is none.
pub(super) fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    let list = value.pointer(pointer).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

/// The names and values of a list.
pub(super) fn pairs(value: &Value, pointer: &str) -> Vec<(String, String)> {
    let pair = |pair: &Value| {
        let value = match pair.get("value") {
            Some(Value::String(text)) => text.clone(),
            None | Some(Value::Null) => String::new(),
            Some(other) => other.to_string(),
        };
        Some((text(pair, "/name")?.to_owned(), value))
    };
    list(value, pointer).iter().filter_map(pair).collect()
}

/// A number, also one that is written as a text.
pub(super) fn number(value: &Value, pointer: &str) -> Option<i64> {
    match value.pointer(pointer)? {
        Value::String(text) => text.trim().parse().ok(),
        other => other
            .as_i64()
            .or_else(|| other.as_f64().map(|number| number as i64)),
    }
}
