//! The time of day for records.

use std::time::SystemTime;

/// The current time in UTC (RFC 3339).
pub(crate) fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}
