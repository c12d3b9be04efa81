//! Planned requests into header blocks.
//!
//! What a field costs is decided once, in a [`HeaderPlan`] that all connections share: fields of the static table are one
//! byte from the start, and every other constant field goes into the service's dynamic table with the first request that
//! carries it and is one byte from then on. Only fields that differ in each request are written out.

use super::static_table::{StaticMatch, find};
use super::{DEFAULT_TABLE_SIZE, ENTRY_OVERHEAD, huffman, integer};

const INDEXED: u8 = 0x80;
const LITERAL_INDEXED: u8 = 0x40;
const LITERAL: u8 = 0x00;
const SIZE_UPDATE: u8 = 0x20;
/// Index of the newest entry of the dynamic table.
const FIRST_DYNAMIC: usize = 62;

/// A field of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<'a> {
    /// The name, in lower case.
    pub name: &'a [u8],
    /// The value; `None`: it differs in each request.
    pub value: Option<&'a [u8]>,
}

#[derive(Debug)]
enum Piece {
    /// One byte, or a literal that no table has room for.
    Fixed(Box<[u8]>),
    /// An entry of the plan.
    Entry(usize),
    /// The name as a literal; the value follows.
    Varying(Box<[u8]>),
}

/// A constant field outside the static table.
#[derive(Debug)]
struct Entry {
    /// As a literal that enters the table.
    entering: Box<[u8]>,
    /// As a literal that does not.
    plain: Box<[u8]>,
    size: usize,
}

/// How the header block of each operation is written.
#[derive(Debug)]
pub struct HeaderPlan {
    entries: Vec<Entry>,
    operations: Vec<Vec<Piece>>,
}

impl HeaderPlan {
    /// Plans the blocks of operations with these fields, in the order they are sent (pseudo-headers first).
    pub fn new(operations: &[Vec<Field<'_>>]) -> Self {
        let mut known: Vec<(&[u8], &[u8])> = Vec::new();
        let mut entries = Vec::new();
        let operations = operations
            .iter()
            .map(|fields| {
                let pieces = fields.iter().map(|field| {
                    let Some(value) = field.value else {
                        return Piece::Varying(literal_name(field.name, LITERAL, 4).into());
                    };
                    if let StaticMatch::Both(index) = find(field.name, value) {
                        return Piece::Fixed([INDEXED | index].into());
                    }
                    let same = known.iter().position(|&entry| entry == (field.name, value));
                    Piece::Entry(same.unwrap_or_else(|| {
                        known.push((field.name, value));
                        entries.push(Entry::new(field.name, value));
                        entries.len() - 1
                    }))
                });
                pieces.collect()
            })
            .collect();
        Self { entries, operations }
    }

    fn is_constant(&self, operation: usize) -> bool {
        !self.operations[operation]
            .iter()
            .any(|piece| matches!(piece, Piece::Varying(_)))
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

/// What one connection's service has in its dynamic table, as far as this side put it there.
#[derive(Debug)]
pub struct Encoder {
    /// For each entry of the plan: how many entries there were once it had entered; 0: it is not in the table.
    entered: Vec<u16>,
    count: u16,
    size: usize,
    limit: usize,
    /// The table must be emptied and get the new limit with the next block.
    resize: bool,
    /// For each operation: its block and the count under which it is right.
    blocks: Vec<(u16, Vec<u8>)>,
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
    /// Takes `SETTINGS_HEADER_TABLE_SIZE` of the service. Where that changes the table, it is emptied: entries that
    /// survive a resize would have to be tracked for a case that happens at most once, at the start of a connection.
    pub fn set_table_size(&mut self, size: usize) {
        let limit = size.min(DEFAULT_TABLE_SIZE);
        if limit == self.limit {
            return;
        }
        self.limit = limit;
        self.resize = true;
        self.count = 0;
        self.size = 0;
        self.entered.fill(0);
        self.blocks.clear();
    }

    /// Appends the block of an operation. `value(k, out)` appends the value of the `k`-th field that varies, from 0.
    pub fn encode(
        &mut self,
        plan: &HeaderPlan,
        operation: usize,
        value: impl FnMut(usize, &mut Vec<u8>),
        out: &mut Vec<u8>,
    ) {
        if let Some((count, block)) = self.blocks.get(operation)
            && *count == self.count
            && !block.is_empty()
        {
            out.extend_from_slice(block);
            return;
        }
        let start = out.len();
        let before = self.count;
        if self.resize {
            self.resize = false;
            out.push(SIZE_UPDATE);
            integer::encode(self.limit, 5, SIZE_UPDATE, out);
            self.write(plan, operation, value, out);
            return;
        }
        self.write(plan, operation, value, out);
        // A block that entered nothing is the same next time.
        if self.count == before && plan.is_constant(operation) {
            self.blocks
                .resize_with(plan.operations.len(), || (0, Vec::new()));
            self.blocks[operation] = (self.count, out[start..].to_vec());
        }
    }

    fn write(
        &mut self,
        plan: &HeaderPlan,
        operation: usize,
        mut value: impl FnMut(usize, &mut Vec<u8>),
        out: &mut Vec<u8>,
    ) {
        let mut varying = 0;
        for piece in &plan.operations[operation] {
            match piece {
                Piece::Fixed(bytes) => out.extend_from_slice(bytes),
                Piece::Entry(entry) => self.write_entry(plan, *entry, out),
                Piece::Varying(name) => {
                    out.extend_from_slice(name);
                    self.value.clear();
                    value(varying, &mut self.value);
                    varying += 1;
                    integer::encode(self.value.len(), 7, 0, out);
                    out.extend_from_slice(&self.value);
                }
            }
        }
    }

    fn write_entry(&mut self, plan: &HeaderPlan, entry: usize, out: &mut Vec<u8>) {
        self.entered.resize(plan.entries.len(), 0);
        let at = self.entered[entry];
        if at != 0 {
            integer::encode(FIRST_DYNAMIC + usize::from(self.count - at), 7, INDEXED, out);
            return;
        }
        let planned = &plan.entries[entry];
        // Nothing is ever evicted: what does not fit stays a literal.
        if self.size + planned.size > self.limit {
            out.extend_from_slice(&planned.plain);
            return;
        }
        out.extend_from_slice(&planned.entering);
        self.size += planned.size;
        self.count += 1;
        self.entered[entry] = self.count;
    }
}
