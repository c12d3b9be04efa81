//! Derives an expectation from two replies to the same request: equal parts become constants, different parts become a type
//! or a pattern.

use crate::import::draft::{is_json, media_type};
use crate::import::{Expect, ExpectedBody};
use prony_load::secrets::is_secret;
use regex::Regex;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// A recorded reply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedReply {
    pub status: u16,
    pub media_type: Option<String>,
    pub body: Vec<u8>,
}

/// The expectation that was derived from two replies.
#[derive(Debug, Clone, PartialEq)]
pub struct InferredExpectation {
    /// The expectation; if JSON bodies differ, it refers to `schema`.
    pub expect: Expect,
    /// The schema of the body, if the two differ. It has the name that was passed to [`learn`].
    pub schema: Option<Value>,
    /// A description of each difference and of the rule that replaces it.
    pub differences: Vec<String>,
}

/// Compares two replies to the same request. `name` is the name of the schema, if one is needed.
pub fn learn(first: &RecordedReply, second: &RecordedReply, name: &str) -> InferredExpectation {
    let mut differences = Vec::new();
    let statuses: BTreeSet<u16> = [first.status, second.status].into();
    let mut learnt = InferredExpectation {
        expect: Expect {
            status: statuses.into_iter().collect(),
            ..Expect::default()
        },
        schema: None,
        differences: Vec::new(),
    };
    if first.status != second.status {
        differences.push(format!(
            "status: {} and then {}: both are valid; body and type are not checked",
            first.status, second.status
        ));
        learnt.differences = differences;
        return learnt;
    }
    let kinds = [first, second].map(|reply| reply.media_type.as_deref().map(media_type));
    if kinds[0] == kinds[1] {
        learnt.expect.media_type.clone_from(&kinds[0]);
    } else {
        differences.push("type: the two differ: any is valid".to_owned());
    }
    let json = |reply: &RecordedReply| {
        let is_json = reply.media_type.as_deref().is_some_and(is_json);
        is_json
            .then(|| serde_json::from_slice::<Value>(&reply.body).ok())
            .flatten()
    };
    if let (Some(first), Some(second)) = (json(first), json(second)) {
        if first == second {
            learnt.expect.body = Some(ExpectedBody::Json(first));
        } else {
            learnt.schema = Some(schema((&first, &second), "", &mut differences));
            learnt.expect.body = Some(ExpectedBody::Schema(name.to_owned()));
        }
    } else if !first.body.is_empty() || !second.body.is_empty() {
        let texts = [first, second].map(|reply| String::from_utf8(reply.body.clone()).ok());
        learnt.expect.body = match texts {
            [Some(first), Some(second)] if first == second => Some(ExpectedBody::Text(first)),
            [Some(first), Some(second)] => text((&first, &second), &mut differences),
            _ => {
                differences.push("body: not text: status and type only".to_owned());
                None
            }
        };
    }
    learnt.differences = differences;
    learnt
}

/// The type of a value in JSON Schema.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn schema((first, second): (&Value, &Value), at: &str, notes: &mut Vec<String>) -> Value {
    let shown = if at.is_empty() {
        "body"
    } else {
        at.trim_start_matches('.')
    };
    match (first, second) {
        (first, second) if first == second => json!({ "const": first }),
        (Value::Object(left), Value::Object(right)) => object((left, right), at, notes),
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            let items: Vec<Value> = left
                .iter()
                .zip(right)
                .enumerate()
                .map(|(place, pair)| schema(pair, &format!("{at}[{place}]"), notes))
                .collect();
            json!({ "type": "array", "minItems": items.len(), "prefixItems": items, "items": false })
        }
        (Value::Array(left), Value::Array(right)) => {
            notes.push(format!(
                "{shown}: {} and then {} items: a list",
                left.len(),
                right.len()
            ));
            let kinds: BTreeSet<&str> = left.iter().chain(right).map(kind).collect();
            match kinds.into_iter().collect::<Vec<_>>().as_slice() {
                [] => json!({ "type": "array" }),
                [one] => json!({ "type": "array", "items": { "type": one } }),
                several => json!({ "type": "array", "items": { "type": several } }),
            }
        }
        (Value::String(left), Value::String(right)) => {
            let kind = pattern(left, right);
            let word = kind.map_or("a text", |(word, _)| word);
            let name = shown.rsplit('.').next().unwrap_or_default();
            notes.push(if is_secret(name.split('[').next().unwrap_or_default()) {
                format!("{shown}: a secret, and then another one: {word}")
            } else {
                format!("{shown}: `{left}` and then `{right}`: {word}")
            });
            match kind {
                Some((_, pattern)) => json!({ "type": "string", "pattern": pattern }),
                None => json!({ "type": "string" }),
            }
        }
        (left, right) => {
            let kinds: BTreeSet<&str> = [kind(left), kind(right)].into();
            let words = kinds.iter().copied().collect::<Vec<_>>();
            notes.push(format!(
                "{shown}: {left} and then {right}: {}",
                words.join(" or ")
            ));
            match words.as_slice() {
                [one] => json!({ "type": one }),
                ["integer", "number"] => json!({ "type": "number" }),
                several => json!({ "type": several }),
            }
        }
    }
}

fn object(
    (left, right): (&Map<String, Value>, &Map<String, Value>),
    at: &str,
    notes: &mut Vec<String>,
) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    let more = right.keys().filter(|name| !left.contains_key(*name));
    for name in left.keys().chain(more) {
        let below = format!("{at}.{name}");
        let member = match (left.get(name), right.get(name)) {
            (Some(first), Some(second)) => {
                required.push(name.clone());
                schema((first, second), &below, notes)
            }
            (Some(one), None) | (None, Some(one)) => {
                notes.push(format!(
                    "{}: present only once: optional",
                    below.trim_start_matches('.')
                ));
                json!({ "type": kind(one) })
            }
            (None, None) => continue,
        };
        properties.insert(name.clone(), member);
    }
    json!({ "type": "object", "required": required, "properties": properties, "additionalProperties": false })
}

