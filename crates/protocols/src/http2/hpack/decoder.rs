//! Decodes header blocks into fields.

use super::dynamic_table::DynamicTable;
use super::static_table::STATIC_TABLE;
use super::{DEFAULT_TABLE_SIZE, HpackError, huffman, integer};

/// The fields of one header block. Reused, so that decoding a block does not allocate.
#[derive(Debug, Clone, Default)]
pub struct Fields {
    bytes: Vec<u8>,
    ends: Vec<(u32, u32)>,
}

impl Fields {
    /// Name and value of each field, in the order received.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut start = 0;
        self.ends.iter().map(move |&(name, value)| {
            let field = (
                &self.bytes[start..name as usize],
                &self.bytes[name as usize..value as usize],
            );
            start = value as usize;
            field
        })
    }

    /// Number of fields.
    pub const fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no fields.
    pub const fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Removes all fields but keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn push(&mut self, name: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(name);
        let name = self.bytes.len() as u32;
        self.bytes.extend_from_slice(value);
        self.ends.push((name, self.bytes.len() as u32));
    }

    fn last(&self) -> (&[u8], &[u8]) {
        let (name, value) = *self.ends.last().expect("a field was pushed");
        let start = match self.ends.len() {
            1 => 0,
            count => self.ends[count - 2].1,
        };
        (
            &self.bytes[start as usize..name as usize],
            &self.bytes[name as usize..value as usize],
        )
    }
}

/// Side effects of decoding a block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DecodeSideEffects {
    /// Whether its fields follow from its bytes alone: it refers to no dynamic entry and does not resize the table.
    pub is_self_contained: bool,
    /// Bit set of the fields that entered the table, the first field in the lowest bit. A block that adds a field
    /// beyond the 64th counts as not self-contained.
    pub entered: u64,
}

/// Decodes the header blocks of one connection, in order.
#[derive(Debug)]
pub struct Decoder {
    table: DynamicTable,
    /// Limit on the total size of names and values, bytes.
    most: usize,
}

impl Decoder {
    /// Creates a decoder for a connection with the default `SETTINGS_HEADER_TABLE_SIZE`. `most` limits the total size
    /// of names and values, bytes.
    pub const fn new(most: usize) -> Self {
        Self {
            table: DynamicTable::new(DEFAULT_TABLE_SIZE),
            most,
        }
    }

    /// Version of the table. A block has the same meaning whenever it is decoded under the same version.
    pub const fn changes(&self) -> u64 {
        self.table.changes()
    }

    /// Decodes a whole block into `fields`.
    pub fn decode(&mut self, block: &[u8], fields: &mut Fields) -> Result<DecodeSideEffects, HpackError> {
        fields.clear();
        let mut effect = DecodeSideEffects {
            is_self_contained: true,
            entered: 0,
        };
        let mut rest = block;
        while let Some(&first) = rest.first() {
            let (index, used) = match first {
                0x80.. => self.indexed(rest, fields)?,
                0x40..0x80 => {
                    let (index, used) = self.literal(rest, 6, fields)?;
                    let (name, value) = fields.last();
                    self.table.insert(name, value);
                    effect.entered |= 1u64.checked_shl(fields.len() as u32 - 1).unwrap_or(0);
                    effect.is_self_contained &= fields.len() <= 64;
                    (index, used)
                }
                // Reported as an index beyond the static table: what follows depends on the dynamic one.
                0x20..0x40 => (usize::MAX, self.size_update(rest, fields)?),
                _ => self.literal(rest, 4, fields)?,
            };
            effect.is_self_contained &= index <= STATIC_TABLE.len();
            if fields.bytes.len() > self.most {
                return Err(HpackError::TooLarge(self.most));
            }
            rest = &rest[used..];
        }
        Ok(effect)
    }

    /// Adds the fields of a self-contained block to the table again, as decoding the block again would.
    pub fn enter_again(&mut self, fields: &Fields, effect: DecodeSideEffects) {
        debug_assert!(effect.is_self_contained);
        if effect.entered == 0 {
            return;
        }
        for (place, (name, value)) in fields.iter().take(64).enumerate() {
            if effect.entered >> place & 1 == 1 {
                self.table.insert(name, value);
            }
        }
    }

    fn entry(&self, index: usize) -> Result<(&[u8], &[u8]), HpackError> {
        let place = index.checked_sub(1).ok_or(HpackError::NoSuchEntry(index))?;
        match STATIC_TABLE.get(place) {
            Some(&entry) => Ok(entry),
            None => self
                .table
                .get(place - STATIC_TABLE.len())
                .ok_or(HpackError::NoSuchEntry(index)),
        }
    }

    /// Returns the index and the number of bytes read.
    fn indexed(&self, rest: &[u8], fields: &mut Fields) -> Result<(usize, usize), HpackError> {
        let (index, used) = integer::decode(rest, 7)?;
        let (name, value) = self.entry(index)?;
        fields.push(name, value);
        Ok((index, used))
    }

    /// Returns the index of the name (0 if it is a literal) and the number of bytes read.
    fn literal(
        &self,
        rest: &[u8],
        prefix_bits: u32,
        fields: &mut Fields,
    ) -> Result<(usize, usize), HpackError> {
        let (index, mut used) = integer::decode(rest, prefix_bits)?;
        if index == 0 {
            used += string(&rest[used..], &mut fields.bytes)?;
        } else {
            fields.bytes.extend_from_slice(self.entry(index)?.0);
        }
        let name = fields.bytes.len() as u32;
        used += string(&rest[used..], &mut fields.bytes)?;
        fields.ends.push((name, fields.bytes.len() as u32));
        Ok((index, used))
    }

    /// A table size update is only allowed before the first field (RFC 7541, section 4.2).
    fn size_update(&mut self, rest: &[u8], fields: &Fields) -> Result<usize, HpackError> {
        let (size, used) = integer::decode(rest, 5)?;
        if size > DEFAULT_TABLE_SIZE || !fields.is_empty() {
            return Err(HpackError::TableSize(size));
        }
        self.table.resize(size);
        Ok(used)
    }

    #[cfg(test)]
    pub(super) const fn table(&mut self) -> &mut DynamicTable {
        &mut self.table
    }
}

/// Appends a string literal to `out` (RFC 7541, section 5.2) and returns the number of bytes read.
fn string(bytes: &[u8], out: &mut Vec<u8>) -> Result<usize, HpackError> {
    let (length, used) = integer::decode(bytes, 7)?;
    let coded = bytes.get(used..used + length).ok_or(HpackError::Truncated)?;
    if bytes[0] & 0x80 == 0 {
        out.extend_from_slice(coded);
    } else {
        huffman::decode(coded, out)?;
    }
    Ok(used + length)
}
