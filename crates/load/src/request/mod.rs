//! Requests as templates, and the parameters that fill them.

mod digest;
pub mod grpc;

use crate::Bytes;
use crate::formula::Formula;
use grpc::Messages;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::io::Write as _;

/// Text or bytes with placeholders that parameters fill anew for each request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Template(pub Vec<Part>);

/// One part of a [`Template`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Literal bytes.
    Literal(Bytes),
    /// The value of the workload's parameter with this index.
    Value(usize),
    /// The number or the word of a formula; nothing where a parameter in it is not a whole number.
    Formula(Formula),
    /// The decimal text of the length of a body in bytes. Only for expectations.
    BodyBytes(Box<Body>),
    /// The SHA-256 of a body in lower-case hexadecimal digits. Only for expectations.
    BodySha256(Box<Body>),
}

impl Template {
    /// A template without placeholders.
    pub fn literal(text: impl Into<Bytes>) -> Self {
        Self(vec![Part::Literal(text.into())])
    }

    /// Whether the bytes are the same for every request.
    pub fn is_constant(&self) -> bool {
        self.0.iter().all(|part| matches!(part, Part::Literal(_)))
    }

    /// Whether a formula depends on the number of the item.
    pub fn mentions_item(&self) -> bool {
        self.0.iter().any(|part| match part {
            Part::Formula(formula) => formula.mentions_item(),
            Part::Literal(_) | Part::Value(_) | Part::BodyBytes(_) | Part::BodySha256(_) => false,
        })
    }

    /// Calls `each` with the index of each parameter.
    pub fn visit_parameters(&self, each: &mut impl FnMut(usize)) {
        for part in &self.0 {
            match part {
                Part::Literal(_) => {}
                Part::Value(index) => each(*index),
                Part::Formula(formula) => formula.visit_parameters(each),
                Part::BodyBytes(body) | Part::BodySha256(body) => {
                    if let Body::Bytes(template) | Body::Generated(GeneratedBody { end: template, .. }) =
                        body.as_ref()
                    {
                        template.visit_parameters(each);
                    }
                }
            }
        }
    }

    /// Appends the bytes for one request to `out`; `value(i, out)` appends the value of parameter `i`. The number of
    /// the item is 0.
    pub fn render(&self, out: &mut Vec<u8>, mut value: impl FnMut(usize, &mut Vec<u8>)) {
        self.fill(out, 0, &mut value);
    }

    /// Appends the bytes for item `i` of a list or a stream to `out`, as [`Template::render`] does.
    pub fn render_item(&self, out: &mut Vec<u8>, i: i64, mut value: impl FnMut(usize, &mut Vec<u8>)) {
        self.fill(out, i, &mut value);
    }

    fn fill(&self, out: &mut Vec<u8>, i: i64, value: &mut impl FnMut(usize, &mut Vec<u8>)) {
        for part in &self.0 {
            match part {
                Part::Literal(bytes) => out.extend_from_slice(bytes.as_slice()),
                Part::Value(index) => value(*index, out),
                Part::Formula(formula) => formula.render(out, i, value),
                Part::BodyBytes(body) => body.write_length(out, value),
                Part::BodySha256(body) => body.write_digest(out, value),
            }
        }
    }
}

/// A named source of values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// The name in templates and on the command line.
    pub name: String,
    /// Where its values come from.
    pub source: Source,
}

/// Where the values of a parameter come from. A value depends only on the job's seed and the request's number, so
/// that it can be recomputed when the reply is checked. Request numbers are unique within a job.
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
        /// Number of digits, at most 64.
        digits: u8,
    },
    /// The lines of a feed, repeated from the first after the last.
    Lines(Vec<String>),
    /// gRPC messages, encoded in advance and sent one after the other.
    Messages(Vec<Bytes>),
    /// A column of a table of users. All columns of a table use the same row for a user.
    Column {
        /// The values, row by row.
        values: Vec<String>,
        /// How the row of a user is chosen.
        pick: Pick,
    },
    /// A value captured from an earlier reply of the same sequence: the slot of its [`Capture`](crate::Take).
    Taken(usize),
}

/// How the row of a user is chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    /// One after the other, repeated from the first after the last.
    #[default]
    InTurn,
    /// A seeded random one.
    Random,
    /// One after the other, each once: when all are used, no more users arrive.
    Once,
    /// A seeded random one for each request, including each step of a sequence.
    Each,
}

/// A header of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The name, as sent.
    pub name: String,
    /// The value, which may contain placeholders.
    pub value: Template,
}

/// The header with the deadline of a gRPC call.
const DEADLINE: &str = "grpc-timeout";
/// Its time units in ns. The number has at most eight digits.
const UNITS: [(u64, &str); 6] = [
    (1, "n"),
    (1_000, "u"),
    (1_000_000, "m"),
    (1_000_000_000, "S"),
    (60_000_000_000, "M"),
    (3_600_000_000_000, "H"),
];

impl Header {
    /// The deadline header of a gRPC call that may take `ns` nanoseconds.
    pub fn deadline(ns: u64) -> Self {
        let fits = |(length, _): &&(u64, &str)| ns.div_ceil(*length) < 100_000_000;
        let (length, unit) = UNITS.iter().find(fits).unwrap_or(&UNITS[5]);
        Self {
            name: DEADLINE.to_owned(),
            value: Template::literal(format!("{}{unit}", ns.div_ceil(*length)).as_str()),
        }
    }

