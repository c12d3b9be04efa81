//! One operation of a description.

use super::omission::OmissionReason;
use super::parameters::{self, Parameter};
use super::reference::Description;
use super::request;
use super::sample::Sampler;
use super::schema::Schemas;
use crate::import::document::step;
use crate::import::draft::{Names, is_json, media_type};
use crate::import::{DraftError, ExpectedBody, Operation, Success};
use serde_json::Value;
use url::Url;

/// The longest path, bytes, which is also that of a URL in recordings.
const LONGEST_PATH: usize = 16 * 1024;
/// Bytes of a path with its placeholders.
const LONGEST_TEMPLATE: usize = 4 * 1024;

/// The most parameters of an operation.
const MOST_PARAMETERS: usize = 200;

/// The position of an operation.
pub(super) struct OperationLocation {
    pub(super) pointer: String,
    /// The pointer of its path item.
    pub(super) item: String,
    pub(super) method: String,
    pub(super) path: String,
}

/// Reads one operation after the other.
pub(super) struct OperationReader<'a> {
    sampler: Sampler<'a>,
    names: Names,
    pub(super) schemas: Schemas<'a>,
}

impl<'a> OperationReader<'a> {
    pub(super) fn new(description: &'a Description<'a>) -> Self {
        Self {
            sampler: Sampler::new(description),
            names: Names::default(),
            schemas: Schemas::new(description),
        }
    }

    /// The operation, or why it is omitted.
    pub(super) fn read(&mut self, location: &OperationLocation) -> Result<Operation, String> {
        let method = &location.method;
        if location.path.len() > LONGEST_TEMPLATE {
            return Err(format!("its path has more than {LONGEST_TEMPLATE} bytes"));
        }
        if matches!(method.as_str(), "TRACE" | "OPTIONS" | "CONNECT") {
            return Err(format!("{method} is not a call of an API"));
        }
        let mut made = self.request(location).map_err(|error| match error {
            OmissionReason::Broken(error) => error.to_string(),
            OmissionReason::Unsupported(why) => why,
        })?;
        self.expectation(location, &mut made);
        Ok(made)
    }

    fn request(&mut self, location: &OperationLocation) -> Result<Operation, OmissionReason> {
        let sampler = &self.sampler;
        let description = sampler.description;
        let at = |pointer: &str| description.document.value.pointer(pointer);
        let operation = at(&location.pointer).expect("invariant: it was found there");
        let item = at(&location.item).expect("invariant: it was found there");
        let text = |key: &str| operation.get(key).and_then(Value::as_str);
        let name = match text("operationId").filter(|name| !name.trim().is_empty()) {
            Some(name) => self.names.take(name),
            None => self.names.of_request(&location.method, &location.path),
        };
        let place = description.place(&location.pointer);
        let mut made = Operation {
            name,
            from: format!("{place}, {} {}", location.method, location.path),
            summary: text("summary")
                .or_else(|| text("description").and_then(|text| text.lines().next()))
                .map(|text| text.trim().to_owned())
                .unwrap_or_default(),
            method: location.method.clone(),
            path: format!("{}{}", base(description, [operation, item]), location.path),
            ..Operation::default()
        };
        let found = described_parameters(
            description,
            [(item, &location.item), (operation, &location.pointer)],
        )?;
        if found.len() > MOST_PARAMETERS {
            return Err(format!("it has more than {MOST_PARAMETERS} parameters").into());
        }
        sampler.begin();
        parameters::add(sampler, &found, &mut made)?;
        if made.path.len() > LONGEST_PATH {
            return Err(format!("its path has more than {LONGEST_PATH} bytes").into());
        }
        request::credentials(description, operation, &mut made);
        if let Some(body) = operation.get("requestBody") {
            let (body, pointer) = description.resolved(body, &step(&location.pointer, "requestBody"))?;
            if let Some(content) = body.get("content") {
                request::body(sampler, content, &step(&pointer, "content"), &mut made)?;
            }
        }
        sampler.finish(&mut made);
        Ok(made)
    }

