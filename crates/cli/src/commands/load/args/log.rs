//! Options for the log of requests.

use prony_load::{LogFormat, LogTo};

/// A log file, with the format that its extension selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogFile {
    path: String,
    format: LogFormat,
}

impl LogFile {
    /// The log settings for this share of the requests.
    pub(crate) fn of(&self, share: Option<f64>) -> LogTo {
        LogTo {
            path: self.path.clone(),
            format: self.format,
            share: share.unwrap_or(1.0),
        }
    }
}

impl std::str::FromStr for LogFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let format = match text.rsplit_once('.').map(|(_, extension)| extension) {
            Some("csv") => LogFormat::Csv,
            Some("jsonl" | "ndjson") => LogFormat::JsonLines,
            _ => return Err(format!("`{text}`: the name must end in .csv, .jsonl or .ndjson")),
        };
        Ok(Self {
            path: text.to_owned(),
            format,
        })
    }
}

/// Parses a share in percent.
pub(super) fn log_share(text: &str) -> Result<f64, String> {
    text.strip_suffix('%')
        .and_then(|number| number.trim().parse::<f64>().ok())
        .filter(|percent| *percent > 0.0 && *percent <= 100.0)
        .map(|percent| percent / 100.0)
        .ok_or_else(|| format!("`{text}` is not a share above 0% and up to 100%"))
}
