//! Postman collections, version 2.0 or 2.1, as files and as Postman's API returns them.

mod auth;
mod body;
mod reply;
mod url;
mod variables;

use crate::import::document::{Document, step};
use crate::import::message::{CapturedRequest, OperationMaker, other_source, parts};
use crate::import::size::DraftRoom;
use crate::import::{Draft, DraftError, Omission, Operation};
use auth::Credentials;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use url::Address;
use variables::{RequestVariables, Scopes, is_disabled, plain};

/// The deepest nesting of folders.
const DEEPEST: usize = 20;

/// The kind of a script that is run before a request.
const BEFORE_REQUEST: &str = "pre-request script";
/// The most servers that a remark names.
const MOST_SERVERS: usize = 10;

/// A draft of the requests of a collection.
pub fn from_postman(path: &Path) -> Result<Draft, DraftError> {
    let document = Document::read(path)?;
    // The API of Postman puts the collection into an object.
    let (collection, pointer) = match document.value.get("collection") {
        Some(collection) if collection.is_object() => (collection, "/collection"),
        _ => (&document.value, ""),
    };
    let Some(items) = collection.get("item").and_then(Value::as_array) else {
        return Err(document.invalid(pointer, no_collection(&document.value, collection)));
    };
    let text = |pointer: &str| collection.pointer(pointer).and_then(Value::as_str);
    let title = text("/info/name").unwrap_or("A Postman collection");
    let mut reading = CollectionReader {
        document: &document,
        maker: OperationMaker::default(),
        room: DraftRoom::new(),
        servers: BTreeMap::new(),
        draft: Draft {
            title: title.to_owned(),
            summary: format!("The requests of the collection \"{title}\"."),
            source: format!("{} (Postman)", document.file),
            has_real_requests: true,
            ..Draft::default()
        },
    };
    reading.scripts_of(collection, pointer, "the collection");
    let mut scopes = Scopes::new(collection);
    let auth = auth::own(collection, None);
    reading.items(items, &step(pointer, "item"), (&mut scopes, auth, 0));
    let draft = reading.finish();
    match (draft.operations.is_empty(), draft.omitted.is_empty()) {
        (false, _) => Ok(draft),
        (true, false) => Err(DraftError::nothing(&draft.omitted)),
        (true, true) => Err(document.invalid(&step(pointer, "item"), "the collection has no request")),
    }
}

/// Why a file is no collection of version 2.
fn no_collection(file: &Value, collection: &Value) -> &'static str {
    let has = |name: &str| collection.get(name).is_some();
    if let Some(other) = other_source(file) {
        other
    } else if collection.get("requests").is_some_and(Value::is_array) {
        "a collection of version 1: import it into Postman and export it as \"Collection v2.1\", or convert it with \
         `npx postman-collection-transformer convert -i OLD -o NEW -j 1.0.0 -p 2.1.0`"
    } else if has("values") {
        "an environment of Postman, which has no requests: give the collection"
    } else if has("collections") {
        "a dump of all data of Postman: export a single collection as \"Collection v2.1\""
    } else {
        "not a Postman collection: it has no list `item`; export it as \"Collection v2.1\""
    }
}

struct CollectionReader<'a> {
    document: &'a Document,
    maker: OperationMaker,
    room: DraftRoom,
    /// The servers as the collection writes them, with the number of their requests.
    servers: BTreeMap<String, usize>,
    draft: Draft,
}

