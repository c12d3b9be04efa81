//! What is said and heard on a WebSocket, as it is written.

use super::TextOrNumber;
use super::values::OneOrMany;
use serde::{Deserialize, Serialize, Serializer};

/// `{ text = "a" }`, `{ binary = { bytes = 9 }, unfinished = true }`, `{ ping = "x", expect = "echo" }`,
/// `{ close = 1000, reason = "bye" }`, `{ expect = { close = 1002 } }`, `{ by = "b", text = "a" }`, `{ by = "b", deaf = true }`
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenTurn {
    /// Whose turn it is, where a talk has several members; the first turn of one brings it in.
    pub(crate) by: Option<String>,
    /// In the first turn of a member: the path that it comes in by, where that is not the call's.
    pub(crate) at: Option<String>,
    /// The member does not read any more.
    #[serde(default)]
    pub(crate) deaf: bool,
    /// The member's connection ends without a close.
    #[serde(default)]
    pub(crate) cut: bool,
    pub(crate) text: Option<WrittenPayload>,
    pub(crate) binary: Option<WrittenPayload>,
    /// The next fragment of an unfinished message.
    pub(crate) more: Option<WrittenPayload>,
    pub(crate) ping: Option<WrittenPayload>,
    pub(crate) pong: Option<WrittenPayload>,
    /// A code, or an empty text: none.
    pub(crate) close: Option<TextOrNumber>,
    pub(crate) reason: Option<String>,
    /// Whether further fragments follow.
    #[serde(default)]
    pub(crate) unfinished: bool,
    /// Whether the frame has no mask, as no client may send it.
    #[serde(default)]
    pub(crate) unmasked: bool,
    pub(crate) expect: Option<WrittenHeard>,
}

/// `"a text"`, or what is made of the only key that is given.
#[derive(Debug, Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "a text, or one of { letters = 9 }, { bytes = 9 }, { hex = \"00ff\" }"
)]
pub(crate) enum WrittenPayload {
    Text(String),
    Letters(Letters),
    Bytes(MadeBytes),
    Hex(Hex),
}

/// With the variant, which values alone would not tell.
impl Serialize for WrittenPayload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = "WrittenPayload";
        match self {
            Self::Text(text) => serializer.serialize_newtype_variant(name, 0, "Text", text),
            Self::Letters(letters) => serializer.serialize_newtype_variant(name, 1, "Letters", letters),
            Self::Bytes(bytes) => serializer.serialize_newtype_variant(name, 2, "Bytes", bytes),
            Self::Hex(hex) => serializer.serialize_newtype_variant(name, 3, "Hex", hex),
        }
    }
}

/// So many letters.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Letters {
    pub(crate) letters: TextOrNumber,
}

/// So many bytes that are made up.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MadeBytes {
    pub(crate) bytes: TextOrNumber,
}

/// Bytes as hexadecimal digits.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hex {
    pub(crate) hex: String,
}

/// `"echo"`, or `{ close = [1000, ""] }`
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(untagged, expecting = "\"echo\", or { close = 1002 }")]
pub(crate) enum WrittenHeard {
    Word(Word),
    Close(Close),
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Word {
    /// All that was said and has not come back yet.
    Echo,
}

/// The end of the connection, with one of these codes; an empty text: without one.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Close {
    pub(crate) close: OneOrMany<TextOrNumber>,
}
