//! Errors that prevent a report.

use prony_records::HistogramError;
use prony_statistics::StatisticsError;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("the response times of {service} cannot be read: {source}; the record is damaged")]
    Histogram { service: String, source: HistogramError },
    #[error("{}: {source}", file.display())]
    References {
        file: PathBuf,
        source: Box<toml::de::Error>,
    },
    #[error("`{text}` is not an RFC 3339 time: {source}; the record of the run is damaged")]
    Time {
        text: String,
        source: humantime::TimestampError,
    },
    #[error("this is not a prony report: {0}; create one with `prony report --json`")]
    NoReport(serde_json::Error),
    #[error("this report has version {found} of the JSON, but this prony reads version {read}")]
    Version { found: String, read: u32 },
    #[error("runs cannot be compared: {0}; the record of one is damaged")]
    Compare(#[from] StatisticsError),
    #[error("cannot write the report as {format}: {reason}")]
    Write { format: &'static str, reason: String },
}
