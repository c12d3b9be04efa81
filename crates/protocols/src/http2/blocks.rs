//! Cache of decoded header blocks of replies.
//!
//! A service repeats its headers byte for byte until its clock shows the next second. The meaning of a block follows
//! from its bytes and from the table entries it refers to. So a block that was seen before is compared instead of
//! decoded if it refers to no dynamic entry (nginx adds its headers to the table with each reply and never refers to
//! them), or if the table has not changed since (gRPC in Go refers to entries, and the table stays the same).

use super::frame::{ErrorCode, Violation};
use super::hpack::{DecodeSideEffects, Decoder, Fields, HpackError};
use crate::http1::head::{decimal, note_length};
use crate::request_rules::is_token;

/// Limit on the total size of names and values of a reply's headers, bytes.
pub(super) const MOST_HEADERS: usize = 256 * 1024;

/// Blocks cached per connection: head and trailers of two kinds of reply.
const REMEMBERED: usize = 4;

/// Properties of a reply that its headers determine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplyHeaders {
    /// `:status`; absent in trailers.
    pub status: Option<u16>,
    /// `content-length`.
    pub content_length: Option<u64>,
    /// `grpc-status`.
    pub grpc_status: Option<u32>,
    /// Whether `content-type` is that of gRPC.
    pub is_grpc: bool,
    /// Why the headers are malformed, if they are.
    pub fault: Option<&'static str>,
}

/// A decoded header block.
#[derive(Debug, Default)]
pub struct Block {
    coded: Vec<u8>,
    /// Version of the table under which this block is valid. `None`: valid for this reply only, because decoding it
    /// changed the table that it refers to.
    under: Option<u64>,
    effect: DecodeSideEffects,
    /// The decoded headers.
    pub fields: Fields,
    /// What the headers say about the reply.
    pub meaning: ReplyHeaders,
}

/// The block cache of one connection.
#[derive(Debug)]
pub(super) struct Blocks {
    decoder: Decoder,
    remembered: Vec<Block>,
    next: usize,
}

impl Blocks {
    pub(super) const fn new() -> Self {
        Self {
            decoder: Decoder::new(MOST_HEADERS),
            remembered: Vec::new(),
            next: 0,
        }
    }

    /// Decodes a block or finds it in the cache. Every block of the connection must pass through here in order, since
    /// it may change the table.
    pub(super) fn read(&mut self, coded: &[u8]) -> Result<&Block, Violation> {
        let before = Some(self.decoder.changes());
        let cached = self.remembered.iter().position(|block| {
            (block.under == before || block.effect.is_self_contained) && block.coded == coded
        });
        let Some(place) = cached else {
            let place = self.decode(coded)?;
            return Ok(&self.remembered[place]);
        };
        let block = &self.remembered[place];
        if block.effect.is_self_contained {
            self.decoder.enter_again(&block.fields, block.effect);
        }
        Ok(block)
    }

    fn decode(&mut self, coded: &[u8]) -> Result<usize, Violation> {
        let before = self.decoder.changes();
        let place = self.next;
        self.next = (place + 1) % REMEMBERED;
        if self.remembered.len() <= place {
            self.remembered.push(Block::default());
        }
        let block = &mut self.remembered[place];
        // A block that cannot be decoded must not be found in the cache.
        block.coded.clear();
        block.under = None;
        block.effect = DecodeSideEffects::default();
        block.effect = self.decoder.decode(coded, &mut block.fields).map_err(violation)?;
        block.meaning = read_meaning(&block.fields);
        block.under = (self.decoder.changes() == before).then_some(before);
        if block.under.is_some() || block.effect.is_self_contained {
            block.coded.extend_from_slice(coded);
        }
        Ok(place)
    }
}

const fn violation(error: HpackError) -> Violation {
    let (code, reason) = match error {
        HpackError::Truncated => (
            ErrorCode::Compression,
            "a header block ends in the middle of a field",
        ),
        HpackError::IntegerTooLarge => (
            ErrorCode::Compression,
            "a header block contains an integer that is too large",
        ),
        HpackError::NoSuchEntry(_) => (
            ErrorCode::Compression,
            "a header block refers to an entry that is in neither table",
        ),
        HpackError::Huffman => (
            ErrorCode::Compression,
            "a header block contains a string that is not valid Huffman code",
        ),
        HpackError::TableSize(_) => (
            ErrorCode::Compression,
            "a header block resizes the table where that is forbidden",
        ),
        HpackError::TooLarge(_) => (
            ErrorCode::EnhanceYourCalm,
            "the headers of a reply exceed 256 KiB",
        ),
    };
    Violation { code, reason }
}

