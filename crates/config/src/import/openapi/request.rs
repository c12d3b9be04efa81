//! The request of an operation of a description: parameters, credentials, body.

use super::reference::Description;
use super::sample::Sampler;
use crate::import::document::step;
use crate::import::draft::{is_json, media_type, percent_encoded};
use crate::import::{Body, DraftError, Operation};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The separator between the parts of a form; no sample contains this text.
const BOUNDARY: &str = "prony-part";

/// A parameter, with its position.
pub(super) type Parameter<'a> = (&'a Value, String);

/// A scalar, as written in a URL.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The example of a parameter or a body; otherwise a sample of its schema.
fn example<'a>(sampler: &Sampler<'a>, holder: &'a Value, pointer: &str) -> Result<Value, DraftError> {
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

/// Adds the parameters that are required or have an example.
pub(super) fn parameters<'a>(
    sampler: &Sampler<'a>,
    parameters: &[Parameter<'a>],
    made: &mut Operation,
) -> Result<(), DraftError> {
    let document = sampler.description.document;
    let mut query = Vec::new();
    let mut cookies = Vec::new();
    let mut left_out = Vec::new();
    for (parameter, pointer) in parameters {
        let text = |key: &str| parameter.get(key).and_then(Value::as_str);
        let (Some(name), Some(place)) = (text("name"), text("in")) else {
            return Err(document.invalid(pointer, "a parameter needs `name` and `in`"));
        };
        let required = parameter.get("required") == Some(&Value::Bool(true)) || place == "path";
        if !required && parameter.get("example").is_none() && parameter.get("examples").is_none() {
            left_out.push(name.to_owned());
            continue;
        }
        let value = example(sampler, parameter, pointer)?;
        if parameter.pointer("/schema/pattern").is_some() && parameter.get("example").is_none() {
            made.remarks
                .push(format!("`{name}` must match a pattern: check its value."));
        }
        match place {
            "path" => {
                let text = joined(&value);
                let sign = format!("{{{name}}}");
                if !made.path.contains(&sign) {
                    let message =
                        format!("the path has no `{sign}`: remove the parameter, or add it to the path");
                    return Err(document.invalid(pointer, message));
                }
                // The value of a placeholder cannot have placeholders itself.
                let part = if text.contains('{') {
                    percent_encoded(&text)
                } else {
                    marked(&made.place(name, &text))
                };
                made.path = made.path.replace(&sign, &part);
            }
            "query" => query.extend(pairs(name, &value, parameter)),
            "header"
                if ["accept", "content-type", "authorization"]
                    .contains(&name.to_ascii_lowercase().as_str()) => {}
            "header" => made.headers.push((name.to_owned(), joined(&value))),
            "cookie" => cookies.push(format!("{name}={}", percent_encoded(&joined(&value)))),
            other => {
                let message = format!("a parameter in `{other}`: use path, query, header or cookie");
                return Err(document.invalid(pointer, message));
            }
        }
    }
    finish_path(made);
    if !query.is_empty() {
        made.path = format!("{}?{}", made.path, query.join("&"));
    }
    if !cookies.is_empty() {
        made.headers.push(("Cookie".to_owned(), cookies.join("; ")));
    }
    if !left_out.is_empty() {
        made.remarks
            .push(format!("Left out, since optional: {}.", left_out.join(", ")));
    }
    Ok(())
}

/// Placeholders of the path that the description does not define also get a value.
fn finish_path(made: &mut Operation) {
    let path = std::mem::take(&mut made.path);
    let mut known: BTreeMap<&str, String> = BTreeMap::new();
    let (mut out, mut rest) = (String::new(), path.as_str());
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            break;
        };
        let place = known.entry(name).or_insert_with(|| {
            made.remarks.push(format!(
                "`{name}` of the path is not described: check whether \"1\" is a valid value."
            ));
            marked(&made.place(name, "1"))
        });
        out = out + before + place;
        rest = after;
    }
    let path = (out + rest).replace('{', "%7B").replace('}', "%7D");
    made.path = path.replace(MARKS[0], "{").replace(MARKS[1], "}");
}

/// Replace the braces of a finished placeholder: its name may equal the name of a later parameter.
const MARKS: [char; 2] = ['\u{1}', '\u{2}'];

fn marked(place: &str) -> String {
    place
        .replace('{', &MARKS[0].to_string())
        .replace('}', &MARKS[1].to_string())
}

/// A list joined by commas, as used in paths and headers.
fn joined(value: &Value) -> String {
    match value {
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| format!("{name},{}", plain(member)))
            .collect::<Vec<_>>()
            .join(","),
        other => plain(other),
    }
}

