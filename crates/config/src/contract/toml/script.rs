//! The keys of a WebSocket script.

use super::values::{OneOrMany, TextOrNumber};
use super::yes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

/// A step of a script: a frame to send, a frame to expect, or both.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScriptStepToml {
    /// The client, in a script with several. Its first step opens its connection.
    #[schemars(extend("x-aliases" = ["by"]))]
    pub(crate) client: Option<String>,
    /// In the first step of a client: the path of its handshake, if it is not the path of the call.
    #[schemars(extend("x-aliases" = ["at"]))]
    pub(crate) path: Option<String>,
    /// The client stops reading.
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["deaf"]))]
    pub(crate) stop_reading: bool,
    /// The client's connection ends without a close.
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["cut"]))]
    pub(crate) abort: bool,
    /// Send a text message, or its first fragment if `fin` is false.
    pub(crate) text: Option<PayloadToml>,
    /// Send a binary message, or its first fragment if `fin` is false.
    pub(crate) binary: Option<PayloadToml>,
    /// Send the next fragment of a message.
    #[schemars(extend("x-aliases" = ["more"]))]
    pub(crate) continuation: Option<PayloadToml>,
    /// Send a ping.
    pub(crate) ping: Option<PayloadToml>,
    /// Send a pong.
    pub(crate) pong: Option<PayloadToml>,
    /// Send a close with this code; an empty text: without a code.
    pub(crate) close: Option<TextOrNumber>,
    /// The reason of the close.
    pub(crate) reason: Option<String>,
    /// Whether the frame is the last of its message (FIN of RFC 6455).
    #[serde(default = "yes")]
    pub(crate) fin: bool,
    /// Whether the frame is masked, as required of clients.
    #[serde(default = "yes")]
    pub(crate) masked: bool,
    /// What the client must receive: `"echo"`, or the end of the connection.
    pub(crate) expect: Option<ExpectedFrameToml>,
}

impl ScriptStepToml {
    /// Calls `each` with every text that may have placeholders.
    pub(crate) fn texts<'a>(&'a self, each: &mut impl FnMut(&'a str)) {
        self.path.iter().chain(&self.reason).for_each(|text| each(text));
        let mut number = |number: &'a TextOrNumber| match number {
            TextOrNumber::Text(text) => each(text),
            TextOrNumber::Number(_) => {}
        };
        self.close.iter().for_each(&mut number);
        if let Some(ExpectedFrameToml::Close(Close { close })) = &self.expect {
            close.0.iter().for_each(&mut number);
        }
        let frames = [
            &self.text,
            &self.binary,
            &self.continuation,
            &self.ping,
            &self.pong,
        ];
        for payload in frames.into_iter().flatten() {
            match payload {
                PayloadToml::Letters(LettersToml { letters: number })
                | PayloadToml::Bytes(MadeBytes { bytes: number }) => {
                    if let TextOrNumber::Text(text) = number {
                        each(text);
                    }
                }
                PayloadToml::Text(text) | PayloadToml::Hex(Hex { hex: text }) => each(text),
            }
        }
    }
}

/// A text, or content that is generated from a single key.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(extend("x-give" = "a text, or one of { letters = 9 }, { bytes = 9 }, { hex = \"00ff\" }"))]
pub(crate) enum PayloadToml {
    Text(String),
    Letters(LettersToml),
    Bytes(MadeBytes),
    Hex(Hex),
}

/// Includes the variant, since the values alone are ambiguous.
impl Serialize for PayloadToml {
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

/// Letters that do not repeat.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LettersToml {
    /// The number of letters. They do not repeat.
    pub(crate) letters: TextOrNumber,
}

/// Bytes that do not compress.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MadeBytes {
    /// The number of bytes. They do not compress.
    pub(crate) bytes: TextOrNumber,
}

/// Bytes as hexadecimal digits.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hex {
    /// Hexadecimal digits, two for each byte.
    pub(crate) hex: String,
}

/// `"echo"`, or `{ close = [1000, ""] }`
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(extend("x-give" = "\"echo\", or { close = 1002 }"))]
pub(crate) enum ExpectedFrameToml {
    Word(ScriptKeyword),
    Close(Close),
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ScriptKeyword {
    /// All messages that were sent and not echoed yet.
    Echo,
}

/// The end of the connection.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Close {
    /// One of these codes; an empty text: without a code.
    pub(crate) close: OneOrMany<TextOrNumber>,
}
