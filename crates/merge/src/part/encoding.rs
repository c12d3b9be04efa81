//! How a part travels.

use super::Part;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The first byte of a part. It changes whenever the fields of a part do.
const VERSION: u8 = 4;

/// Why parts cannot be read or merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    /// The text is no part.
    #[error("a worker's part cannot be read: {0}; all workers need the same version of prony")]
    Unreadable(String),
    /// Another version of prony wrote it.
    #[error(
        "a worker's part has version {0}, where {VERSION} is known: all workers need the same version of prony"
    )]
    Version(u8),
    /// The parts are not of the same job.
    #[error(
        "the parts of the workers are not of the same job: give all workers the same job but for its share"
    )]
    OtherJob,
    /// A thread's part is there already.
    #[error(
        "two parts hold thread {thread}: each worker needs a share of its own, and its part is merged once"
    )]
    Twice {
        /// The thread, by its number among those of all workers.
        thread: u32,
    },
}

impl Part {
    /// The part as text: base64 of a version and of [postcard](https://postcard.jamesmunns.com/wire-format)'s bytes.
    /// Distributions are in it as [`CompactHistogram`](prony_records::CompactHistogram)s, so its length is bounded by
    /// the number of operations, intervals and threads, and equal parts give equal texts.
    pub fn encode(&self) -> String {
        let bytes = postcard::to_extend(self, vec![VERSION]).expect("invariant: a part is plain data");
        STANDARD.encode(bytes)
    }

    /// Reads what [`Part::encode`] wrote.
    pub fn decode(text: &str) -> Result<Self, PartError> {
        let unreadable = |error: &dyn std::fmt::Display| PartError::Unreadable(error.to_string());
        let bytes = STANDARD.decode(text.trim()).map_err(|error| unreadable(&error))?;
        match bytes.split_first() {
            Some((&VERSION, rest)) => postcard::from_bytes(rest).map_err(|error| unreadable(&error)),
            Some((&other, _)) => Err(PartError::Version(other)),
            None => Err(PartError::Unreadable("it is empty".to_owned())),
        }
    }
}
