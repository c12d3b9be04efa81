//! What can fail.

use prony_records::HistogramError;
use prony_statistics::StatisticsError;
use std::path::PathBuf;

/// Why a report could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A histogram that cannot be read.
    #[error("the response times of {service} cannot be read: {source}; the record is damaged")]
    Histogram {
        /// Whose.
        service: String,
        /// What is wrong with it.
        source: HistogramError,
    },
    /// A file of published figures that cannot be read.
    #[error("{}: {source}", file.display())]
    References {
        /// The file.
        file: PathBuf,
        /// Where and what is wrong.
        source: Box<toml::de::Error>,
    },
    /// A time that is none.
    #[error("`{text}` is no time of RFC 3339: {source}; the record of the run is damaged")]
    Time {
        /// What stands there.
        text: String,
        /// What is wrong with it.
        source: humantime::TimestampError,
    },
    /// An exported report that cannot be read.
    #[error("this is no report of prony: {0}; write one with `prony report --json`")]
    NoReport(serde_json::Error),
    /// An exported report of another version.
    #[error("this report has version {found} of the JSON, and this prony reads version {read}")]
    Version {
        /// What it says.
        found: String,
        /// What is read.
        read: u32,
    },
    /// Runs that cannot be held against each other.
    #[error("runs cannot be compared: {0}; the record of one is damaged")]
    Compare(#[from] StatisticsError),
    /// Output that cannot be built.
    #[error("cannot write the report as {format}: {reason}")]
    Write {
        /// The format.
        format: &'static str,
        /// Why.
        reason: String,
    },
}
