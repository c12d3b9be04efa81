//! Header compression (RFC 7541).
//!
//! [`Decoder`] reads what a service sends; [`Encoder`] writes requests that were planned before the load, so that a
//! repeated request costs one byte for each header. Neither allocates once it has seen the headers of its connection.

mod decoder;
mod dynamic_table;
mod encoder;
mod huffman;
mod integer;
mod static_table;
#[cfg(test)]
mod tests;

pub use decoder::{Decoder, Effect, Fields};
pub use encoder::{Encoder, Field, HeaderPlan};

/// Bytes that each entry of a table counts for beside its name and value (RFC 7541, section 4.1).
const ENTRY_OVERHEAD: usize = 32;

/// Size of a dynamic table that no setting has changed, bytes (RFC 9113, section 6.5.2).
pub const DEFAULT_TABLE_SIZE: usize = 4096;

/// A header block that breaks the rules. The connection cannot go on: both sides' tables differ from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HpackError {
    /// A block ends in the middle of a field.
    #[error("a header block ends in the middle of a field")]
    Truncated,
    /// An integer beyond 2^28.
    #[error("a header block holds an integer too large to be real")]
    IntegerTooLarge,
    /// An index beyond both tables.
    #[error("a header block names entry {0}, which is in neither table")]
    NoSuchEntry(usize),
    /// A string that is no Huffman code.
    #[error("a header block holds a string that is not Huffman-coded as it says")]
    Huffman,
    /// A change of the table's size beyond the setting, or in the middle of a block.
    #[error("a header block resizes the table to {0} bytes where it must not")]
    TableSize(usize),
    /// Headers larger than this client accepts.
    #[error("headers are larger than {0} bytes")]
    TooLarge(usize),
}
