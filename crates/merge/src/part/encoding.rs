//! The encoding of parts for transfer between processes.

use super::Part;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// First byte of an encoded part. Must change whenever the fields of a part change.
const VERSION: u8 = 4;

/// Why parts cannot be decoded or merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    /// The text is not a part.
    #[error("cannot decode the part of a worker: {0}; use the same version of prony on all workers")]
    Unreadable(String),
    /// Another version of prony wrote it.
    #[error(
        "the part of a worker has version {0}, but this prony needs version {VERSION}: use the same version of prony on all workers"
    )]
    Version(u8),
    /// The parts belong to different jobs.
    #[error(
        "the parts of the workers belong to different jobs: give all workers the same job, except for its share"
    )]
    OtherJob,
    /// The part of a thread was already merged.
    #[error(
        "two parts contain thread {thread}: give each worker its own share, and merge each part only once"
    )]
    Twice {
        /// Number of the thread among the threads of all workers.
        thread: u32,
    },
}

impl Part {
    /// Encodes the part as text: base64 of a version byte and [postcard](https://postcard.jamesmunns.com/wire-format) bytes.
    /// Distributions are encoded as [`CompactHistogram`](prony_records::CompactHistogram)s, so the length is bounded by the
    /// number of operations, intervals and threads, and equal parts give equal texts.
    pub fn encode(&self) -> String {
        let bytes = postcard::to_extend(self, vec![VERSION]).expect("invariant: a part is plain data");
        STANDARD.encode(bytes)
    }

    /// Decodes the output of [`Part::encode`].
    pub fn decode(text: &str) -> Result<Self, PartError> {
        let unreadable = |error: &dyn std::fmt::Display| PartError::Unreadable(error.to_string());
        let bytes = STANDARD.decode(text.trim()).map_err(|error| unreadable(&error))?;
        match bytes.split_first() {
            Some((&VERSION, rest)) => postcard::from_bytes(rest).map_err(|error| unreadable(&error)),
            Some((&other, _)) => Err(PartError::Version(other)),
            None => Err(PartError::Unreadable("the text is empty".to_owned())),
        }
    }
}
