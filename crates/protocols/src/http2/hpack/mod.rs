//! Header compression (RFC 7541).
//!
//! [`Decoder`] reads what a service sends; [`Encoder`] writes requests that were planned before the load, so that a
//! repeated request costs one byte per header. Neither allocates once it has seen the headers of its connection.

mod decoder;
mod dynamic_table;
mod encoder;
mod huffman;
mod integer;
mod static_table;
#[cfg(test)]
mod tests;

pub use decoder::{DecodeSideEffects, Decoder, Fields};
pub use encoder::{Encoder, Field, HeaderPlan};

/// Size of a table entry in addition to its name and value, bytes (RFC 7541, section 4.1).
const ENTRY_OVERHEAD: usize = 32;

/// Default size of a dynamic table, bytes (RFC 9113, section 6.5.2).
pub const DEFAULT_TABLE_SIZE: usize = 4096;

/// A malformed header block. The connection cannot continue, because the tables of both sides now differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HpackError {
    /// A block ends in the middle of a field.
    #[error("a header block ends in the middle of a field")]
    Truncated,
    /// An integer beyond 2^28.
    #[error("a header block contains an integer that is too large")]
    IntegerTooLarge,
    /// An index beyond both tables.
    #[error("a header block refers to entry {0}, which is in neither table")]
    NoSuchEntry(usize),
    /// A string that is not valid Huffman code.
    #[error("a header block contains a string that is not valid Huffman code")]
    Huffman,
    /// A table size update beyond the setting, or in the middle of a block.
    #[error("a header block resizes the table to {0} bytes where that is forbidden")]
    TableSize(usize),
    /// Headers larger than this client accepts.
    #[error("headers are larger than {0} bytes")]
    TooLarge(usize),
}