/// A parameter of the query, in the style of its description.
fn pairs(name: &str, value: &Value, parameter: &Value) -> Vec<String> {
    let pair = |name: &str, value: &str| format!("{}={}", percent_encoded(name), percent_encoded(value));
    let style = parameter.get("style").and_then(Value::as_str).unwrap_or("form");
    let explode = parameter
        .get("explode")
        .and_then(Value::as_bool)
        .unwrap_or(style == "form");
    match value {
        Value::Array(items) if explode => items.iter().map(|item| pair(name, &plain(item))).collect(),
        Value::Array(items) => {
            let separator = match style {
                "spaceDelimited" => "%20",
                "pipeDelimited" => "%7C",
                _ => ",",
            };
            let items: Vec<String> = items.iter().map(|item| percent_encoded(&plain(item))).collect();
            vec![format!("{}={}", percent_encoded(name), items.join(separator))]
        }
        Value::Object(members) if style == "deepObject" => members
            .iter()
            .map(|(member, value)| pair(&format!("{name}[{member}]"), &plain(value)))
            .collect(),
        Value::Object(members) if explode => members
            .iter()
            .map(|(member, value)| pair(member, &plain(value)))
            .collect(),
        other => vec![pair(name, &joined(other))],
    }
}

/// The credentials of the first security requirement; each is a placeholder.
pub(super) fn credentials(description: &Description<'_>, operation: &Value, made: &mut Operation) {
    let security = operation
        .get("security")
        .or_else(|| description.document.value.get("security"));
    let Some(ways) = security.and_then(Value::as_array) else {
        return;
    };
    // An empty requirement means that no credentials are needed.
    let Some(Value::Object(schemes)) = ways.first().filter(|_| !ways.contains(&serde_json::json!({}))) else {
        return;
    };
    for name in schemes.keys() {
        let pointer = step("/components/securitySchemes", name);
        let Some(scheme) = description.document.value.pointer(&pointer) else {
            continue;
        };
        let text = |key: &str| scheme.get(key).and_then(Value::as_str).unwrap_or_default();
        let remark = format!(
            "{}: `{name}` needs a secret: replace \"SECRET\".",
            description.document.place(&pointer)
        );
        match (text("type"), text("in")) {
            ("apiKey", "query") => {
                let place = made.place(text("name"), "SECRET");
                let joint = if made.path.contains('?') { '&' } else { '?' };
                made.path = format!("{}{joint}{}={place}", made.path, percent_encoded(text("name")));
            }
            ("apiKey", "cookie") => {
                let place = made.place(text("name"), "SECRET");
                made.headers
                    .push(("Cookie".to_owned(), format!("{}={place}", text("name"))));
            }
            ("apiKey", _) => {
                let place = made.place(text("name"), "SECRET");
                made.headers.push((text("name").to_owned(), place));
            }
            ("http", _) if text("scheme").eq_ignore_ascii_case("basic") => {
                let place = made.place("basic", "SECRET");
                made.headers
                    .push(("Authorization".to_owned(), format!("Basic {place}")));
            }
            ("mutualTLS", _) => {}
            _ => {
                let place = made.place("token", "SECRET");
                made.headers
                    .push(("Authorization".to_owned(), format!("Bearer {place}")));
            }
        }
        made.remarks.push(remark);
    }
}

/// The body of a request. The error says why a contract cannot contain it.
pub(super) fn body<'a>(
    sampler: &Sampler<'a>,
    content: &'a Value,
    pointer: &str,
    made: &mut Operation,
) -> Result<Result<(), String>, DraftError> {
    let Some(kinds) = content.as_object().filter(|kinds| !kinds.is_empty()) else {
        return Ok(Ok(()));
    };
    let rank = |kind: &str| match media_type(kind).as_str() {
        "application/json" => 0,
        json if is_json(json) => 1,
        "application/x-www-form-urlencoded" => 2,
        "multipart/form-data" => 3,
        text if text.starts_with("text/") => 4,
        "*/*" => 5,
        _ => 9,
    };
    let (kind, media) = kinds
        .iter()
        .min_by_key(|(kind, _)| rank(kind))
        .expect("invariant: there is one");
    let others: Vec<&str> = kinds
        .keys()
        .filter(|other| *other != kind)
        .map(String::as_str)
        .collect();
    if !others.is_empty() {
        made.remarks
            .push(format!("It also accepts {}.", others.join(", ")));
    }
    if rank(kind) == 9 {
        return Ok(Err(format!(
            "its body is of type {kind}, which a draft cannot contain: save one as a file, `file = …`"
        )));
    }
    let value = example(sampler, media, &step(pointer, kind))?;
    let sent = match rank(kind) {
        0 | 1 | 5 => Body::Json(value),
        2 => {
            let mut form = form_urlencoded::Serializer::new(String::new());
            for (name, member) in value.as_object().into_iter().flatten() {
                form.append_pair(name, &plain(member));
            }
            Body::Text(form.finish())
        }
        3 => Body::Text(parts(&value)),
        _ => Body::Text(plain(&value)),
    };
    let sent_kind = match rank(kind) {
        5 => "application/json".to_owned(),
        3 => format!("multipart/form-data; boundary={BOUNDARY}"),
        _ => kind.clone(),
    };
    made.headers.push(("Content-Type".to_owned(), sent_kind));
    made.body = Some(sent);
    Ok(Ok(()))
}

/// A multipart form, as sent by browsers.
fn parts(value: &Value) -> String {
    let mut text = String::new();
    for (name, member) in value.as_object().into_iter().flatten() {
        let name = name.replace('"', "%22");
        let member = plain(member);
        let _ = write!(
            text,
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{member}\r\n"
        );
    }
    let _ = write!(text, "--{BOUNDARY}--\r\n");
    text
}
