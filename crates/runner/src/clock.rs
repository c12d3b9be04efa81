//! The time of the day, as records have it.

use std::time::SystemTime;

/// This second, RFC 3339 in UTC.
pub(crate) fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}
