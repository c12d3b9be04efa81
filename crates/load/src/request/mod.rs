//! Requests as templates, and the parameters that fill them.

pub mod grpc;

use crate::Bytes;
use grpc::Messages;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
            Part::Value(_) => &[],
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

    /// The bytes before the end.
    pub fn filler(&self) -> Vec<u8> {
        let length = self.bytes - u64::from(Self::end_length(self.bytes));
        let length = usize::try_from(length).expect("a body fits into memory");
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
mod tests {
    use super::*;

    #[test]
    fn a_deadline_has_at_most_eight_digits() {
        for (ns, text) in [
            (1, "1n"),
            (99_999_999, "99999999n"),
            (100_000_000, "100000u"),
            (10_000_000_000, "10000000u"),
            (3_600_000_000_000, "3600000m"),
        ] {
            let header = Header::deadline(ns);
            assert_eq!(header.value, Template::literal(text));
            assert_eq!(header.deadline_ns(), Some(ns));
        }
    }
}
