//! Requests as templates, and the parameters that fill them.

use crate::Bytes;
use serde::{Deserialize, Serialize};

/// Text or bytes with places that a parameter fills anew for each request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Template(pub Vec<Part>);

/// One part of a [`Template`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// These bytes.
    Literal(Bytes),
    /// The value of the workload's parameter with this index.
    Value(usize),
}

impl Template {
    /// A template without places.
    pub fn literal(text: impl Into<Bytes>) -> Self {
        Self(vec![Part::Literal(text.into())])
    }

    /// Whether every request gets the same bytes.
    pub fn is_constant(&self) -> bool {
        self.0.iter().all(|part| matches!(part, Part::Literal(_)))
    }

    /// Appends the bytes for one request to `out`; `value(i, out)` appends the value of parameter `i`.
    pub fn render(&self, out: &mut Vec<u8>, mut value: impl FnMut(usize, &mut Vec<u8>)) {
        for part in &self.0 {
            match part {
                Part::Literal(bytes) => out.extend_from_slice(bytes.as_slice()),
                Part::Value(index) => value(*index, out),
            }
        }
    }
}

/// A name with the source of its values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// What templates and the user call it.
    pub name: String,
    /// Where its values come from.
    pub source: Source,
}

/// Where the values of a parameter come from. A value depends on the job's seed and the request's number alone, so that it
/// can be worked out again when the reply is checked. No two requests of a job have the same number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Source {
    /// `start`, `start + 1`, …; never the same value twice in a job.
    Counter {
        /// The first value.
        start: u64,
    },
    /// `low`, …, `high`, then again from `low`.
    Range {
        /// First value.
        low: u64,
        /// Last value, included.
        high: u64,
    },
    /// A seeded random integer of `low..=high`.
    Random {
        /// Smallest value.
        low: u64,
        /// Largest value, included.
        high: u64,
    },
    /// Seeded random lower-case hexadecimal digits.
    Hex {
        /// How many digits, at most 64.
        digits: u8,
    },
    /// The lines of a feed, cycled.
    Lines(Vec<String>),
    /// Messages of gRPC that were encoded before, sent in turn.
    Messages(Vec<Bytes>),
    /// A column of a table of users. All columns of a table give the values of the same row.
    Column {
        /// The values, row by row.
        values: Vec<String>,
        /// Which row a user gets.
        pick: Pick,
    },
    /// What an earlier reply of the same sequence gave: the value with this number of [`Take`](crate::Take).
    Taken(usize),
}

/// Which row of a table a user gets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    /// One after the other, and again from the first.
    #[default]
    InTurn,
    /// A seeded random one.
    Random,
    /// One after the other, each once: when all are used up, no other user comes.
    Once,
    /// A seeded random one for each request, also for each step of a sequence.
    Each,
}

/// A header of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The name, as sent.
    pub name: String,
    /// The value.
    pub value: Template,
}

impl Header {
    /// Whether it says that its request is the last one of the connection.
    pub fn asks_to_close(&self) -> bool {
        let literals = self.value.0.iter().flat_map(|part| match part {
            Part::Literal(bytes) => bytes.as_slice(),
            Part::Value(_) => &[],
        });
        let value: Vec<u8> = literals.copied().collect();
        self.name.eq_ignore_ascii_case("connection")
            && value
                .split(|&byte| byte == b',')
                .any(|option| option.trim_ascii().eq_ignore_ascii_case(b"close"))
    }
}

/// What a request carries.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// No body and no Content-Length.
    #[default]
    None,
    /// These bytes, with Content-Length. For gRPC: the encoded message without its five-byte prefix.
    Bytes(Template),
    /// So many bytes that are made up.
    Generated(Generated),
}

/// A body that is made up: bytes that do not compress, the same for every request of this length, and an end of a few bytes
/// that may differ from request to request. Who has not read it to its end cannot know what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generated {
    /// Bytes in all.
    pub bytes: u64,
    /// Over HTTP/1.1 it is sent in chunks of so many bytes; absent: with Content-Length.
    #[serde(default)]
    pub chunk: Option<u32>,
    /// The last bytes: [`Generated::end_length`] of them.
    pub end: Template,
}

/// Bytes of a body that is made up until they come again.
const BLOCK: usize = 64 * 1024;

impl Generated {
    /// How long the end of a body of so many bytes is.
    pub const fn end_length(bytes: u64) -> u8 {
        if bytes < 16 { bytes as u8 } else { 16 }
    }

    /// The bytes before the end.
    pub fn filler(&self) -> Vec<u8> {
        let length = self.bytes - u64::from(Self::end_length(self.bytes));
        let length = usize::try_from(length).expect("a body fits into memory");
        // Compressors look back less far than this is long.
        let mut block = Vec::with_capacity(BLOCK);
        let mut state = self.bytes;
        while block.len() < BLOCK.min(length) {
            // SplitMix64 (Steele, Lea and Flood, 2014).
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            block.extend_from_slice(&(mixed ^ (mixed >> 31)).to_le_bytes());
        }
        let mut out = Vec::with_capacity(length + block.len());
        while out.len() < length {
            out.extend_from_slice(&block);
        }
        out.truncate(length);
        out
    }
}

impl Body {
    /// The bytes of the body; `None` where there is no body.
    pub fn render(&self, value: impl FnMut(usize, &mut Vec<u8>)) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        match self {
            Self::None => return None,
            Self::Bytes(template) => template.render(&mut out, value),
            Self::Generated(generated) => {
                out = generated.filler();
                generated.end.render(&mut out, value);
            }
        }
        Some(out)
    }
}

/// One kind of request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// HTTP method (`POST` for gRPC).
    pub method: String,
    /// Path with query, from `/` on. For gRPC `/package.Service/method`.
    pub path: Template,
    /// Headers beside those that the protocol itself needs (Host, Content-Length, gRPC's own).
    #[serde(default)]
    pub headers: Vec<Header>,
    /// What the request carries.
    #[serde(default)]
    pub body: Body,
}
