//! The parameters of an operation: path, query, headers and cookies, in the styles of OpenAPI (3.1.1, section 4.8.12).

use super::omission::OmissionReason;
use super::sample::Sampler;
use super::values::{deep_pairs, example, plain};
use crate::import::Operation;
use crate::import::draft::{is_json, percent_encoded};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use std::collections::BTreeMap;

/// What stays as it is with `allowReserved`. Characters that would end the value or the query are encoded nevertheless.
const WITH_RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b':')
    .remove(b'/')
    .remove(b'?')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b',')
    .remove(b';');

/// A parameter, with its position.
pub(super) struct Parameter<'a> {
    pub(super) value: &'a Value,
    pub(super) pointer: String,
}

/// The parts of a request that parameters add.
#[derive(Default)]
struct ParameterParts {
    query: Vec<String>,
    cookies: Vec<String>,
    left_out: Vec<String>,
}

/// Adds the parameters that are required or have an example.
pub(super) fn add<'a>(
    sampler: &Sampler<'a>,
    parameters: &[Parameter<'a>],
    made: &mut Operation,
) -> Result<(), OmissionReason> {
    let mut parts = ParameterParts::default();
    for parameter in parameters {
        let is_required = parameter.value.get("required") == Some(&Value::Bool(true))
            || parameter.text("in") == Some("path");
        match add_one(sampler, parameter, is_required, (&mut parts, made)) {
            Err(OmissionReason::Broken(error)) if !is_required => {
                let name = parameter.text("name").unwrap_or("?");
                made.add_gap(format!("The optional parameter `{name}` is left out: {error}"));
            }
            other => other?,
        }
    }
    finish_path(made);
    if !parts.query.is_empty() {
        made.path = format!("{}?{}", made.path, parts.query.join("&"));
    }
    if !parts.cookies.is_empty() {
        made.headers.push(("Cookie".to_owned(), parts.cookies.join("; ")));
    }
    if !parts.left_out.is_empty() {
        made.remarks.push(format!(
            "Left out, since optional: {}.",
            parts.left_out.join(", ")
        ));
    }
    Ok(())
}

impl<'a> Parameter<'a> {
    fn text(&self, key: &str) -> Option<&'a str> {
        self.value.get(key).and_then(Value::as_str)
    }
}

fn add_one<'a>(
    sampler: &Sampler<'a>,
    parameter: &Parameter<'a>,
    is_required: bool,
    (parts, made): (&mut ParameterParts, &mut Operation),
) -> Result<(), OmissionReason> {
    let (Some(name), Some(place)) = (parameter.text("name"), parameter.text("in")) else {
        let description = sampler.description;
        return Err(description
            .invalid(&parameter.pointer, "a parameter needs `name` and `in`")
            .into());
    };
    let has_example = parameter.value.get("example").is_some() || parameter.value.get("examples").is_some();
    if !is_required && !has_example {
        parts.left_out.push(name.to_owned());
        return Ok(());
    }
    let value = serialized(parameter, example(sampler, parameter.value, &parameter.pointer)?);
    match place {
        "path" => path(name, &value, parameter, made),
        "query" => parts.query.extend(pairs(name, &value, parameter.value)),
        "querystring" => parts.query.extend(whole_query(&value)),
        "header"
            if ["accept", "content-type", "authorization"].contains(&name.to_ascii_lowercase().as_str()) => {}
        "header" => made.headers.push((
            name.to_owned(),
            simple(&value, explode(parameter.value, false), &str::to_owned),
        )),
        "cookie" => {
            let value = simple(&value, false, &percent_encoded);
            parts.cookies.push(format!("{name}={value}"));
        }
        other => {
            let message = format!("a parameter in `{other}`: use path, query, querystring, header or cookie");
            return Err(sampler.description.invalid(&parameter.pointer, message).into());
        }
    }
    Ok(())
}

/// The value of a parameter with `content` is a text of that type.
fn serialized(parameter: &Parameter<'_>, value: Value) -> Value {
    let content = parameter.value.get("content").and_then(Value::as_object);
    let kind = content.and_then(|kinds| kinds.keys().next());
    if kind.is_some_and(|kind| is_json(kind)) && parameter.text("in") != Some("querystring") {
        Value::from(value.to_string())
    } else {
        value
    }
}

