//! Postman collections, version 2.0 or 2.1.

use crate::import::document::{Document, step};
use crate::import::draft::{Names, media_type};
use crate::import::message::{CapturedReply, CapturedRequest, expectation, operation, parts};
use crate::import::size::{DraftRoom, Room};
use crate::import::{Draft, DraftError, Operation};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

/// A server for URLs that start with a variable without a value.
const SOME_SERVER: &str = "http://server.invalid";
/// The deepest nesting of folders, and of variables in variables.
const DEEPEST: usize = 20;
/// How much the variables of a collection may take wherever they are filled in, bytes. Each may contain others several times, so that
/// a few could take any amount.
const FILLED: usize = 16 << 20;

/// A draft of the requests of a collection.
pub fn from_postman(path: &Path) -> Result<Draft, DraftError> {
    let document = Document::read(path)?;
    let Some(items) = document.value.get("item").and_then(Value::as_array) else {
        let message = "not a Postman collection: it has no list `item`; export it as \"Collection v2.1\"";
        return Err(document.invalid("", message));
    };
    let text = |pointer: &str| document.value.pointer(pointer).and_then(Value::as_str);
    let title = text("/info/name").unwrap_or("A Postman collection");
    let mut reading = CollectionReader {
        document: &document,
        variables: variables(&document.value),
        filled: RefCell::new(Room::of(FILLED)),
        names: Names::default(),
        room: DraftRoom::new(),
        draft: Draft {
            title: title.to_owned(),
            summary: format!("The requests of the collection \"{title}\"."),
            source: format!("{} (Postman)", document.file),
            has_real_requests: true,
            ..Draft::default()
        },
    };
    reading.items(items, "/item", (document.value.get("auth"), 0))?;
    let mut draft = reading.draft;
    draft.remarks.extend(reading.room.remark());
    if draft.operations.is_empty() {
        let why = draft
            .remarks
            .first()
            .map(|remark| format!(": {remark}"))
            .unwrap_or_default();
        let message = format!("it has no request that a contract can send{why}");
        return Err(document.invalid("/item", message));
    }
    Ok(draft)
}

fn variables(value: &Value) -> BTreeMap<String, String> {
    let list = value.get("variable").and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(|variable| {
            let name = variable.get("key").or_else(|| variable.get("id"))?.as_str()?;
            let text = match variable.get("value")? {
                Value::String(text) => text.clone(),
                Value::Null => return None,
                other => other.to_string(),
            };
            Some((name.to_owned(), text))
        })
        .collect()
}

struct CollectionReader<'a> {
    document: &'a Document,
    variables: BTreeMap<String, String>,
    /// What is left of [`FILLED`].
    filled: RefCell<Room>,
    names: Names,
    room: DraftRoom,
    draft: Draft,
}

impl<'a> CollectionReader<'a> {
    fn items(
        &mut self,
        items: &'a [Value],
        pointer: &str,
        (auth, depth): (Option<&'a Value>, usize),
    ) -> Result<(), DraftError> {
        if depth > DEEPEST {
            return Err(self.document.invalid(pointer, "endlessly nested folders"));
        }
        for (place, item) in items.iter().enumerate() {
            let here = step(pointer, &place.to_string());
            let auth = item.get("auth").filter(|auth| !auth.is_null()).or(auth);
            if let Some(below) = item.get("item").and_then(Value::as_array) {
                self.items(below, &step(&here, "item"), (auth, depth + 1))?;
            } else if item.get("request").is_some() {
                self.request(item, &here, auth)?;
            } else {
                return Err(self
                    .document
                    .invalid(&here, "an item that is neither a folder nor a request"));
            }
        }
        Ok(())
    }

    /// A text with the collection's variables filled, which may contain others. Those without a value stay.
    fn filled(&self, text: &str) -> String {
        let mut out = String::new();
        self.fill(text, 0, &mut out);
        out
    }

    fn fill(&self, text: &str, depth: usize, out: &mut String) {
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            out.push_str(before);
            let variable = after.split_once("}}").filter(|_| depth < DEEPEST);
            let known = variable.and_then(|(name, after)| Some((self.variables.get(name)?, after)));
            let known = known.filter(|(value, _)| self.filled.borrow_mut().take_bytes(1 + value.len()));
            if let Some((value, after)) = known {
                self.fill(value, depth + 1, out);
                rest = after;
            } else {
                out.push_str("{{");
                rest = after;
            }
        }
        out.push_str(rest);
    }

