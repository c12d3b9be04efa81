//! Rules for header values.

use super::{ExpectationError, HeaderValue, Memory, Mismatch, Reply, excerpt, regular_expression};
use crate::Template;
use crate::secrets::{is_secret, mask_header};
use regex::bytes::Regex;
use sha2::{Digest as _, Sha256};

#[derive(Debug, Clone)]
pub(super) enum CompiledValue {
    Absent,
    Matches {
        pattern: String,
        regex: Regex,
        optional: bool,
    },
    MediaType(MediaType),
    MediaTypeOf(Template),
    Equals(Template),
    Sha256(Template),
}

impl CompiledValue {
    pub(super) fn compile(value: &HeaderValue) -> Result<Self, ExpectationError> {
        Ok(match value {
            HeaderValue::Absent => Self::Absent,
            HeaderValue::Matches(pattern) | HeaderValue::MatchesIfThere(pattern) => Self::Matches {
                optional: matches!(value, HeaderValue::MatchesIfThere(_)),
                pattern: pattern.clone(),
                regex: regular_expression(&format!("^(?:{pattern})$"))?,
            },
            HeaderValue::MediaType(text) => Self::MediaType(MediaType::new(text)),
            HeaderValue::MediaTypeOf(template) => Self::MediaTypeOf(template.clone()),
            HeaderValue::Equals(template) => Self::Equals(template.clone()),
            HeaderValue::Sha256(template) => Self::Sha256(template.clone()),
        })
    }

    pub(super) fn judge(
        &self,
        name: &str,
        reply: &Reply<'_>,
        memory: &mut Memory,
        value: &mut impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<(), Mismatch> {
        let found = reply
            .headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, found)| *found);
        let is_valid = match self {
            Self::Absent => found.is_none(),
            Self::Matches { regex, optional, .. } => found.map_or(*optional, |found| regex.is_match(found)),
            Self::MediaType(media) => found.is_some_and(|found| media.accepts(found)),
            Self::MediaTypeOf(template) => {
                let wanted = std::str::from_utf8(memory.render(template, value)).unwrap_or_default();
                let mut essences = wanted.split(" or ");
                found.is_some_and(|found| essences.any(|essence| accepts(essence, false, found)))
            }
            Self::Equals(template) => found == Some(memory.render(template, value)),
            Self::Sha256(template) => {
                let digest = hex(&Sha256::digest(memory.render(template, value)).into());
                found == Some(digest.as_slice())
            }
        };
        if is_valid {
            return Ok(());
        }
        // Formatted only on a mismatch: this runs for every reply under load.
        let mut got = found.map_or_else(|| "no such header".to_owned(), excerpt);
        let mut wanted = self.description(&memory.wanted);
        if is_secret(name) {
            got = found.map_or(got.clone(), |_| mask_header(name, &got));
            if let Self::Equals(_) = self {
                wanted = mask_header(name, &wanted);
            }
        }
        Err(Mismatch::new(format!("header {name}"), wanted, got))
    }

    /// The expected value; `filled` is the rendered template, where the rule has one.
    fn description(&self, filled: &[u8]) -> String {
        match self {
            Self::Absent => "no such header".to_owned(),
            Self::Matches {
                pattern, optional, ..
            } => {
                let none = if *optional { "no such header, or " } else { "" };
                format!("{none}{pattern}")
            }
            Self::MediaType(media) => media.description(),
            Self::MediaTypeOf(_) => format!("{} (with or without charset=utf-8)", excerpt(filled)),
            Self::Equals(_) => excerpt(filled),
            Self::Sha256(_) => {
                let digest = hex(&Sha256::digest(filled).into());
                format!(
                    "{} = SHA-256 of `{}`",
                    String::from_utf8_lossy(&digest),
                    excerpt(filled)
                )
            }
        }
    }
}

/// A digest in hexadecimal digits.
pub(super) fn hex(bytes: &[u8; 32]) -> [u8; 64] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 64];
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    text
}

/// A media type. The charset is optional unless demanded; if present, it must be UTF-8.
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

    fn description(&self) -> String {
        if self.charset_demanded {
            format!("{}; charset=utf-8", self.essence)
        } else {
            format!("{} (with or without charset=utf-8)", self.essence)
        }
    }

    fn accepts(&self, value: &[u8]) -> bool {
        accepts(&self.essence, self.charset_demanded, value)
    }
}

/// Whether a header's value is a media type.
fn accepts(essence: &str, charset_demanded: bool, value: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(value) else {
        return false;
    };
    let mut parts = text.split(';').map(str::trim);
    if !parts
        .next()
        .is_some_and(|found| found.eq_ignore_ascii_case(essence))
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
    charset || !charset_demanded
}