    /// The deadline in ns, if this is a deadline header.
    pub fn deadline_ns(&self) -> Option<u64> {
        if !self.name.eq_ignore_ascii_case(DEADLINE) {
            return None;
        }
        let mut value = Vec::new();
        self.value.render(&mut value, |_, _| {});
        let text = std::str::from_utf8(&value).ok()?;
        let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let (length, _) = UNITS.iter().find(|(_, known)| *known == unit)?;
        digits
            .parse()
            .ok()
            .map(|number: u64| number.saturating_mul(*length))
    }

    /// Whether it announces that its request is the last one of the connection.
    pub fn asks_to_close(&self) -> bool {
        let literals = self.value.0.iter().flat_map(|part| match part {
            Part::Literal(bytes) => bytes.as_slice(),
            _ => &[],
        });
        let value: Vec<u8> = literals.copied().collect();
        self.name.eq_ignore_ascii_case("connection")
            && value
                .split(|&byte| byte == b',')
                .any(|option| option.trim_ascii().eq_ignore_ascii_case(b"close"))
    }
}

/// The body of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// No body and no Content-Length.
    #[default]
    None,
    /// These bytes, with Content-Length. For gRPC: the encoded message without its five-byte prefix.
    Bytes(Template),
    /// Generated bytes.
    Generated(GeneratedBody),
    /// The messages of a gRPC call with a stream of requests.
    Messages(Messages),
}

/// A generated body: incompressible bytes, the same for every request of this length, and an end of a few bytes that
/// may differ from request to request. A service can only know the body if it reads it to the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeneratedBody {
    /// Total length, bytes.
    pub bytes: u64,
    /// Over HTTP/1.1, send it in chunks of this length, bytes; absent: with Content-Length.
    #[serde(default)]
    pub chunk: Option<u32>,
    /// The last bytes: [`GeneratedBody::end_length`] of them.
    pub end: Template,
}

/// The period of a generated body, bytes.
const BLOCK: usize = 64 * 1024;

impl GeneratedBody {
    /// The length of the end of a body of `bytes` bytes.
    pub const fn end_length(bytes: u64) -> u8 {
        if bytes < 16 { bytes as u8 } else { 16 }
    }

    const fn filler_length(&self) -> u64 {
        self.bytes - Self::end_length(self.bytes) as u64
    }

    /// The bytes before the end.
    pub fn filler(&self) -> Vec<u8> {
        let length = usize::try_from(self.filler_length()).expect("a body fits into memory");
        // The period exceeds the window of common compressors.
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
    /// The bytes of the body; `None` if there is none.
    pub fn render(&self, value: impl FnMut(usize, &mut Vec<u8>)) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        match self {
            Self::None => return None,
            Self::Bytes(template) => template.render(&mut out, value),
            Self::Generated(generated) => {
                out = generated.filler();
                generated.end.render(&mut out, value);
            }
            Self::Messages(messages) => out = messages.framed(),
        }
        Some(out)
    }

    /// Appends its length in bytes, as decimal text.
    pub(crate) fn write_length(&self, out: &mut Vec<u8>, value: &mut impl FnMut(usize, &mut Vec<u8>)) {
        let begin = out.len();
        let before = match self {
            Self::Generated(generated) => generated.filler_length(),
            _ => 0,
        };
        self.write_rest(out, value);
        let length = before + (out.len() - begin) as u64;
        out.truncate(begin);
        write!(out, "{length}").expect("writing to memory does not fail");
    }

    /// Appends its SHA-256 in lower-case hexadecimal digits.
    pub(crate) fn write_digest(&self, out: &mut Vec<u8>, value: &mut impl FnMut(usize, &mut Vec<u8>)) {
        let begin = out.len();
        let mut digest = match self {
            Self::Generated(generated) => digest::of_filler(generated.bytes, || generated.filler()),
            _ => Sha256::new(),
        };
        self.write_rest(out, value);
        digest.update(&out[begin..]);
        out.truncate(begin);
        for byte in digest.finalize() {
            write!(out, "{byte:02x}").expect("writing to memory does not fail");
        }
    }

    /// Appends the body without the filler of a generated one.
    fn write_rest(&self, out: &mut Vec<u8>, value: &mut impl FnMut(usize, &mut Vec<u8>)) {
        match self {
            Self::None => {}
            Self::Bytes(template) | Self::Generated(GeneratedBody { end: template, .. }) => {
                template.fill(out, 0, value);
            }
            Self::Messages(messages) => out.extend_from_slice(&messages.framed()),
        }
    }
}

/// One kind of request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// HTTP method (`POST` for gRPC). For WebSocket, the message type: `TEXT` or `BINARY`.
    pub method: String,
    /// Path with query, starting at `/`. For gRPC, `/package.Service/method`; for WebSocket, the path of the
    /// handshake.
    pub path: Template,
    /// Headers in addition to those that the protocol itself needs (Host, Content-Length, gRPC's own). For WebSocket,
    /// the headers of the handshake.
    #[serde(default)]
    pub headers: Vec<Header>,
    /// The body. For WebSocket, the message.
    #[serde(default)]
    pub body: Body,
}

#[cfg(test)]
mod tests;
