//! Values of parameters and bodies, and their texts.

use super::sample::Sampler;
use crate::import::DraftError;
use crate::import::document::step;
use crate::import::draft::percent_encoded;
use serde_json::Value;

/// A scalar, as written in a URL.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The example of a parameter or a body; otherwise a sample of its schema.
pub(super) fn example<'a>(
    sampler: &Sampler<'a>,
    holder: &'a Value,
    pointer: &str,
) -> Result<Value, DraftError> {
    if let Some(value) = holder.get("example") {
        return Ok(sampler.copy(value, &step(pointer, "example")));
    }
    if let Some((name, first)) = holder
        .get("examples")
        .and_then(Value::as_object)
        .and_then(|all| all.iter().next())
    {
        let below = step(&step(pointer, "examples"), name);
        let (first, _) = sampler.description.resolved(first, &below)?;
        if let Some(value) = first.get("value") {
            return Ok(sampler.copy(value, &below));
        }
    }
    if let Some(schema) = holder.get("schema") {
        return sampler.sample(schema, &step(pointer, "schema"));
    }
    let content = holder
        .get("content")
        .and_then(Value::as_object)
        .and_then(|all| all.iter().next());
    match content {
        Some((kind, media)) => example(sampler, media, &step(&step(pointer, "content"), kind)),
        None => Ok(Value::from("text")),
    }
}

/// `name[member]=value` for all members; items of a list have the same name.
pub(super) fn deep_pairs(name: &str, value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(|item| deep_pairs(name, item)).collect(),
        Value::Object(members) => {
            let members = members.iter();
            members
                .flat_map(|(member, value)| deep_pairs(&format!("{name}[{member}]"), value))
                .collect()
        }
        scalar => vec![format!(
            "{}={}",
            percent_encoded(name),
            percent_encoded(&plain(scalar))
        )],
    }
}
