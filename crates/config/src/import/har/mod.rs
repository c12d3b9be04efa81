//! HAR files, as browsers and proxies save them.

use crate::import::document::{Document, step};
use crate::import::draft::{Names, is_json};
use crate::import::message::{CapturedReply, CapturedRequest, expectation, operation, parts};
use crate::import::size::DraftRoom;
use crate::import::{Draft, DraftError};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// One exchange of the file.
struct Entry {
    pointer: String,
    origin: String,
    target: String,
    sent: CapturedRequest,
    came: CapturedReply,
}

/// A draft of the exchanges with one server: the one with the most JSON replies.
pub fn from_har(path: &Path) -> Result<Draft, DraftError> {
    let document = Document::read(path)?;
    let entries = document
        .value
        .pointer("/log/entries")
        .and_then(Value::as_array)
        .ok_or_else(|| {
            document.invalid(
                "",
                "not a HAR file: it has no list `log.entries`; save one in the browser's network view",
            )
        })?;
    let mut remarks = Vec::new();
    let mut read = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        let pointer = format!("/log/entries/{place}");
        match entry_of(&document, entry, &pointer)? {
            Ok(entry) => read.push(entry),
            Err(why) => remarks.push(format!("{}: left out: {why}", document.place(&pointer))),
        }
    }
    let Some(origin) = chosen(&read) else {
        let message = format!(
            "none of its {} entries can be repeated{}",
            entries.len(),
            first(&remarks)
        );
        return Err(document.invalid("/log/entries", message));
    };
    let others = read.iter().filter(|entry| entry.origin != origin).count();
    if others > 0 {
        remarks.push(format!(
            "{others} request(s) to other servers than {origin} were left out."
        ));
    }
    let mut names = Names::default();
    let mut seen = BTreeSet::new();
    let mut operations = Vec::new();
    let mut room = DraftRoom::new();
    for entry in read.iter().filter(|entry| entry.origin == origin) {
        if !seen.insert((&entry.sent.method, &entry.target, &entry.sent.body)) {
            continue;
        }
        if !room.is_open(|| document.place(&entry.pointer)) {
            continue;
        }
        let from = format!(
            "{}, {} {}",
            document.place(&entry.pointer),
            entry.sent.method,
            entry.sent.url
        );
        let mut made = operation(&mut names, from, (&entry.sent, &entry.target));
        made.expect = expectation(&entry.came, &mut made.remarks);
        room.add(made, &mut operations, || document.place(&entry.pointer));
    }
    remarks.extend(room.remark());
    if operations.is_empty() {
        return Err(document.invalid("/log/entries", format!("no request{}", first(&remarks))));
    }
    Ok(Draft {
        title: format!("Requests to {origin}"),
        summary: format!("{} recorded request(s) to {origin}.", operations.len()),
        source: format!("{} (HAR)", document.file),
        has_real_requests: true,
        remarks,
        operations,
        ..Draft::default()
    })
}

fn first(remarks: &[String]) -> String {
    remarks
        .first()
        .map(|remark| format!(": {remark}"))
        .unwrap_or_default()
}

/// The server with the most JSON replies; among equals, the one with the most requests.
fn chosen(entries: &[Entry]) -> Option<String> {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for entry in entries {
        let count = counts.entry(&entry.origin).or_default();
        count.0 += usize::from(entry.came.media_type.as_deref().is_some_and(is_json));
        count.1 += 1;
    }
    let best = counts.into_iter().max_by_key(|(_, count)| *count)?;
    Some(best.0.to_owned())
}

fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

/// The entry, or why it is left out.
fn entry_of(document: &Document, entry: &Value, pointer: &str) -> Result<Result<Entry, String>, DraftError> {
    let need = |member: &str| {
        text(entry, member).map(str::to_owned).ok_or_else(|| {
            document.invalid(
                pointer,
                format!("an entry without the text `{}`", member[1..].replace('/', ".")),
            )
        })
    };
    let (method, url) = (need("/request/method")?, need("/request/url")?);
    let (origin, target) = match parts(&url) {
        Ok(parts) => parts,
        Err(why) => return Ok(Err(why)),
    };
    let status = entry
        .pointer("/response/status")
        .and_then(Value::as_u64)
        .unwrap_or(0);
    match (status, method.as_str()) {
        (_, "OPTIONS" | "CONNECT") => return Ok(Err(format!("{method} is a request of the browser itself"))),
        (0, _) => return Ok(Err("it has no reply".to_owned())),
        (304, _) => {
            return Ok(Err(
                "304: the browser had cached the reply; disable the cache and record again".to_owned(),
            ));
        }
        (101, _) => return Ok(Err("101: a WebSocket".to_owned())),
        _ => {}
    }
    let body = match body_of(entry) {
        Ok(body) => body,
        Err(why) => return Ok(Err(why)),
    };
    let headers = entry.pointer("/request/headers").and_then(Value::as_array);
    let headers = headers.into_iter().flatten().filter_map(|header| {
        Some((
            text(header, "/name")?.to_owned(),
            text(header, "/value")?.to_owned(),
        ))
    });
    Ok(Ok(Entry {
        pointer: step(&step(pointer, "request"), "url"),
        origin,
        target,
        sent: CapturedRequest {
            method,
            url,
            headers: headers.collect(),
            body,
        },
        came: CapturedReply {
            status: status as u16,
            media_type: text(entry, "/response/content/mimeType").map(str::to_owned),
            body: reply_of(entry),
        },
    }))
}

/// The body of the request, or why it cannot be repeated.
fn body_of(entry: &Value) -> Result<Option<String>, String> {
    let Some(data) = entry.pointer("/request/postData").filter(|data| !data.is_null()) else {
        return Ok(None);
    };
    let kind = text(data, "/mimeType").unwrap_or_default().to_ascii_lowercase();
    let params = data
        .pointer("/params")
        .and_then(Value::as_array)
        .filter(|list| !list.is_empty());
    match (text(data, "/text").filter(|text| !text.is_empty()), params) {
        (Some(_), _) if text(data, "/encoding") == Some("base64") => {
            Err("a binary body, which a contract cannot contain: save it as a file, `file = …`".to_owned())
        }
        (Some(text), _) if text.contains(['\0', '\u{fffd}']) => {
            Err("a binary body, whose bytes are not all in the file".to_owned())
        }
        (Some(text), _) => Ok(Some(text.to_owned())),
        (None, Some(params)) if kind.starts_with("application/x-www-form-urlencoded") => {
            let mut form = form_urlencoded::Serializer::new(String::new());
            for param in params {
                form.append_pair(
                    text(param, "/name").unwrap_or_default(),
                    text(param, "/value").unwrap_or_default(),
                );
            }
            Ok(Some(form.finish()))
        }
        (None, Some(_)) => Err(format!(
            "a body of type {kind}, of which the file contains only the parts"
        )),
        (None, None) => Ok(None),
    }
}

/// The reply's body if it is text.
fn reply_of(entry: &Value) -> Option<String> {
    let content = entry.pointer("/response/content")?;
    let body = text(content, "/text")?;
    if text(content, "/encoding") != Some("base64") {
        return Some(body.to_owned());
    }
    let kind = text(content, "/mimeType").unwrap_or_default();
    let is_text = is_json(kind) || kind.starts_with("text/");
    let bytes = STANDARD.decode(body).ok().filter(|_| is_text)?;
    String::from_utf8(bytes).ok()
}
