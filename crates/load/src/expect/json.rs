//! Compares JSON values and names the first difference.

use super::document::Members;
use super::{Mismatch, excerpt};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Whether the body contains all of `expected`.
pub(super) fn has(expected: &[u8], body: &[u8]) -> Result<(), Mismatch> {
    compared(expected, body, Members::Further)
}

/// Whether the body, which must be JSON, does not contain all of `unwanted`.
pub(super) fn lacks(unwanted: &[u8], body: &[u8]) -> Result<(), Mismatch> {
    let wanted = || format!("JSON that does not contain {}", excerpt(unwanted));
    parsed(body, wanted)?;
    match has(unwanted, body) {
        Err(_) => Ok(()),
        Ok(()) => Err(Mismatch::new("body", wanted(), excerpt(body))),
    }
}

pub(super) fn equal(expected: &[u8], body: &[u8]) -> Result<(), Mismatch> {
    compared(expected, body, Members::Same)
}

fn compared(expected: &[u8], body: &[u8], members: Members) -> Result<(), Mismatch> {
    if expected == body {
        return Ok(());
    }
    let whole = || {
        let how = match members {
            Members::Same => "equal to",
            Members::Further => "that contains",
        };
        format!("JSON {how} {}", excerpt(expected))
    };
    let got = parsed(body, whole)?;
    let Ok(wanted) = serde_json::from_slice::<Value>(expected) else {
        return Err(Mismatch::new("body", whole(), excerpt(body)));
    };
    compared_values((&wanted, &got), members, String::new())
}

/// The unescaped tokens of a JSON pointer (RFC 6901).
pub(super) fn tokens(pointer: &str) -> Vec<String> {
    let tokens = pointer.split('/').skip(1);
    tokens
        .map(|token| token.replace("~1", "/").replace("~0", "~"))
        .collect()
}

/// Whether the string at a path in the body is JSON equal to `expected`.
pub(super) fn equal_in_text(tokens: &[String], expected: &[u8], body: &[u8]) -> Result<(), Mismatch> {
    let at = || format!("body at /{}", tokens.join("/"));
    let whole = || format!("a string with JSON equal to {}", excerpt(expected));
    let got = parsed(body, whole)?;
    let mut pointer = String::new();
    for token in tokens {
        pointer.push('/');
        pointer += &token.replace('~', "~0").replace('/', "~1");
    }
    match got.pointer(&pointer) {
        Some(Value::String(text)) => equal(expected, text.as_bytes()).map_err(|mismatch| Mismatch {
            what: format!("{}: {}", at(), mismatch.what),
            ..mismatch
        }),
        Some(other) => Err(Mismatch::new(
            at(),
            whole(),
            excerpt(other.to_string().as_bytes()),
        )),
        None => Err(Mismatch::new(at(), whole(), "nothing")),
    }
}

/// Whether the value at a path in the body equals the JSON `expected`. With `only`, nothing else is next to the path.
pub(super) fn equal_at(
    (tokens, only): (&[String], bool),
    expected: &[u8],
    body: &[u8],
) -> Result<(), Mismatch> {
    let whole = || format!("JSON equal to {}", excerpt(expected));
    let got = parsed(body, || match tokens {
        [] => whole(),
        tokens => format!("JSON with a list at /{}", tokens.join("/")),
    })?;
    let Ok(wanted) = serde_json::from_slice::<Value>(expected) else {
        return Err(Mismatch::new("body", whole(), excerpt(body)));
    };
    if only {
        let wanted = inside(wanted, tokens, Some(&got));
        return compared_values((&wanted, &got), Members::Same, String::new());
    }
    let mut path = String::new();
    let mut target = &got;
    for token in tokens {
        let index = token.parse::<usize>().ok().filter(|_| target.is_array());
        let next = if let Some(index) = index {
            let _ = write!(path, "[{index}]");
            target.get(index)
        } else {
            path.push('.');
            path.push_str(token);
            target.get(token)
        };
        target = next.ok_or_else(|| differs(&path, Some(&wanted), None))?;
    }
    compared_values((&wanted, target), Members::Same, path)
}

