//! The body of a recorded request.

use super::members::{list, number, text};
use crate::import::message::text_body;
use crate::input::multipart::{self, FormPart};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

const FORM: &str = "application/x-www-form-urlencoded";

/// The body, or why the request is left out. Completes the headers by its type.
pub(super) fn read(
    entry: &Value,
    headers: &mut Vec<(String, String)>,
    gaps: &mut Vec<String>,
) -> Result<Option<String>, String> {
    let size = number(entry, "/request/bodySize").unwrap_or(-1);
    let nothing = Value::Null;
    let data = entry.pointer("/request/postData").unwrap_or(&nothing);
    let params = list(data, "/params");
    let has_type = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("content-type");
    let of_header = headers.iter().find(has_type).map(|(_, kind)| kind.as_str());
    let of_data = text(data, "/mimeType");
    let is_form = |kind: &&str| kind.starts_with(FORM) || kind.starts_with("multipart/");
    let kind = of_header.filter(is_form).or(of_data).or(of_header);
    let kind = kind.unwrap_or(FORM).to_owned();
    let lower = kind.to_ascii_lowercase();
    let body = match text(data, "/text") {
        Some(body) if text(data, "/encoding") == Some("base64") => {
            let bytes = STANDARD.decode(body);
            text_body(bytes.map_err(|error| format!("its body is not Base64: {error}"))?)?
        }
        Some(body) if body.contains(['\0', '\u{fffd}']) => {
            return Err("a binary body, whose bytes are not all in the file".to_owned());
        }
        Some(body) => body.to_owned(),
        None if params.is_empty() => {
            if size > 0 {
                gaps.push(format!(
                    "The body of {size} bytes is not in the recording, and is not sent."
                ));
            }
            return Ok(None);
        }
        None if lower.starts_with("multipart/form-data") => {
            let (body, boundary) = form(params, &kind, gaps)?;
            headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
            headers.push(("Content-Type".to_owned(), multipart::media_type(&boundary)));
            return Ok(Some(body));
        }
        None if lower.starts_with(FORM) => {
            let mut form = form_urlencoded::Serializer::new(String::new());
            for param in params {
                let member = |pointer| text(param, pointer).unwrap_or_default();
                form.append_pair(member("/name"), member("/value"));
            }
            add_type(headers, &kind);
            return Ok(Some(form.finish()));
        }
        None => {
            return Err(format!(
                "a body of type {kind}, of which the file contains only the parts"
            ));
        }
    };
    add_type(headers, text(data, "/mimeType").unwrap_or_default());
    gaps.extend(without_files(&body, &lower));
    if (body.len() as i64) < size && gaps.is_empty() {
        gaps.push(format!(
            "The recording has {} of the {size} bytes of the body, which is cut there.",
            body.len()
        ));
    }
    Ok(Some(body))
}

fn add_type(headers: &mut Vec<(String, String)>, kind: &str) {
    let is_type = |(name, _): &(String, String)| name.eq_ignore_ascii_case("content-type");
    if !kind.is_empty() && !headers.iter().any(is_type) {
        headers.push(("Content-Type".to_owned(), kind.to_owned()));
    }
}

/// A form of which the file has only the fields, and its boundary.
fn form(params: &[Value], kind: &str, gaps: &mut Vec<String>) -> Result<(String, String), String> {
    let mut parts = Vec::new();
    for param in params {
        let owned = |pointer| text(param, pointer).map(str::to_owned);
        let name = owned("/name").unwrap_or_default();
        let value = param.get("value").and_then(Value::as_str);
        match (owned("/fileName"), value.unwrap_or_default()) {
            (Some(file), "") => gaps.push(format!(
                "The file `{file}` is not in the recording: the field `{name}` is not sent."
            )),
            (file_name, value) => parts.push(FormPart {
                name,
                media_type: owned("/contentType").filter(|_| file_name.is_some()),
                file_name,
                content: value.as_bytes().to_vec(),
            }),
        }
    }
    let recorded = multipart::boundary_of(kind).filter(|boundary| {
        let mut contents = parts.iter().map(|part| String::from_utf8_lossy(&part.content));
        !contents.any(|content| content.contains(boundary))
    });
    let boundary = recorded.map_or_else(|| multipart::boundary(&parts), str::to_owned);
    let body = text_body(multipart::body(&parts, &boundary))?;
    Ok((body, boundary))
}

/// Which files of a form are empty: browsers record a form without the content of its files.
fn without_files(body: &str, kind: &str) -> Option<String> {
    let boundary = multipart::boundary_of(kind).filter(|_| kind.starts_with("multipart/"))?;
    let name = |part: &str| {
        let (head, content) = part.split_once("\r\n\r\n")?;
        let (_, name) = head.split_once("filename=\"")?;
        let name = name.split('"').next().filter(|name| !name.is_empty())?;
        content.trim().is_empty().then(|| format!("`{name}`"))
    };
    let lower = body.to_ascii_lowercase();
    let mut begins = lower
        .match_indices(boundary)
        .map(|(at, _)| at)
        .collect::<Vec<_>>();
    begins.push(body.len());
    let parts = begins.windows(2).filter_map(|pair| body.get(pair[0]..pair[1]));
    let names: Vec<String> = parts
        .filter_map(|part| name(part.trim_end_matches('-')))
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "The content of {} is not in the recording: the file is sent empty.",
            names.join(", ")
        )
    })
}
