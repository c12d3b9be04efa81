//! Says what is wrong with a value, and what to write instead.

use super::keywords::{
    branches, formats_of, give_of, has_pattern, is_list_of, least_items, tag_of, types_of,
};
use super::{Key, Validator};
use crate::format::foreign;
use crate::format::schema::resolved;
use crate::format::suggestion::{nearest, suggest};
use prony_load::{DurationError, Objective};
use serde_json::Value;
use toml::de::DeValue;

/// What to write instead of a key that does not exist, and the key that is proposed.
pub(super) fn unknown_key_help<'a>(names: &[&'a str], wanted: &str) -> (String, Option<&'a str>) {
    let found = nearest(names.iter().copied(), wanted).or_else(|| foreign::translated(wanted, names));
    let help = match found {
        Some(name) => format!("did you mean `{name}`?"),
        None => suggest(names.iter().copied(), wanted),
    };
    (help, found)
}

pub(super) fn in_backticks(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("`{name}`")).collect()
}

/// An objective without the brackets of other tools, and with a unit.
pub(super) fn right_objective(text: &str) -> Option<String> {
    let plain = text.replace(['(', ')', ' '], "");
    let with_unit = format!("{plain}ms");
    [plain, with_unit]
        .into_iter()
        .find(|text| text.parse::<Objective>().is_ok())
}

/// What is wrong with a text that is not a duration, after "is" or "has".
pub(super) fn wrong_duration(error: &DurationError) -> String {
    match error {
        DurationError::Unit { text } => format!("\"{text}\", which has no unit: write \"{text}s\""),
        DurationError::Form { text, instead } => format!("\"{text}\": write \"{instead}\""),
        DurationError::Text { text } => {
            format!(
                "\"{text}\": give a number with ns, us, ms, s, m, h or d, such as \"250ms\", \"30s\" or \"2m\""
            )
        }
        DurationError::Size { text } => format!("\"{text}\": give whole nanoseconds below 584 years"),
    }
}

pub(super) fn first_sentence(text: &str) -> String {
    let text = text.replace('\n', " ");
    let end = text.find(". ").unwrap_or(text.len());
    let mut sentence = text[..end].trim_end_matches('.').to_owned();
    if let Some(first) = sentence.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    sentence
}

pub(super) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [rest @ .., last] => format!("{} or {last}", rest.join(", ")),
    }
}

/// A text, a number or a truth value, for comparison and messages.
pub(super) fn scalar_text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(format!("\"{}\"", excerpt(text))),
        DeValue::Boolean(truth) => Some(truth.to_string()),
        number => number_of(number).map(shown),
    }
}

pub(super) fn number_of(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
            .ok()
            .map(|number| number as f64),
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => None,
    }
}

pub(super) fn shown(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        format!("{number:.0}")
    } else {
        number.to_string()
    }
}

impl Validator<'_> {
    /// The message for a value of another type.
    pub(super) fn wrong_type(&self, schema: &Value, key: Key<'_>, value: &DeValue<'_>) -> String {
        let what = match value {
            DeValue::String(text) => format!("the text \"{}\"", excerpt(text)),
            DeValue::Integer(number) => format!("the number {}", number.as_str()),
            DeValue::Float(number) => format!("the number {}", number.as_str()),
            DeValue::Boolean(truth) => truth.to_string(),
            DeValue::Datetime(_) => "a date".to_owned(),
            DeValue::Array(_) => "a list".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
        };
        if let Some(written) = written(self.root, schema, value) {
            return format!("{key} {what}: write {written}");
        }
        if value.is_table() && self.tables.len() == 1 && is_list_of(self.root, schema, "object") {
            return format!("{key} {what}: write `[[{}]]`", key.name);
        }
        match give_of(self.root, schema) {
            Some(give) => format!("{key} {what}: give {give}"),
            None => format!("{key} {what}: give {}", listed(&phrases(self.root, schema))),
        }
    }
}

