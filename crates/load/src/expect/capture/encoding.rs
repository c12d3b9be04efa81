//! How captured values are written into requests.

use crate::escape;
use serde::{Deserialize, Serialize};

/// How a captured value is written into requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// As it is. A value with a control character, which would break the head of a request, is a mismatch.
    #[default]
    Text,
    /// As it is, with any character: for bodies.
    Body,
    /// As JSON: the value at a JSON pointer itself, any other text as a string with its quotes.
    Json,
    /// Escaped for the inside of a JSON string, without quotes.
    JsonString,
    /// Percent-encoded for one segment of a path.
    Path,
    /// Percent-encoded for the value of a query.
    Query,
}

impl Encoding {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
    pub(super) const fn is_text(&self) -> bool {
        matches!(self, Self::Text)
    }

    /// Replaces the value from `begin` on by its encoded form. The error says what is wrong with the value.
    pub(super) fn encode(
        self,
        text: &mut Vec<u8>,
        begin: usize,
        scratch: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        match self {
            Self::Text if text[begin..].iter().any(u8::is_ascii_control) => {
                return Err("a value with a control character");
            }
            Self::Text | Self::Body => return Ok(()),
            Self::Json | Self::JsonString | Self::Path | Self::Query => {}
        }
        scratch.clear();
        scratch.extend(text.drain(begin..));
        let mut add = |piece: &str| text.extend_from_slice(piece.as_bytes());
        match self {
            Self::Path => escape::path_text(scratch).for_each(&mut add),
            Self::Query => escape::query_text(scratch).for_each(&mut add),
            _ => {
                let value = std::str::from_utf8(scratch).map_err(|_| "a value that is not UTF-8")?;
                escape::write_json(value, text);
                if self == Self::JsonString {
                    text.pop();
                    text.remove(begin);
                }
            }
        }
        Ok(())
    }
}
