//! Requests as templates, and the parameters that fill them.

pub mod grpc;

use crate::Bytes;
use grpc::Messages;
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

/// The header by which a caller of gRPC says how long it waits.
const DEADLINE: &str = "grpc-timeout";
/// Units of its time, ns. It has at most eight digits.
const UNITS: [(u64, &str); 6] = [
    (1, "n"),
    (1_000, "u"),
    (1_000_000, "m"),
    (1_000_000_000, "S"),
    (60_000_000_000, "M"),
    (3_600_000_000_000, "H"),
];

impl Header {
    /// That which tells a service how long a caller of gRPC waits.
    pub fn deadline(ns: u64) -> Self {
        let fits = |(length, _): &&(u64, &str)| ns.div_ceil(*length) < 100_000_000;
        let (length, unit) = UNITS.iter().find(fits).unwrap_or(&UNITS[5]);
        Self {
            name: DEADLINE.to_owned(),
            value: Template::literal(format!("{}{unit}", ns.div_ceil(*length)).as_str()),
        }
    }

    /// What such a header says, ns; `None` where it is another one.
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
    /// The messages of a gRPC call whose requests are a stream.
    Messages(Messages),
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
            Self::Messages(messages) => out = messages.framed(),
        }
        Some(out)
    }
}

/// One kind of request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// HTTP method (`POST` for gRPC). For WebSocket what the message is: `TEXT` or `BINARY`.
    pub method: String,
    /// Path with query, from `/` on. For gRPC `/package.Service/method`; for WebSocket that of the handshake.
    pub path: Template,
    /// Headers beside those that the protocol itself needs (Host, Content-Length, gRPC's own). For WebSocket those of the
    /// handshake.
    #[serde(default)]
    pub headers: Vec<Header>,
    /// What the request carries. For WebSocket the message.
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
