//! The request of an operation of a description: parameters, credentials, body.

use super::omission::OmissionReason;
use super::reference::Description;
use super::sample::Sampler;
use super::values::{deep_pairs, example, plain};
use crate::import::document::step;
use crate::import::draft::{is_json, media_type, percent_encoded};
use crate::import::{Body, Operation};
use serde_json::Value;
use std::fmt::Write as _;

/// The separator between the parts of a form; no sample contains this text.
const BOUNDARY: &str = "prony-part";

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
        let scheme = description.document.value.pointer(&pointer);
        let Some((scheme, _)) = scheme.and_then(|scheme| description.resolved(scheme, &pointer).ok()) else {
            made.add_gap(format!(
                "The security scheme `{name}` is not described: credentials are left out."
            ));
            continue;
        };
        let text = |key: &str| scheme.get(key).and_then(Value::as_str).unwrap_or_default();
        let remark = format!(
            "{}: `{name}` needs a secret: replace \"SECRET\".",
            description.place(&pointer)
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

/// Adds the body of a request.
pub(super) fn body<'a>(
    sampler: &Sampler<'a>,
    content: &'a Value,
    pointer: &str,
    made: &mut Operation,
) -> Result<(), OmissionReason> {
    let Some(kinds) = content.as_object().filter(|kinds| !kinds.is_empty()) else {
        return Ok(());
    };
    let rank = |kind: &str| match media_type(kind).as_str() {
        "application/json" => 0,
        json if is_json(json) => 1,
        "application/x-www-form-urlencoded" => 2,
        "multipart/form-data" => 3,
        text if text.starts_with("text/") => 4,
        "*/*" => 5,
        "application/octet-stream" => 6,
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
        return Err(format!(
            "its body is of type {kind}, which a draft cannot contain: save one as a file, `file = …`"
        )
        .into());
    }
    let (media, pointer) = sampler.description.resolved(media, &step(pointer, kind))?;
    let mut value = example(sampler, media, &pointer)?;
    if !matches!(rank(kind), 4 | 6) {
        value = sampler.as_described(value, media.get("schema"), &step(&pointer, "schema"));
    }
    let sent = match rank(kind) {
        0 | 1 | 5 => Body::Json(value),
        2 => Body::Text(form(&value)),
        3 => Body::Text(multipart(sampler, (media, &pointer), &value)),
        _ => Body::Text(plain(&value)),
    };
    let sent_kind = match rank(kind) {
        5 => "application/json".to_owned(),
        3 => format!("multipart/form-data; boundary={BOUNDARY}"),
        _ => kind.clone(),
    };
    made.headers.push(("Content-Type".to_owned(), sent_kind));
    made.body = Some(sent);
    Ok(())
}

/// A form as in a URL: items of a list have the same name, members of an object `name[member]`.
fn form(value: &Value) -> String {
    let members = value.as_object().into_iter().flatten();
    let pairs: Vec<String> = members
        .flat_map(|(name, member)| deep_pairs(name, member))
        .collect();
    pairs.join("&")
}

/// A multipart form, as browsers send it (OpenAPI 3.1.1, section 4.8.15): a part for each item of a list, files with a name, and objects
/// as JSON.
fn multipart<'a>(sampler: &Sampler<'a>, (media, pointer): (&'a Value, &str), value: &Value) -> String {
    let mut text = String::new();
    for (name, member) in value.as_object().into_iter().flatten() {
        let schema = media.get("schema");
        let property = schema.and_then(|schema| sampler.property(schema, &step(pointer, "schema"), name));
        let is_file = property.is_some_and(|property| sampler.is_binary(property));
        let encoding = media.pointer(&step(&step("", "encoding"), name));
        let given = encoding.and_then(|encoding| encoding.get("contentType")?.as_str()?.split(',').next());
        let items = match member {
            Value::Array(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        for item in items {
            let kind = match item {
                _ if given.is_some_and(|given| !given.contains('*')) => given,
                _ if is_file => Some("application/octet-stream"),
                Value::Object(_) | Value::Array(_) => Some("application/json"),
                _ => None,
            };
            let file = if is_file { "; filename=\"file\"" } else { "" };
            let kind = kind
                .map(|kind| format!("Content-Type: {}\r\n", kind.trim()))
                .unwrap_or_default();
            let name = name.replace('"', "%22");
            let item = plain(item);
            let _ = write!(
                text,
                "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n{kind}\r\n{item}\r\n"
            );
        }
    }
    let _ = write!(text, "--{BOUNDARY}--\r\n");
    text
}