/// Kinds of varying texts: a description and a pattern.
const KINDS: [(&str, &str); 7] = [
    (
        "a time",
        r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$",
    ),
    ("a date", r"^\d{4}-\d\d-\d\d$"),
    (
        "a UUID",
        r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
    ),
    ("digits", r"^\d+$"),
    ("hexadecimal digits", r"^[0-9a-fA-F]+$"),
    ("a token (JWT)", r"^[\w-]+\.[\w-]+\.[\w-]*$"),
    ("letters, digits, `_` and `-`", r"^[\w-]+$"),
];

/// The narrowest kind that matches both texts; `None` if there is none, or if one is empty.
fn pattern(left: &str, right: &str) -> Option<(&'static str, &'static str)> {
    // A reply has any number of texts, and compiling a pattern takes longer than matching it.
    static PATTERNS: LazyLock<[Regex; KINDS.len()]> = LazyLock::new(|| {
        KINDS.map(|(_, pattern)| Regex::new(pattern).expect("invariant: the patterns are constants"))
    });
    let mut kinds = KINDS.into_iter().zip(&*PATTERNS);
    let (kind, _) = kinds.find(|(_, pattern)| pattern.is_match(left) && pattern.is_match(right))?;
    Some(kind)
}

/// For two texts that differ only in single words: a pattern with those words open.
fn text((first, second): (&str, &str), notes: &mut Vec<String>) -> Option<ExpectedBody> {
    let words = Regex::new(r"[\w-]+|[^\w-]+").expect("invariant: the pattern is a constant");
    let split = |text: &str| {
        words
            .find_iter(text)
            .map(|word| word.as_str().to_owned())
            .collect::<Vec<_>>()
    };
    let (left, right) = (split(first), split(second));
    let mut pattern = String::from("^");
    let same_places = left.len() == right.len();
    for (one, other) in left.iter().zip(&right) {
        if one == other {
            pattern.push_str(&regex::escape(one));
            continue;
        }
        let Some((word, open)) = self::pattern(one, other).filter(|_| same_places) else {
            notes.push(
                "body: the two texts differ in more than single words: status and type only".to_owned(),
            );
            return None;
        };
        notes.push(format!("body: `{one}` and then `{other}`: {word}"));
        pattern.push_str(open.trim_start_matches('^').trim_end_matches('$'));
    }
    if !same_places {
        notes.push("body: the two texts differ in more than single words: status and type only".to_owned());
        return None;
    }
    pattern.push('$');
    Some(ExpectedBody::Matches(pattern))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(kind: &str, body: &str) -> RecordedReply {
        RecordedReply {
            status: 200,
            media_type: Some(kind.to_owned()),
            body: body.as_bytes().to_vec(),
        }
    }

    #[test]
    fn what_differs_becomes_a_type_or_a_pattern() {
        let first = r#"{"id":"0f8b","n":1,"at":"2026-01-02T03:04:05Z","name":"Ada","tags":["x"],"once":1}"#;
        let second = r#"{"id":"77ac","n":2,"at":"2026-01-02T03:04:06Z","name":"Ada","tags":["x","y"]}"#;
        let learnt = learn(
            &reply("application/json; charset=utf-8", first),
            &reply("application/json", second),
            "it",
        );
        let schema = learnt.schema.expect("they differ");
        assert_eq!(schema["properties"]["name"], json!({"const": "Ada"}));
        assert_eq!(schema["properties"]["n"], json!({"type": "integer"}));
        assert_eq!(schema["properties"]["tags"]["items"]["type"], "string");
        assert_eq!(learnt.differences.len(), 5, "{:?}", learnt.differences);
        let schema = prony_schema::Schema::compile(&schema).expect("a schema");
        for right in [first, second] {
            let right = serde_json::from_str(right).expect("JSON");
            assert_eq!(schema.judge(&right), Ok(()));
        }
        for wrong in [
            first.replace("Ada", "Bob"),
            first.replace("2026-01-02T", "tomorrow "),
            first.replace("\"n\":1", "\"n\":\"1\""),
            first.replace("\"n\"", "\"m\""),
        ] {
            let value = serde_json::from_str(&wrong).expect("JSON");
            assert!(schema.judge(&value).is_err(), "{wrong}");
        }
    }

    #[test]
    fn texts_keep_what_is_the_same() {
        let learnt = learn(
            &reply("text/plain", "request 17 of Ada."),
            &reply("text/plain", "request 18 of Ada."),
            "it",
        );
        let Some(ExpectedBody::Matches(pattern)) = learnt.expect.body else {
            panic!("{:?}", learnt.expect);
        };
        let pattern = Regex::new(&pattern).expect("a pattern");
        assert!(pattern.is_match("request 99 of Ada.") && !pattern.is_match("request 99 of Bob."));
        let other = learn(&reply("text/plain", "one"), &reply("text/plain", "one two"), "it");
        assert_eq!(other.expect.body, None);
        assert!(other.differences[0].contains("more than single words"));
    }

    #[test]
    fn another_status_is_told_and_both_are_right() {
        let mut second = reply("application/json", "{}");
        second.status = 409;
        let learnt = learn(&reply("application/json", "{}"), &second, "it");
        assert_eq!(learnt.expect.status, [200, 409]);
        assert!(learnt.expect.body.is_none() && learnt.differences[0].contains("409"));
    }
}
