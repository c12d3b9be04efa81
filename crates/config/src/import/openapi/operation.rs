//! One operation of a description.

use super::reference::Description;
use super::request::{self, Parameter};
use super::sample::Sampler;
use super::schema::Schemas;
use crate::import::document::step;
use crate::import::draft::{Names, is_json, media_type};
use crate::import::{DraftError, Expect, ExpectedBody, Operation};
use serde_json::Value;
use url::Url;

/// The longest path, bytes, which is also that of a URL in recordings.
const LONGEST_PATH: usize = 16 * 1024;
/// Bytes of a path with its placeholders.
const LONGEST_TEMPLATE: usize = 4 * 1024;

/// The most parameters of an operation.
const MOST_PARAMETERS: usize = 200;

/// The position of an operation.
pub(super) struct OperationLocation<'a> {
    pub(super) pointer: &'a str,
    pub(super) method: &'a str,
    pub(super) path: &'a str,
}

/// The operation, or why it is left out.
pub(super) fn read<'a>(
    sampler: &Sampler<'a>,
    place: &OperationLocation<'_>,
    (names, schemas): (&mut Names, &mut Schemas<'a>),
) -> Result<Result<Operation, String>, DraftError> {
    let description = sampler.description;
    let document = description.document;
    let method = place.method.to_uppercase();
    if place.path.len() > LONGEST_TEMPLATE {
        return Ok(Err(format!("its path has more than {LONGEST_TEMPLATE} bytes")));
    }
    if matches!(method.as_str(), "TRACE" | "OPTIONS") {
        return Ok(Err(format!("{method} is not a call of an API")));
    }
    let operation = document
        .value
        .pointer(place.pointer)
        .expect("invariant: it was found there");
    let text = |key: &str| operation.get(key).and_then(Value::as_str);
    let name = match text("operationId").filter(|name| !name.trim().is_empty()) {
        Some(name) => names.take(name),
        None => names.of_request(&method, place.path),
    };
    let mut made = Operation {
        name,
        from: format!("{}, {method} {}", document.place(place.pointer), place.path),
        summary: text("summary")
            .or_else(|| text("description").and_then(|text| text.lines().next()))
            .map(|text| text.trim().to_owned())
            .unwrap_or_default(),
        method,
        path: format!("{}{}", base(description, operation), place.path),
        ..Operation::default()
    };
    let parameters = parameters(description, operation, place)?;
    if parameters.len() > MOST_PARAMETERS {
        return Ok(Err(format!("it has more than {MOST_PARAMETERS} parameters")));
    }
    sampler.begin();
    request::parameters(sampler, &parameters, &mut made)?;
    if made.path.len() > LONGEST_PATH {
        return Ok(Err(format!("its path has more than {LONGEST_PATH} bytes")));
    }
    request::credentials(description, operation, &mut made);
    if let Some(body) = operation.get("requestBody") {
        let (body, pointer) = description.resolved(body, &step(place.pointer, "requestBody"))?;
        if let Some(content) = body.get("content")
            && let Err(why) = request::body(sampler, content, &step(&pointer, "content"), &mut made)?
        {
            return Ok(Err(why));
        }
    }
    made.remarks.extend(sampler.remark());
    expectation(description, place, (operation, schemas), &mut made)?;
    Ok(Ok(made))
}

/// The path of the first server, with its variables filled.
fn base(description: &Description<'_>, operation: &Value) -> String {
    let server = operation
        .pointer("/servers/0")
        .or_else(|| description.document.value.pointer("/servers/0"));
    let Some(url) = server
        .and_then(|server| server.get("url"))
        .and_then(Value::as_str)
    else {
        return String::new();
    };
    let url = filled(url, server.and_then(|server| server.get("variables")));
    let path = match Url::parse(&url) {
        Ok(parsed) => parsed.path().to_owned(),
        Err(_) => url,
    };
    let path = path.trim_end_matches('/');
    if path.starts_with('/') {
        path.to_owned()
    } else {
        String::new()
    }
}