impl<'a> CollectionReader<'a> {
    fn items(
        &mut self,
        items: &'a [Value],
        pointer: &str,
        (scopes, auth, depth): (&mut Scopes, Option<&'a Value>, usize),
    ) {
        for (place, item) in items.iter().enumerate() {
            let here = step(pointer, &place.to_string());
            let auth = auth::own(item, auth);
            if let Some(below) = item.get("item").and_then(Value::as_array) {
                if depth >= DEEPEST {
                    let reason = format!("folders nested in more than {DEEPEST} others");
                    self.omit(&here, reason);
                    continue;
                }
                self.scripts_of(item, &here, &format!("the folder `{}`", name_of(item, "")));
                scopes.enter(item);
                self.items(below, &step(&here, "item"), (scopes, auth, depth + 1));
                scopes.leave();
            } else if let Some(request) = item.get("request").filter(|request| !request.is_null()) {
                if self.room.is_open(|| self.document.place(&here)) {
                    let variables = RequestVariables::new(&*scopes);
                    let auth = auth::own(request, auth);
                    if let Err(reason) = self.request(item, &here, (auth, &variables)) {
                        self.omit(&here, format!("`{}`: {reason}", name_of(item, "request")));
                    }
                }
            } else {
                self.omit(&here, "neither a folder nor a request".to_owned());
            }
        }
    }

    fn omit(&mut self, pointer: &str, reason: String) {
        let place = self.document.place(pointer);
        self.draft.omitted.push(Omission::new(place, reason));
    }

    /// A remark about the scripts of a folder or the collection.
    fn scripts_of(&mut self, part: &Value, pointer: &str, what: &str) {
        for script in scripts(part) {
            let place = self.document.place(pointer);
            self.draft
                .remarks
                .push(format!("{place}: the {script} of {what} is not run."));
        }
    }

    /// Adds a request, or says why it is left out.
    fn request(
        &mut self,
        item: &Value,
        here: &str,
        (auth, variables): (Option<&Value>, &RequestVariables<'_>),
    ) -> Result<(), String> {
        let name = name_of(item, "request");
        let pointer = step(here, "request");
        let request = &item["request"];
        let url = if request.is_string() {
            request
        } else {
            &request["url"]
        };
        let Address { url, server } = url::read(url, variables)?;
        let method = request.get("method").and_then(Value::as_str).unwrap_or("GET");
        let mut gaps = Vec::new();
        let mut sent = CapturedRequest {
            // As Postman sends it.
            method: variables.fill(method).to_ascii_uppercase(),
            url,
            headers: headers(request, variables),
            ..CapturedRequest::default()
        };
        if let Some(body) = body::read(request, variables, &mut gaps)? {
            if let Some(kind) = body.media_type {
                add_type(&mut sent.headers, kind);
            }
            sent.body = Some(body.text);
        }
        gaps.extend(authorise(auth::read(auth, variables), &mut sent));
        if variables.has_sign(&variables.fill(method)) {
            return Err("its method is a variable without a value".to_owned());
        }
        sent.headers.retain(|(name, _)| {
            let is_known = !variables.has_sign(name);
            if !is_known {
                let name = variables.written(name);
                gaps.push(format!(
                    "The header `{name}` is not sent: its name has no value in the collection."
                ));
            }
            is_known
        });
        let (_, target) = parts(&sent.url)?;
        let from = format!("{}, `{name}`", self.document.place(&pointer));
        let mut made = self.maker.operation(from, (&sent, &target));
        variables.finish(&mut made, sent.body.as_deref())?;
        made.name = self.maker.names.take(name);
        name.clone_into(&mut made.summary);
        for gap in gaps {
            made.add_gap(gap);
        }
        for script in scripts(item) {
            made.remarks
                .push(format!("The {script} of this request is not run."));
            // It can change the request.
            made.is_partial |= script == BEFORE_REQUEST;
        }
        reply::expect(item, &mut made);
        self.add(made, server, &pointer);
        Ok(())
    }

    fn add(&mut self, made: Operation, server: String, pointer: &str) {
        *self.servers.entry(server).or_default() += 1;
        self.room
            .add(made, &mut self.draft.operations, || self.document.place(pointer));
    }

    fn finish(mut self) -> Draft {
        if self.servers.len() > 1 {
            let servers: Vec<String> = self
                .servers
                .iter()
                .take(MOST_SERVERS)
                .map(|(server, count)| format!("{server} ({count})"))
                .collect();
            self.draft.remarks.push(format!(
                "The requests go to {} servers: {}. A contract has one: remove those of the others.",
                self.servers.len(),
                servers.join(", ")
            ));
        }
        self.draft.omitted.extend(self.room.omission());
        self.draft
    }
}

fn name_of<'a>(item: &'a Value, default: &'a str) -> &'a str {
    item.get("name").and_then(Value::as_str).unwrap_or(default)
}

/// The kinds of scripts of a request, a folder or a collection.
fn scripts(part: &Value) -> Vec<&'static str> {
    let events = part.get("event").and_then(Value::as_array);
    let events = events.into_iter().flatten().filter(|event| !is_disabled(event));
    let has_text = |exec: &Value| match exec {
        Value::String(line) => !line.trim().is_empty(),
        Value::Array(lines) => lines
            .iter()
            .any(|line| line.as_str().is_some_and(|line| !line.trim().is_empty())),
        _ => false,
    };
    let mut kinds: Vec<&str> = events
        .filter(|event| event.pointer("/script/exec").is_some_and(has_text))
        .filter_map(|event| match event.get("listen")?.as_str()? {
            "prerequest" => Some(BEFORE_REQUEST),
            "test" => Some("test script"),
            _ => None,
        })
        .collect();
    kinds.dedup();
    kinds
}

/// The headers that are switched on: a list, or lines of text.
fn headers(request: &Value, variables: &RequestVariables<'_>) -> Vec<(String, String)> {
    let pair = |(name, value): (&str, &str)| {
        let (name, value) = (variables.fill(name.trim()), variables.fill(value.trim()));
        (!name.is_empty()).then_some((name, value))
    };
    match request.get("header") {
        Some(Value::Array(list)) => list
            .iter()
            .filter(|header| !is_disabled(header))
            .filter_map(|header| {
                let value = header.get("value").and_then(plain).unwrap_or_default();
                pair((header.get("key")?.as_str()?, &value))
            })
            .collect(),
        Some(Value::String(lines)) => lines
            .lines()
            .filter_map(|line| pair(line.split_once(':')?))
            .collect(),
        _ => Vec::new(),
    }
}

/// Adds the type of a body unless there is one. That of a form has its boundary, and replaces another.
fn add_type(headers: &mut Vec<(String, String)>, kind: String) {
    let is_form = kind.starts_with("multipart/");
    let is_type = |(name, _): &(String, String)| name.eq_ignore_ascii_case("content-type");
    if is_form {
        headers.retain(|header| !is_type(header));
    }
    if !headers.iter().any(is_type) {
        headers.push(("Content-Type".to_owned(), kind));
    }
}

/// Adds the credentials. Returns what is missing.
fn authorise(credentials: Credentials, sent: &mut CapturedRequest) -> Option<String> {
    match credentials {
        Credentials::Nothing => None,
        Credentials::Unsupported(kind) => Some(format!(
            "Credentials of the kind `{kind}` are not taken over: add the header that they make."
        )),
        Credentials::Parameter(name, value) => {
            let joint = if sent.url.contains('?') { '&' } else { '?' };
            let encoded = crate::import::draft::percent_encoded;
            sent.url = format!("{}{joint}{}={}", sent.url, encoded(&name), encoded(&value));
            None
        }
        Credentials::Header(name, value) => {
            let mut others = sent.headers.iter();
            let other = others.find(|(known, _)| known.eq_ignore_ascii_case(&name));
            if let Some((_, written)) = other {
                let differs = *written != value;
                return differs.then(|| {
                    format!("It has a header `{name}`, which is sent in place of its credentials.")
                });
            }
            sent.headers.push((name, value));
            None
        }
    }
}
