//! Bytes that are plain text in JSON wherever they are valid UTF-8.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Raw bytes. In JSON, a plain string where they are UTF-8, else `{"base64": "…"}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    /// The bytes as a slice.
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

impl From<&str> for Bytes {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum BytesEncoding {
    Text(String),
    Binary { base64: String },
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => BytesEncoding::Text(text.to_owned()),
            Err(_) => BytesEncoding::Binary {
                base64: STANDARD.encode(&self.0),
            },
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match BytesEncoding::deserialize(deserializer)? {
            BytesEncoding::Text(text) => Ok(Self(text.into_bytes())),
            BytesEncoding::Binary { base64 } => STANDARD.decode(base64).map(Self).map_err(D::Error::custom),
        }
    }
}