fn explode(parameter: &Value, default: bool) -> bool {
    parameter
        .get("explode")
        .and_then(Value::as_bool)
        .unwrap_or(default)
}

fn path(name: &str, value: &Value, parameter: &Parameter<'_>, made: &mut Operation) {
    let sign = format!("{{{name}}}");
    if !made.path.contains(&sign) {
        made.remarks.push(format!(
            "The parameter `{name}` is not in the path, so it has no use."
        ));
        return;
    }
    let style = parameter.text("style").unwrap_or("simple");
    let explode = explode(parameter.value, false);
    let is_scalar = !value.is_array() && !value.is_object();
    let part = match style {
        "label" => format!(".{}", labels(value, explode)),
        "matrix" => matrix(name, value, explode),
        // The value of a placeholder cannot have placeholders itself, and a comma in it is part of the value.
        _ if is_scalar && !plain(value).contains('{') => marked(&made.place(name, &plain(value))),
        _ => simple(value, explode, &percent_encoded),
    };
    made.path = made.path.replace(&sign, &part);
}

/// Lists and objects joined by commas.
fn simple(value: &Value, explode: bool, encoded: &dyn Fn(&str) -> String) -> String {
    let join = if explode { "=" } else { "," };
    match value {
        Value::Array(items) => items
            .iter()
            .map(|item| encoded(&plain(item)))
            .collect::<Vec<_>>()
            .join(","),
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| format!("{}{join}{}", encoded(name), encoded(&plain(member))))
            .collect::<Vec<_>>()
            .join(","),
        other => encoded(&plain(other)),
    }
}

fn labels(value: &Value, explode: bool) -> String {
    match value {
        Value::Array(items) if explode => items
            .iter()
            .map(|item| percent_encoded(&plain(item)))
            .collect::<Vec<_>>()
            .join("."),
        Value::Object(members) if explode => members
            .iter()
            .map(|(name, member)| format!("{}={}", percent_encoded(name), percent_encoded(&plain(member))))
            .collect::<Vec<_>>()
            .join("."),
        other => simple(other, false, &percent_encoded),
    }
}

fn matrix(name: &str, value: &Value, explode: bool) -> String {
    let one =
        |name: &str, value: &Value| format!(";{}={}", percent_encoded(name), percent_encoded(&plain(value)));
    match value {
        Value::Array(items) if explode => items.iter().map(|item| one(name, item)).collect(),
        Value::Object(members) if explode => members.iter().map(|(name, member)| one(name, member)).collect(),
        other => format!(
            ";{}={}",
            percent_encoded(name),
            simple(other, false, &percent_encoded)
        ),
    }
}

/// A parameter of the query, in the style of its description.
fn pairs(name: &str, value: &Value, parameter: &Value) -> Vec<String> {
    let allows_reserved = parameter.get("allowReserved") == Some(&Value::Bool(true));
    let encoded = |text: &str| {
        if allows_reserved {
            utf8_percent_encode(text, WITH_RESERVED).to_string()
        } else {
            percent_encoded(text)
        }
    };
    let pair = |name: &str, value: &str| format!("{}={}", percent_encoded(name), encoded(value));
    let style = parameter.get("style").and_then(Value::as_str).unwrap_or("form");
    let explode = explode(parameter, style == "form");
    match value {
        Value::Object(_) if style == "deepObject" => deep_pairs(name, value),
        Value::Array(items) if explode => items.iter().map(|item| pair(name, &plain(item))).collect(),
        Value::Array(items) => {
            let separator = match style {
                "spaceDelimited" => "%20",
                "pipeDelimited" => "%7C",
                _ => ",",
            };
            let items: Vec<String> = items.iter().map(|item| encoded(&plain(item))).collect();
            vec![format!("{}={}", percent_encoded(name), items.join(separator))]
        }
        Value::Object(members) if explode => members
            .iter()
            .map(|(member, value)| pair(member, &plain(value)))
            .collect(),
        other => vec![format!(
            "{}={}",
            percent_encoded(name),
            simple(other, false, &encoded)
        )],
    }
}

/// A parameter that is the whole query (3.2): the members of an object, or a text.
fn whole_query(value: &Value) -> Vec<String> {
    match value {
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, member)| deep_pairs(name, member))
            .collect(),
        Value::String(text) => vec![text.clone()],
        other => vec![percent_encoded(&other.to_string())],
    }
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
            made.add_gap(format!(
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