    /// The expected status of success, and the expected body. What cannot be read is not expected, with a remark.
    fn expectation(&mut self, location: &OperationLocation, made: &mut Operation) {
        let description = self.sampler.description;
        let responses = description
            .document
            .value
            .pointer(&format!("{}/responses", location.pointer));
        let responses = responses.and_then(Value::as_object);
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
        let (Some(code), Some(responses)) = (success, responses) else {
            let described: Vec<u16> = codes().filter_map(|code| code.parse().ok()).collect();
            made.expect.status = described.iter().copied().take(1).collect();
            made.success = Success::Listed(described);
            if made.expect.status.is_empty() {
                made.expect.status = vec![200];
                made.success = Success::Any;
                made.add_gap("Its replies are not described: 200 is a guess.");
            }
            return;
        };
        (made.expect.status, made.success) = match code.parse() {
            Ok(code) => {
                let all = codes()
                    .filter(|code| code.starts_with('2'))
                    .filter_map(|code| code.parse().ok());
                (vec![code], Success::Listed(all.collect()))
            }
            // `2XX` and `default` do not name a status.
            Err(_) => (vec![200, 201, 202, 204], Success::Any),
        };
        let pointer = step(&step(&location.pointer, "responses"), code);
        match description.resolved(&responses[code], &pointer) {
            Ok((response, pointer)) => self.expected_body(response, &pointer, made),
            Err(error) => made.add_gap(format!("{error}; only the status is checked.")),
        }
    }

    fn expected_body(&mut self, response: &'a Value, pointer: &str, made: &mut Operation) {
        let kinds = response.get("content").and_then(Value::as_object);
        let Some((kind, media)) = kinds.and_then(|kinds| kinds.iter().min_by_key(|(kind, _)| !is_json(kind)))
        else {
            return;
        };
        if !kind.contains('*') {
            made.expect.media_type = Some(media_type(kind));
            made.headers.push(("Accept".to_owned(), media_type(kind)));
        }
        let below = step(&step(pointer, "content"), kind);
        let description = self.sampler.description;
        match description.resolved(media, &below) {
            Ok((media, below)) => {
                if let Some(schema) = media.get("schema").filter(|_| is_json(kind)) {
                    let base = format!("{}_reply", made.name);
                    let name = self.schemas.named(schema, &step(&below, "schema"), &base);
                    made.expect.body = Some(ExpectedBody::Schema(name));
                }
            }
            Err(error) => made.add_gap(format!("{error}; only the status is checked.")),
        }
    }
}

/// The path of the first server, with its variables filled: that of the operation, of the path item, or of the description.
fn base(description: &Description<'_>, holders: [&Value; 2]) -> String {
    let first = |holder: &&Value| holder.get("servers").and_then(|servers| servers.get(0)).is_some();
    let holder = holders.into_iter().find(first);
    let server = holder
        .unwrap_or(&description.document.value)
        .pointer("/servers/0");
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
            let value = match variables?.get(name)?.get("default") {
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None => String::new(),
            };
            Some((value, after))
        });
        let (value, after) = known.unwrap_or(("{".to_owned(), after));
        out.push_str(&value);
        rest = after;
    }
    out + rest
}

/// The parameters of the path item and of the operation; the latter take precedence.
fn described_parameters<'a>(
    description: &'a Description<'a>,
    holders: [(&'a Value, &str); 2],
) -> Result<Vec<Parameter<'a>>, DraftError> {
    let mut found: Vec<Parameter<'a>> = Vec::new();
    for (holder, at) in holders {
        let list = holder.get("parameters").and_then(Value::as_array);
        let list = list.into_iter().flatten().take(MOST_PARAMETERS + 1);
        for (number, parameter) in list.enumerate() {
            let here = step(&step(at, "parameters"), &number.to_string());
            let (value, pointer) = description.resolved(parameter, &here)?;
            let same = |known: &Parameter<'_>| {
                known.value.get("name") == value.get("name") && known.value.get("in") == value.get("in")
            };
            found.retain(|known| !same(known));
            found.push(Parameter { value, pointer });
        }
    }
    Ok(found)
}