/// Checks the headers for faults (RFC 9113, sections 8.1.1, 8.2 and 8.3.2) and extracts what the reply needs.
fn read_meaning(fields: &Fields) -> ReplyHeaders {
    let mut meaning = ReplyHeaders::default();
    let mut regular = false;
    for (name, value) in fields.iter() {
        let fault = match name {
            b":status" if regular => Some("`:status` comes after other headers"),
            b":status" => read_status(value, &mut meaning),
            [b':', ..] => Some("a reply holds a pseudo-header other than `:status`"),
            b"content-length" => note_length(&mut meaning.content_length, value).err(),
            b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding" | b"upgrade" => {
                Some("a reply has a header that belongs to HTTP/1.1 connections")
            }
            b"grpc-status" => read_grpc_status(value, &mut meaning),
            b"content-type" => {
                meaning.is_grpc = is_grpc(value);
                None
            }
            _ => fault_of_name(name),
        };
        regular |= name.first() != Some(&b':');
        meaning.fault = meaning.fault.or(fault).or_else(|| fault_of_value(value));
    }
    meaning
}

fn read_status(value: &[u8], meaning: &mut ReplyHeaders) -> Option<&'static str> {
    let number = match value {
        [b'1'..=b'9', b'0'..=b'9', b'0'..=b'9'] => decimal(value),
        _ => None,
    };
    match (number, meaning.status) {
        (None, _) => Some("`:status` is not three digits"),
        (Some(_), Some(_)) => Some("a reply has `:status` twice"),
        (Some(status), None) => {
            meaning.status = Some(status as u16);
            None
        }
    }
}

fn read_grpc_status(value: &[u8], meaning: &mut ReplyHeaders) -> Option<&'static str> {
    meaning.grpc_status = decimal(value).and_then(|status| u32::try_from(status).ok());
    meaning
        .grpc_status
        .is_none()
        .then_some("`grpc-status` is not a number")
}

/// `application/grpc`, optionally with a suffix (`+proto`) or a parameter.
fn is_grpc(content_type: &[u8]) -> bool {
    const TYPE: &[u8] = b"application/grpc";
    content_type
        .get(..TYPE.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(TYPE))
        && matches!(content_type.get(TYPE.len()), None | Some(b'+' | b';' | b' '))
}

fn fault_of_name(name: &[u8]) -> Option<&'static str> {
    if name.is_empty() {
        return Some("a reply has a header without a name");
    }
    if name.iter().any(u8::is_ascii_uppercase) {
        return Some("a reply has a header name in upper case");
    }
    (!name.iter().all(|&byte| is_token(byte)))
        .then_some("a reply holds a header name with a forbidden character")
}

/// What a value must not hold (RFC 9113, section 8.2.1).
fn fault_of_value(value: &[u8]) -> Option<&'static str> {
    if value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n')) {
        return Some("a reply holds a header value with a line break or a NUL");
    }
    let is_space = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    (is_space(value.first()) || is_space(value.last()))
        .then_some("a reply holds a header value that begins or ends with white space")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Parts of blocks: indexed fields of both tables, literals with and without indexing, table size updates.
    fn part() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            (1..70u8).prop_map(|index| vec![0x80 | index]),
            (0..8u8, 0..3u8).prop_map(|(name, value)| vec![0x40 | (name + 20), 1, b'a' + value]),
            (0..3u8).prop_map(|name| vec![0x40, 1, b'x' + name, 1, b'v']),
            (0..3u8).prop_map(|name| vec![0, 1, b'x' + name, 1, b'v']),
            (63..67u8).prop_map(|index| vec![0x40 | 0x3f, index - 63, 1, b'n']),
        ]
    }

    proptest! {
        /// A cached block means the same as a freshly decoded one, whatever came in between.
        #[test]
        fn remembering_changes_nothing(
            blocks in prop::collection::vec(prop::collection::vec(part(), 0..4), 1..6),
            order in prop::collection::vec(0..6usize, 1..200),
        ) {
            let mut remembering = Blocks::new();
            let mut plain = Decoder::new(MOST_HEADERS);
            let mut fields = Fields::default();
            for place in order {
                let coded = blocks[place % blocks.len()].concat();
                let expected = plain.decode(&coded, &mut fields);
                match (remembering.read(&coded), expected) {
                    (Ok(block), Ok(_)) => prop_assert!(block.fields.iter().eq(fields.iter())),
                    (Err(_), Err(_)) => break,
                    (one, other) => prop_assert!(false, "{:?} {:?}", one.is_ok(), other),
                }
            }
        }
    }
}