    fn request(&mut self, item: &Value, here: &str, auth: Option<&Value>) -> Result<(), DraftError> {
        let name = item.get("name").and_then(Value::as_str).unwrap_or("request");
        let pointer = step(here, "request");
        if !self.room.is_open(|| self.document.place(&pointer)) {
            return Ok(());
        }
        let request = &item["request"];
        let (method, url) = match request {
            Value::String(url) => ("GET", Some(url.as_str())),
            _ => (
                request.get("method").and_then(Value::as_str).unwrap_or("GET"),
                request
                    .get("url")
                    .and_then(|url| url.as_str().or_else(|| url.get("raw")?.as_str())),
            ),
        };
        let Some(url) = url else {
            return Err(self
                .document
                .invalid(&pointer, format!("the request `{name}` has no `url`")));
        };
        let mut sent = CapturedRequest {
            method: method.to_owned(),
            headers: self.headers(request),
            ..CapturedRequest::default()
        };
        let left_out = |why: String| {
            let place = self.document.place(&pointer);
            format!("{place}: `{name}` is left out: {why}")
        };
        match self.body(request, &mut sent.headers) {
            Ok(body) => sent.body = body,
            Err(why) => {
                let remark = left_out(why);
                self.draft.remarks.push(remark);
                return Ok(());
            }
        }
        self.authorise(auth, &mut sent);
        // Variables without a value get a marker that is valid in a URL until they become placeholders.
        let mut unknown = Vec::new();
        sent.url = self.address(url, request, &mut unknown);
        let target = match parts(&sent.url) {
            Ok((_, target)) => target,
            Err(why) => {
                let remark = left_out(why);
                self.draft.remarks.push(remark);
                return Ok(());
            }
        };
        let from = format!("{}, `{name}`", self.document.place(&pointer));
        let mut made = operation(&mut self.names, from, (&sent, &target));
        made.name = self.names.take(name);
        name.clone_into(&mut made.summary);
        for (sign, variable) in unknown {
            let place = made.place(&variable, "1");
            made.path = made.path.replace(&sign, &place);
            made.remarks.push(format!(
                "`{{{{{variable}}}}}` has no value in the collection: replace \"1\"."
            ));
        }
        places(&mut made);
        answer(item, &mut made);
        self.room
            .add(made, &mut self.draft.operations, || self.document.place(&pointer));
        Ok(())
    }

    fn address(&self, url: &str, request: &Value, unknown: &mut Vec<(String, String)>) -> String {
        let mut url = self.filled(url);
        if url.starts_with("{{")
            && let Some((_, rest)) = url.split_once("}}")
        {
            url = format!("{SOME_SERVER}{rest}");
        }
        if !url.contains("://") {
            url = format!("http://{url}");
        }
        // `/:id` has its value in the list of the URL.
        let known = request.get("url").map(variables).unwrap_or_default();
        let segment = |segment: &str| {
            let variable = segment.strip_prefix(':')?;
            let end = variable.find(['?', '#']).unwrap_or(variable.len());
            let (name, after) = variable.split_at(end);
            Some(self.filled(known.get(name)?) + after)
        };
        if !known.is_empty() {
            let segments = url
                .split('/')
                .map(|text| segment(text).unwrap_or_else(|| text.to_owned()));
            url = segments.collect::<Vec<_>>().join("/");
        }
        with_variables(&url, |name| {
            let sign = format!("prony-place-{}-", unknown.len());
            unknown.push((sign.clone(), name.to_owned()));
            sign
        })
    }

    fn headers(&self, request: &Value) -> Vec<(String, String)> {
        let list = request.get("header").and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .filter(|header| header.get("disabled") != Some(&json!(true)))
            .filter_map(|header| {
                let name = header.get("key")?.as_str()?;
                Some((name.to_owned(), self.filled(header.get("value")?.as_str()?)))
            })
            .collect()
    }