/// The value inside of objects that contain only this path, or of lists of one item where `got` has lists.
fn inside(value: Value, tokens: &[String], got: Option<&Value>) -> Value {
    let Some((token, rest)) = tokens.split_first() else {
        return value;
    };
    match got {
        Some(Value::Array(items)) if token == "0" => json!([inside(value, rest, items.first())]),
        got => json!({ token: inside(value, rest, got.and_then(|got| got.get(token))) }),
    }
}

/// Parses the body as JSON; `wanted` describes the expected value for the mismatch of a body that is not JSON.
pub(super) fn parsed(body: &[u8], wanted: impl Fn() -> String) -> Result<Value, Mismatch> {
    serde_json::from_slice(body).map_err(|error| {
        let what = if body.is_empty() {
            "body: empty".to_owned()
        } else if std::str::from_utf8(body).is_err() {
            "body: not UTF-8".to_owned()
        } else {
            format!("body: not JSON ({error})")
        };
        Mismatch::new(what, wanted(), excerpt(body))
    })
}

/// Compares two values; the mismatch names the first member that differs.
pub(super) fn equal_values(wanted: &Value, got: &Value) -> Result<(), Mismatch> {
    compared_values((wanted, got), Members::Same, String::new())
}

/// Compares two values at this path.
fn compared_values(
    (wanted, got): (&Value, &Value),
    members: Members,
    mut path: String,
) -> Result<(), Mismatch> {
    match difference((wanted, got), members, &mut path) {
        Some((wanted, got)) => Err(differs(&path, wanted, got)),
        None => Ok(()),
    }
}

/// The mismatch of two values at a path.
fn differs(path: &str, wanted: Option<&Value>, got: Option<&Value>) -> Mismatch {
    let shown = |value: Option<&Value>| {
        value.map_or_else(
            || "nothing".to_owned(),
            |value| excerpt(value.to_string().as_bytes()),
        )
    };
    let what = if path.is_empty() {
        "body".to_owned()
    } else {
        format!("body at {}", path.trim_start_matches('.'))
    };
    Mismatch::new(what, shown(wanted), shown(got))
}

type JsonPair<'a> = (Option<&'a Value>, Option<&'a Value>);

/// The first pair that differs, with its path; a `null` member equals an absent one.
fn difference<'a>(
    (wanted, got): (&'a Value, &'a Value),
    members: Members,
    path: &mut String,
) -> Option<JsonPair<'a>> {
    match (wanted, got) {
        (Value::Object(left), Value::Object(right)) => {
            let more = right
                .keys()
                .filter(|key| members == Members::Same && !left.contains_key(*key));
            for key in left.keys().chain(more) {
                let present = |member: Option<&'a Value>| member.filter(|member| !member.is_null());
                let pair = (present(left.get(key)), present(right.get(key)));
                let length = path.len();
                path.push('.');
                path.push_str(key);
                match pair {
                    (None, None) => {}
                    (Some(wanted), Some(got)) => {
                        if let Some(pair) = difference((wanted, got), members, path) {
                            return Some(pair);
                        }
                    }
                    pair => return Some(pair),
                }
                path.truncate(length);
            }
            None
        }
        (Value::Array(left), Value::Array(right)) => {
            for place in 0..left.len().max(right.len()) {
                let length = path.len();
                let _ = write!(path, "[{place}]");
                match (left.get(place), right.get(place)) {
                    (Some(wanted), Some(got)) => {
                        if let Some(pair) = difference((wanted, got), members, path) {
                            return Some(pair);
                        }
                    }
                    pair => return Some(pair),
                }
                path.truncate(length);
            }
            None
        }
        // Two integers are compared exactly, which floating-point numbers could not do beyond 53 bits.
        (Value::Number(left), Value::Number(right))
            if (left.is_f64() || right.is_f64()) && left.as_f64() == right.as_f64() =>
        {
            None
        }
        _ if wanted == got => None,
        _ => Some((Some(wanted), Some(got))),
    }
}
