//! Encodes planned requests as header blocks.
//!
//! The encoding of each field is decided once, in a [`HeaderPlan`] that all connections share. Fields of the static
//! table take one byte from the start. Every other constant field enters the service's dynamic table with the first
//! request that carries it, and takes one byte from then on. Only fields that differ per request are written out.

use super::static_table::{StaticMatch, find};
use super::{DEFAULT_TABLE_SIZE, ENTRY_OVERHEAD, huffman, integer};
use std::hash::{DefaultHasher, Hasher as _};

const INDEXED: u8 = 0x80;
const LITERAL_INDEXED: u8 = 0x40;
const LITERAL: u8 = 0x00;
const SIZE_UPDATE: u8 = 0x20;
/// Index of the newest entry of the dynamic table.
const FIRST_DYNAMIC: usize = 62;

/// A header field of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Field<'a> {
    /// The name, in lower case.
    pub name: &'a [u8],
    /// The value; `None` if it differs per request.
    pub value: Option<&'a [u8]>,
}

/// Hash of a field or a plan. It lets plans that were made separately share what they have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key(u64);

impl Key {
    fn of(content: &(impl std::hash::Hash + ?Sized)) -> Self {
        let mut hasher = DefaultHasher::new();
        content.hash(&mut hasher);
        Self(hasher.finish())
    }
}

#[derive(Debug)]
enum FieldPart {
    /// An entry of the static table.
    Static(u8),
    /// A constant field outside the static table.
    Entry(Entry),
    /// The name as a literal; the value follows.
    Varying(Box<[u8]>),
}

#[derive(Debug)]
struct Entry {
    key: Key,
    /// Encoded as a literal that enters the table.
    entering: Box<[u8]>,
    /// Encoded as a literal that does not enter the table.
    plain: Box<[u8]>,
    size: usize,
}

/// How to encode the header block of one operation.
#[derive(Debug)]
pub struct HeaderPlan {
    key: Key,
    pieces: Vec<FieldPart>,
    is_constant: bool,
}

impl HeaderPlan {
    /// Plans the block of an operation with these fields, in the order they are sent (pseudo-headers first).
    pub fn new(fields: &[Field<'_>]) -> Self {
        let piece = |field: &Field<'_>| match field.value {
            None => FieldPart::Varying(literal_name(field.name, LITERAL, 4).into()),
            Some(value) => match find(field.name, value) {
                StaticMatch::Both(index) => FieldPart::Static(INDEXED | index),
                _ => FieldPart::Entry(Entry::new(field.name, value)),
            },
        };
        Self {
            key: Key::of(fields),
            pieces: fields.iter().map(piece).collect(),
            is_constant: fields.iter().all(|field| field.value.is_some()),
        }
    }
}

impl Entry {
    fn new(name: &[u8], value: &[u8]) -> Self {
        let literal = |pattern, prefix_bits| {
            let mut bytes = literal_name(name, pattern, prefix_bits);
            shortest_string(value, &mut bytes);
            bytes.into()
        };
        Self {
            key: Key::of(&(name, value)),
            entering: literal(LITERAL_INDEXED, 6),
            plain: literal(LITERAL, 4),
            size: name.len() + value.len() + ENTRY_OVERHEAD,
        }
    }
}

fn literal_name(name: &[u8], pattern: u8, prefix_bits: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    match find(name, b"") {
        StaticMatch::Both(index) | StaticMatch::Name(index) => {
            integer::encode(usize::from(index), prefix_bits, pattern, &mut bytes);
        }
        StaticMatch::None => {
            bytes.push(pattern);
            shortest_string(name, &mut bytes);
        }
    }
    bytes
}

fn shortest_string(text: &[u8], out: &mut Vec<u8>) {
    let coded = huffman::encoded_len(text);
    if coded < text.len() {
        integer::encode(coded, 7, 0x80, out);
        huffman::encode(text, out);
    } else {
        integer::encode(text.len(), 7, 0, out);
        out.extend_from_slice(text);
    }
}

/// The part of a service's dynamic table that this side has filled, for one connection.
#[derive(Debug)]
pub struct Encoder {
    /// The entries in the table, each with the number of entries right after it was added.
    entered: Vec<(Key, u16)>,
    count: u16,
    size: usize,
    limit: usize,
    /// The next block must empty the table and set the new limit.
    resize: bool,
    /// Encoded blocks of plans without varying fields, each with the entry count under which it is valid.
    blocks: Vec<(Key, u16, Vec<u8>)>,
    value: Vec<u8>,
}

impl Default for Encoder {
    fn default() -> Self {
        Self {
            entered: Vec::new(),
            count: 0,
            size: 0,
            limit: DEFAULT_TABLE_SIZE,
            resize: false,
            blocks: Vec::new(),
            value: Vec::new(),
        }
    }
}

impl Encoder {
    /// Applies the service's `SETTINGS_HEADER_TABLE_SIZE`. A change empties the table: tracking which entries survive a
    /// resize is not worth it for a case that happens at most once, at the start of a connection.
    pub fn set_table_size(&mut self, size: usize) {
        let limit = size.min(DEFAULT_TABLE_SIZE);
        if limit == self.limit {
            return;
        }
        self.limit = limit;
        self.resize = true;
        self.count = 0;
        self.size = 0;
        self.entered.clear();
        self.blocks.clear();
    }

    /// Appends the block of an operation. `value(k, out)` appends the value of the `k`-th varying field, from 0.
    #[inline]
    pub fn encode(&mut self, plan: &HeaderPlan, value: impl FnMut(usize, &mut Vec<u8>), out: &mut Vec<u8>) {
        let (key, count) = (plan.key, self.count);
        match self
            .blocks
            .iter()
            .find(|block| block.0 == key && block.1 == count)
        {
            Some((_, _, block)) => out.extend_from_slice(block),
            None => self.write(plan, value, out),
        }
    }

    fn write(&mut self, plan: &HeaderPlan, mut value: impl FnMut(usize, &mut Vec<u8>), out: &mut Vec<u8>) {
        let (start, before) = (out.len(), self.count);
        let resize = std::mem::take(&mut self.resize);
        if resize {
            out.push(SIZE_UPDATE);
            integer::encode(self.limit, 5, SIZE_UPDATE, out);
        }
        let mut varying = 0;
        for piece in &plan.pieces {
            match piece {
                FieldPart::Static(indexed) => out.push(*indexed),
                FieldPart::Entry(entry) => self.write_entry(entry, out),
                FieldPart::Varying(name) => {
                    out.extend_from_slice(name);
                    self.value.clear();
                    value(varying, &mut self.value);
                    varying += 1;
                    integer::encode(self.value.len(), 7, 0, out);
                    out.extend_from_slice(&self.value);
                }
            }
        }
        // A block that did not change the table is the same next time.
        if plan.is_constant && !resize && self.count == before {
            self.blocks.retain(|block| block.0 != plan.key);
            self.blocks.push((plan.key, before, out[start..].to_vec()));
        }
    }

    fn write_entry(&mut self, entry: &Entry, out: &mut Vec<u8>) {
        if let Some((_, at)) = self.entered.iter().find(|entered| entered.0 == entry.key) {
            integer::encode(FIRST_DYNAMIC + usize::from(self.count - at), 7, INDEXED, out);
            return;
        }
        // Nothing is ever evicted: a field that does not fit stays a literal.
        if self.size + entry.size > self.limit {
            out.extend_from_slice(&entry.plain);
            return;
        }
        out.extend_from_slice(&entry.entering);
        self.size += entry.size;
        self.count += 1;
        self.entered.push((entry.key, self.count));
    }
}