/// A URL with its variables, whose values contain none.
fn filled(url: &str, variables: Option<&Value>) -> String {
    let (mut out, mut rest) = (String::new(), url);
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let known = after.split_once('}').and_then(|(name, after)| {
            let value = variables?.get(name)?.get("default").and_then(Value::as_str);
            Some((value.unwrap_or_default(), after))
        });
        let (value, after) = known.unwrap_or(("{", after));
        out.push_str(value);
        rest = after;
    }
    out + rest
}

/// The parameters of the path item and of the operation; the latter take precedence.
fn parameters<'a>(
    description: &'a Description<'a>,
    operation: &'a Value,
    place: &OperationLocation<'_>,
) -> Result<Vec<Parameter<'a>>, DraftError> {
    let item_pointer = place.pointer.rsplit_once('/').map_or("", |(item, _)| item);
    let item = description.document.value.pointer(item_pointer);
    let mut found: Vec<Parameter<'a>> = Vec::new();
    for (holder, at) in [(item, item_pointer), (Some(operation), place.pointer)] {
        let list = holder
            .and_then(|holder| holder.get("parameters"))
            .and_then(Value::as_array);
        let list = list.into_iter().flatten().take(MOST_PARAMETERS + 1);
        for (number, parameter) in list.enumerate() {
            let here = step(&step(at, "parameters"), &number.to_string());
            let (parameter, _) = description.resolved(parameter, &here)?;
            let same = |known: &Parameter<'_>| {
                known.0.get("name") == parameter.get("name") && known.0.get("in") == parameter.get("in")
            };
            found.retain(|known| !same(known));
            found.push((parameter, here));
        }
    }
    Ok(found)
}

/// The expected status of success, and the expected body.
fn expectation<'a>(
    description: &'a Description<'a>,
    place: &OperationLocation<'_>,
    (operation, schemas): (&'a Value, &mut Schemas<'a>),
    made: &mut Operation,
) -> Result<(), DraftError> {
    let responses = operation.get("responses").and_then(Value::as_object);
    let codes = || responses.into_iter().flatten().map(|(code, _)| code.as_str());
    let success = codes()
        .filter(|code| code.starts_with('2'))
        .min()
        .or_else(|| codes().find(|code| *code == "default"));
    let others: Vec<&str> = codes().filter(|code| Some(*code) != success).collect();
    if !others.is_empty() {
        made.remarks
            .push(format!("Also described, but not called: {}.", others.join(", ")));
    }
    let Some(code) = success else {
        made.expect.status = codes().filter_map(|code| code.parse().ok()).take(1).collect();
        if made.expect.status.is_empty() {
            made.expect.status = vec![200];
            made.remarks
                .push("Its replies are not described: 200 is a guess.".to_owned());
        }
        return Ok(());
    };
    let status = match code.parse() {
        Ok(code) => vec![code],
        // `2XX` and `default` do not name a status.
        Err(_) => vec![200, 201, 202, 204],
    };
    made.expect = Expect {
        status,
        ..Expect::default()
    };
    let pointer = step(&step(place.pointer, "responses"), code);
    let (response, pointer) =
        description.resolved(&responses.expect("invariant: it has one")[code], &pointer)?;
    let Some(kinds) = response
        .get("content")
        .and_then(Value::as_object)
        .filter(|kinds| !kinds.is_empty())
    else {
        return Ok(());
    };
    let (kind, media) = kinds
        .iter()
        .min_by_key(|(kind, _)| !is_json(kind))
        .expect("invariant: there is one");
    if !kind.contains('*') {
        made.expect.media_type = Some(media_type(kind));
        made.headers.push(("Accept".to_owned(), media_type(kind)));
    }
    if let Some(schema) = media.get("schema").filter(|_| is_json(kind)) {
        let below = step(&step(&step(&pointer, "content"), kind), "schema");
        let name = schemas.named(schema, &below, &format!("{}_reply", made.name))?;
        made.expect.body = Some(ExpectedBody::Schema(name));
    }
    Ok(())
}
