//! Option values: lists of statuses and of CPUs, and the log of requests.

use prony_load::{LogFormat, LogTo};
use std::ops::RangeInclusive;

/// HTTP statuses: `200,404,500-599`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statuses(pub(crate) Vec<u16>);

impl std::str::FromStr for Statuses {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("`{text}` is not a list of statuses from 100 to 599 → Write it as 200,404 or 200-299.")
        };
        let mut all = Vec::new();
        for part in text.split(',') {
            all.extend(range(part.trim()).ok_or_else(wrong)?);
        }
        all.sort_unstable();
        all.dedup();
        Ok(Self(all))
    }
}

fn range(part: &str) -> Option<RangeInclusive<u16>> {
    let (low, high) = part.split_once('-').unwrap_or((part, part));
    let (low, high) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
    (100 <= low && low <= high && high <= 599).then_some(low..=high)
}

/// CPUs in the notation of the kernel: `0,2-3`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CpuList(pub(crate) Vec<usize>);

impl std::str::FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a list of CPUs → Write it as 0,2-3.");
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (low, high) = part.split_once('-').unwrap_or((part, part));
            let low: usize = low.trim().parse().map_err(|_| wrong())?;
            let high: usize = high.trim().parse().map_err(|_| wrong())?;
            if low > high || high >= 1024 {
                return Err(wrong());
            }
            cpus.extend(low..=high);
        }
        Ok(Self(cpus))
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_numbers_and_ranges() {
        assert_eq!("404, 200-202,200".parse(), Ok(Statuses(vec![200, 201, 202, 404])));
        for text in ["", "200,", "99", "600", "300-200", "2xx"] {
            assert!(text.parse::<Statuses>().is_err(), "{text}");
        }
    }
}