    /// The body, or why it cannot be sent.
    fn body(&self, request: &Value, headers: &mut Vec<(String, String)>) -> Result<Option<String>, String> {
        let Some(body) = request.get("body").filter(|body| body.is_object()) else {
            return Ok(None);
        };
        let mut add_type = |kind: &str| {
            if !headers
                .iter()
                .any(|(name, _)| name.eq_ignore_ascii_case("content-type"))
            {
                headers.push(("Content-Type".to_owned(), kind.to_owned()));
            }
        };
        match body.get("mode").and_then(Value::as_str) {
            None => Ok(None),
            Some("raw") => {
                let text = self.filled(body.get("raw").and_then(Value::as_str).unwrap_or_default());
                if body.pointer("/options/raw/language") == Some(&json!("json")) && !text.is_empty() {
                    add_type("application/json");
                }
                Ok(Some(text))
            }
            Some("urlencoded") => {
                add_type("application/x-www-form-urlencoded");
                let mut form = form_urlencoded::Serializer::new(String::new());
                for field in body
                    .get("urlencoded")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                {
                    let text =
                        |key: &str| self.filled(field.get(key).and_then(Value::as_str).unwrap_or_default());
                    form.append_pair(&text("key"), &text("value"));
                }
                Ok(Some(form.finish()))
            }
            Some("graphql") => {
                add_type("application/json");
                let query = self.filled(
                    body.pointer("/graphql/query")
                        .and_then(Value::as_str)
                        .unwrap_or_default(),
                );
                let variables = body
                    .pointer("/graphql/variables")
                    .and_then(Value::as_str)
                    .unwrap_or("{}");
                let variables: Value = serde_json::from_str(&self.filled(variables)).unwrap_or(Value::Null);
                Ok(Some(
                    json!({ "query": query, "variables": variables }).to_string(),
                ))
            }
            Some(mode) => Err(format!(
                "its body is of mode `{mode}`, whose bytes are not in the collection: save them as a file of the contract, `file = …`"
            )),
        }
    }

    fn authorise(&self, auth: Option<&Value>, sent: &mut CapturedRequest) {
        let Some(auth) = auth else { return };
        let kind = auth.get("type").and_then(Value::as_str).unwrap_or_default();
        let values = match auth.get(kind) {
            Some(Value::Array(list)) => variables(&json!({ "variable": list })),
            Some(Value::Object(members)) => members
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
                .collect(),
            _ => BTreeMap::new(),
        };
        let value = |name: &str| self.filled(values.get(name).map_or("", String::as_str));
        let header = match kind {
            "bearer" => ("Authorization".to_owned(), format!("Bearer {}", value("token"))),
            "basic" => {
                let pair = format!("{}:{}", value("username"), value("password"));
                let coded = STANDARD.encode(pair);
                ("Authorization".to_owned(), format!("Basic {coded}"))
            }
            "apikey" if value("in") != "query" => (value("key"), value("value")),
            _ => return,
        };
        if !sent
            .headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case(&header.0))
        {
            sent.headers.push(header);
        }
    }
}

/// A text with something else in the place of each variable.
fn with_variables(text: &str, mut of: impl FnMut(&str) -> String) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else {
            break;
        };
        out = out + before + &of(name);
        rest = after;
    }
    out + rest
}

/// Turns variables without a value in headers and body into placeholders.
fn places(made: &mut Operation) {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut headers = std::mem::take(&mut made.headers);
    for (_, value) in &mut headers {
        *value = with_variables(value, |name| {
            let place = found.entry(name.to_owned());
            place.or_insert_with(|| made.place(name, "1")).clone()
        });
    }
    made.headers = headers;
    for name in found.keys() {
        made.remarks.push(format!(
            "`{{{{{name}}}}}` has no value in the collection: replace \"1\"."
        ));
    }
}

/// The saved reply if there is one, otherwise any success.
fn answer(item: &Value, made: &mut Operation) {
    let saved = item.get("response").and_then(Value::as_array).and_then(|list| {
        let success = |reply: &&Value| {
            reply
                .get("code")
                .and_then(Value::as_u64)
                .is_some_and(|code| code < 400)
        };
        list.iter().find(success).or_else(|| list.first())
    });
    let Some((reply, code)) = saved.and_then(|reply| Some((reply, reply.get("code")?.as_u64()?))) else {
        made.expect.status = vec![200];
        let remark =
            "No reply is saved in the collection: 200 is a guess. Use `--record URL` to query the server.";
        made.remarks.push(remark.to_owned());
        return;
    };
    let headers = reply.get("header").and_then(Value::as_array);
    let kind = headers.into_iter().flatten().find_map(|header| {
        let name = header.get("key")?.as_str()?;
        name.eq_ignore_ascii_case("content-type")
            .then(|| header.get("value")?.as_str())
            .flatten()
    });
    let came = CapturedReply {
        status: code as u16,
        media_type: kind.map(media_type),
        body: reply.get("body").and_then(Value::as_str).map(str::to_owned),
    };
    made.expect = expectation(&came, &mut made.remarks);
}