/// A value of another type as it must be written, if that can be told.
pub(super) fn written(root: &Value, schema: &Value, value: &DeValue<'_>) -> Option<String> {
    let types = types_of(root, schema);
    let takes = |name: &str| types.contains(&name);
    let is_duration = formats_of(root, schema).contains(&"duration");
    let is_list_of = |name: &str| is_list_of(root, schema, name);
    // A number is proposed as a text only where any text will do.
    let is_free_text = takes("string") && formats_of(root, schema).is_empty() && !has_pattern(root, schema);
    match value {
        DeValue::String(text) if takes("integer") && text.parse::<i64>().is_ok() => Some(text.to_string()),
        DeValue::String(text) if takes("number") && text.parse::<f64>().is_ok_and(f64::is_finite) => {
            Some(text.to_string())
        }
        DeValue::String(text) if takes("boolean") && matches!(text.as_ref(), "true" | "false") => {
            Some(text.to_string())
        }
        DeValue::String(text)
            if is_list_of("string")
                && !takes("object")
                && !takes("string")
                && give_of(root, schema).is_none() =>
        {
            Some(format!("[\"{}\"]", excerpt(text)))
        }
        DeValue::Integer(number) if is_duration => Some(format!("\"{}s\"", number.as_str())),
        DeValue::Float(number) if is_duration => Some(format!("\"{}s\"", number.as_str())),
        DeValue::Integer(number) if is_free_text => Some(format!("\"{}\"", number.as_str())),
        DeValue::Float(number) if is_free_text => Some(format!("\"{}\"", number.as_str())),
        DeValue::Boolean(truth) if is_free_text && types == ["string"] => Some(format!("\"{truth}\"")),
        DeValue::Integer(number)
            if (is_list_of("integer") || is_list_of("number")) && least_items(root, schema) < 2 =>
        {
            Some(format!("[{}]", number.as_str()))
        }
        DeValue::Datetime(date) if takes("string") => Some(format!("\"{date}\"")),
        _ => None,
    }
}

/// The shapes that a schema allows, as phrases: `a list of texts`.
fn phrases(root: &Value, schema: &Value) -> Vec<String> {
    let schema = resolved(root, schema);
    if let Some(branches) = branches(schema) {
        if let Some(tag) = branches.first().and_then(|first| tag_of(root, first)) {
            return vec![format!("a table with `{tag}`")];
        }
        let mut all: Vec<String> = branches.iter().flat_map(|branch| phrases(root, branch)).collect();
        all.dedup();
        return all;
    }
    let phrase = |name: &&str| match *name {
        "array" => match schema.get("items").map(|items| types_of(root, items)).as_deref() {
            Some(["string"]) => "a list of texts".to_owned(),
            Some(["integer"]) => "a list of whole numbers".to_owned(),
            Some(["object"]) => "a list of tables".to_owned(),
            _ => "a list".to_owned(),
        },
        "object" => {
            let names = |keyword: &str| match schema.get(keyword) {
                Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
                Some(Value::Object(properties)) => properties.keys().map(String::as_str).collect(),
                _ => Vec::new(),
            };
            match (names("required").as_slice(), names("properties").as_slice()) {
                ([.., _], _) => format!("a table with {}", in_backticks(&names("required")).join(", ")),
                (_, few @ ([_] | [_, _] | [_, _, _])) => {
                    format!("a table with {}", listed(&in_backticks(few)))
                }
                _ => "a table".to_owned(),
            }
        }
        other => type_phrase(other).to_owned(),
    };
    types_of(root, schema).iter().map(phrase).collect()
}

fn type_phrase(name: &str) -> &str {
    match name {
        "string" => "a text",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        _ => "a table",
    }
}

pub(super) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 40;
    if text.chars().count() <= LONGEST {
        return text.escape_debug().to_string();
    }
    let begin: String = text.chars().take(LONGEST).collect();
    format!("{}…", begin.escape_debug())
}
