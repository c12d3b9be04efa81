//! The values of `--data`, `--data-urlencode`, `--form` and their relatives.

use super::words::StandardInput;
use super::{CurlError, FileAccess};
use crate::input::multipart::FormPart;
use percent_encoding::percent_encode;
use std::cell::RefCell;

/// Where values that begin with `@` come from.
pub(super) struct Files<'a> {
    pub(super) access: FileAccess<'a>,
    pub(super) stdin: Option<StandardInput>,
    /// The files that are empty, because they could not be read.
    pub(super) gaps: RefCell<Vec<String>>,
}

impl Files<'_> {
    /// The content of a file; `-` is the standard input.
    pub(super) fn content(&self, switch: &str, path: &str) -> Result<Vec<u8>, CurlError> {
        let content = match (path, &self.stdin) {
            ("-", Some(StandardInput::Text(text))) => Ok(text.clone()),
            ("-", Some(StandardInput::File(path))) => self.file(path),
            ("-" | ".", None) => Err("the standard input is not in the command".to_owned()),
            (path, _) => self.file(path),
        };
        match content {
            Ok(content) => Ok(content),
            Err(reason) if self.access.is_lenient => {
                self.gaps
                    .borrow_mut()
                    .push(format!("`{switch}` of curl sends nothing here: {reason}"));
                Ok(Vec::new())
            }
            Err(reason) => Err(CurlError::value(switch, reason)),
        }
    }

    fn file(&self, path: &str) -> Result<Vec<u8>, String> {
        (self.access.read)(path).map_err(|reason| format!("cannot read the file `{path}`: {reason}"))
    }

    /// The value of a switch of `--data`, `--json` or their relatives.
    pub(super) fn data(&self, (name, shown): (&str, &str), value: Vec<u8>) -> Result<Vec<u8>, CurlError> {
        let file = value.strip_prefix(b"@").filter(|_| name != "data-raw");
        let Some(file) = file else { return Ok(value) };
        let mut content = self.content(shown, &text(shown, file)?)?;
        if matches!(name, "data" | "data-ascii") {
            content.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
        }
        Ok(content)
    }

    /// The value of `--data-urlencode` and `--url-query`: `content`, `=content`, `name=content`, `@file` or `name@file`.
    pub(super) fn encoded(&self, shown: &str, value: &[u8]) -> Result<Vec<u8>, CurlError> {
        let sign = |sign: u8| value.iter().position(|byte| *byte == sign);
        let (name, content) = match (sign(b'='), sign(b'@')) {
            (Some(at), _) => (&value[..at], value[at + 1..].to_vec()),
            (None, Some(at)) => {
                let file = text(shown, &value[at + 1..])?;
                (&value[..at], self.content(shown, &file)?)
            }
            (None, None) => (&value[..0], value.to_vec()),
        };
        let content = url_encoded(&content);
        Ok(if name.is_empty() {
            content.into_bytes()
        } else {
            [name, b"=", content.as_bytes()].concat()
        })
    }

    /// The value of `--form`: `name=content`, `name=@file` or `name=<file`, and its parameters.
    pub(super) fn form_part(&self, shown: &str, value: &[u8]) -> Result<FormPart, CurlError> {
        let wrong = |reason: &str| CurlError::value(shown, reason);
        let value = text(shown, value)?;
        let (name, rest) = value
            .split_once('=')
            .ok_or_else(|| wrong("it has no `=`: write name=content"))?;
        let name = name.to_owned();
        let sign = rest.chars().next().filter(|first| "@<(".contains(*first));
        if sign == Some('(') {
            return Err(wrong("parts within parts are not supported: leave it out"));
        }
        let rest = if sign.is_some() { &rest[1..] } else { rest };
        let (content, mut rest) = parameter(rest);
        let mut part = FormPart {
            name,
            ..FormPart::default()
        };
        while let Some(after) = rest.strip_prefix(';') {
            let after = after.trim_start();
            let (value, next) = if let Some(value) = strip_name(after, &["type=", "content-type="]) {
                let (value, next) = media_type(value);
                part.media_type = Some(value);
                (None, next)
            } else if let Some(value) = strip_name(after, &["filename="]) {
                let (value, next) = parameter(value);
                (Some(value), next)
            } else if strip_name(after, &["headers=", "encoder="]).is_some() {
                return Err(wrong(
                    "`headers=` and `encoder=` are not supported: leave them out",
                ));
            } else {
                (None, parameter(after).1)
            };
            part.file_name = value.or(part.file_name);
            rest = next;
        }
        match sign {
            None => part.content = content.into_bytes(),
            Some('<') => part.content = self.content(shown, &content)?,
            Some(_) if rest.starts_with(',') || content.contains(',') => {
                return Err(wrong(
                    "several files in one field are not supported: give each its own -F",
                ));
            }
            Some(_) => {
                part.content = self.content(shown, &content)?;
                let base = content.rsplit('/').next().unwrap_or_default().to_owned();
                let kind = type_of(part.file_name.as_deref().unwrap_or(&base));
                part.media_type.get_or_insert_with(|| kind.to_owned());
                part.file_name.get_or_insert(base);
            }
        }
        Ok(part)
    }
}

/// Encoded as curl does: a space becomes `+`.
fn url_encoded(bytes: &[u8]) -> String {
    percent_encode(bytes, super::url::RESERVED)
        .to_string()
        .replace("%20", "+")
}

/// The rest of a text after one of these names, in any case.
fn strip_name<'a>(text: &'a str, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| {
        let begin = text.get(..name.len())?;
        begin.eq_ignore_ascii_case(name).then(|| &text[name.len()..])
    })
}

/// A value up to the next `;` or `,`, and what follows. In quotes it may contain both.
fn parameter(text: &str) -> (String, &str) {
    let trimmed = text.trim_start();
    if let Some(quoted) = trimmed.strip_prefix('"') {
        let (mut value, mut is_escaped) = (String::new(), false);
        for (at, letter) in quoted.char_indices() {
            match letter {
                '\\' if !is_escaped && quoted[at + 1..].starts_with(['"', '\\']) => is_escaped = true,
                '"' if !is_escaped => {
                    let rest = &quoted[at + 1..];
                    let end = rest.find(';').unwrap_or(rest.len());
                    return (value, &rest[end..]);
                }
                letter => {
                    value.push(letter);
                    is_escaped = false;
                }
            }
        }
    }
    let end = trimmed.find(';').unwrap_or(trimmed.len());
    (trimmed[..end].trim_end().to_owned(), &trimmed[end..])
}

/// A media type with its own parameters, and what follows.
fn media_type(text: &str) -> (String, &str) {
    let own = |at: &usize| {
        let after = text[at + 1..].trim_start();
        strip_name(after, &["filename=", "headers=", "encoder="]).is_some()
    };
    let end = text
        .match_indices(';')
        .map(|(at, _)| at)
        .find(own)
        .unwrap_or(text.len());
    (text[..end].trim().to_owned(), &text[end..])
}

/// The media type that curl gives a file.
fn type_of(file: &str) -> &'static str {
    let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension.to_ascii_lowercase().as_str() {
        "gif" => "image/gif",
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "txt" => "text/plain",
        "htm" | "html" => "text/html",
        "pdf" => "application/pdf",
        "xml" => "application/xml",
        _ => "application/octet-stream",
    }
}

/// A value that must be text.
pub(super) fn text(shown: &str, value: &[u8]) -> Result<String, CurlError> {
    String::from_utf8(value.to_vec()).map_err(|_| CurlError::value(shown, "its value is not UTF-8"))
}
