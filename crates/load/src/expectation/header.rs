//! Rules for header values.

use super::compiled::regular_expression;
use super::{ExpectationError, HeaderValue, Mismatch, Reply, excerpt};
use crate::Template;
use regex::bytes::Regex;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

#[derive(Debug, Clone)]
pub(super) enum CompiledValue {
    Absent,
    Matches { pattern: String, regex: Regex },
    MediaType(MediaType),
    Equals(Template),
    Sha256(Template),
}

impl CompiledValue {
    pub(super) fn compile(value: &HeaderValue) -> Result<Self, ExpectationError> {
        Ok(match value {
            HeaderValue::Absent => Self::Absent,
            HeaderValue::Matches(pattern) => Self::Matches {
                pattern: pattern.clone(),
                regex: regular_expression(&format!("^(?:{pattern})$"))?,
            },
            HeaderValue::MediaType(text) => Self::MediaType(MediaType::new(text)),
            HeaderValue::Equals(template) => Self::Equals(template.clone()),
            HeaderValue::Sha256(template) => Self::Sha256(template.clone()),
        })
    }

    pub(super) fn judge(
        &self,
        name: &str,
        reply: &Reply<'_>,
        value: &mut impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<(), Mismatch> {
        let found = reply
            .headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, found)| *found);
        let (right, expected) = match self {
            Self::Absent => (found.is_none(), "no such header".to_owned()),
            Self::Matches { pattern, regex } => {
                (found.is_some_and(|found| regex.is_match(found)), pattern.clone())
            }
            // Said in full only where it is wrong: this runs for every reply under load.
            Self::MediaType(media) if found.is_some_and(|found| media.accepts(found)) => return Ok(()),
            Self::MediaType(media) => (false, media.described()),
            Self::Equals(template) => {
                let mut wanted = Vec::new();
                template.render(&mut wanted, value);
                (found == Some(wanted.as_slice()), excerpt(&wanted))
            }
            Self::Sha256(template) => {
                let mut hashed = Vec::new();
                template.render(&mut hashed, value);
                let digest = hex(&Sha256::digest(&hashed));
                (
                    found == Some(digest.as_bytes()),
                    format!("{digest} = SHA-256 of `{}`", excerpt(&hashed)),
                )
            }
        };
        if right {
            return Ok(());
        }
        let got = found.map_or_else(|| "no such header".to_owned(), excerpt);
        Err(Mismatch::new(format!("header {name}"), expected, got))
    }
}

/// Lower-case hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A media type; the charset may be left out unless it is demanded, and is UTF-8 if it is there.
#[derive(Debug, Clone)]
pub(super) struct MediaType {
    essence: String,
    charset_demanded: bool,
}

impl MediaType {
    fn new(text: &str) -> Self {
        let (essence, parameters) = text.split_once(';').unwrap_or((text, ""));
        Self {
            essence: essence.trim().to_owned(),
            charset_demanded: parameters.to_ascii_lowercase().contains("charset"),
        }
    }

    fn described(&self) -> String {
        if self.charset_demanded {
            format!("{}; charset=utf-8", self.essence)
        } else {
            format!("{} (with charset=utf-8 or without)", self.essence)
        }
    }

    fn accepts(&self, value: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(value) else {
            return false;
        };
        let mut parts = text.split(';').map(str::trim);
        if !parts
            .next()
            .is_some_and(|essence| essence.eq_ignore_ascii_case(&self.essence))
        {
            return false;
        }
        let mut charset = false;
        for parameter in parts.filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let value = value.trim().trim_matches('"');
            if !name.trim().eq_ignore_ascii_case("charset") || !value.eq_ignore_ascii_case("utf-8") {
                return false;
            }
            charset = true;
        }
        charset || !self.charset_demanded
    }
}
