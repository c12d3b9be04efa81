//! How a value is escaped where it is inserted.

use crate::format::template::Form;
use prony_load::{Encoding, escape};

/// Where a value is inserted, which decides how it is escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Context {
    Header,
    Path,
    Query,
    /// Between the quotes of JSON.
    JsonString,
    /// A text without a syntax of its own.
    Text,
}

impl Context {
    pub(super) const fn encoding(self, form: Form) -> Encoding {
        match (self, form) {
            (Self::Path | Self::Query | Self::Header, Form::Raw) | (Self::Header, _) => Encoding::Text,
            (_, Form::Raw) | (Self::Text, _) => Encoding::Body,
            (Self::Path, _) => Encoding::Path,
            (Self::Query, _) => Encoding::Query,
            (Self::JsonString, _) => Encoding::JsonString,
        }
    }

    pub(super) fn escaped(self, text: &str, form: Form) -> Result<String, String> {
        Ok(match self {
            Self::Header => {
                if text
                    .chars()
                    .any(|letter| letter.is_ascii_control() && letter != '\t')
                {
                    return Err(format!(
                        "the value \"{}\" has a control character, which a header cannot hold",
                        text.escape_debug()
                    ));
                }
                text.to_owned()
            }
            Self::Path | Self::Query if form == Form::Raw => {
                if let Some(wrong) = text
                    .chars()
                    .find(|letter| letter.is_ascii_control() || *letter == ' ')
                {
                    return Err(format!(
                        "the value \"{}\" has `{}`, which a path cannot hold as it is",
                        text.escape_debug(),
                        wrong.escape_debug()
                    ));
                }
                text.to_owned()
            }
            _ if form == Form::Raw => text.to_owned(),
            Self::Path => escape::path(text.as_bytes()),
            Self::Query => escape::query(text.as_bytes()),
            Self::JsonString => escape::json_string(text),
            Self::Text => text.to_owned(),
        })
    }
}
