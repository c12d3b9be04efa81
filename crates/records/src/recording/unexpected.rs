//! A reply that differs from the expected one.

use serde::{Deserialize, Serialize};

/// Longest text of a reply with a wrong status: its body is a page of the server, of which two lines are enough.
const LONGEST: usize = 160;

/// A reply that differs from the expected one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnexpectedReply {
    /// Name of the operation.
    pub operation: String,
    /// The part of the reply that was checked.
    pub what: String,
    /// The expected value.
    pub expected: String,
    /// The received value.
    pub got: String,
}

impl UnexpectedReply {
    /// The received status of HTTP or gRPC; `None` if something else was wrong.
    pub fn status(&self) -> Option<&str> {
        let of_status = matches!(self.what.as_str(), "status" | "grpc-status");
        self.got.split([' ', ',']).next().filter(|_| of_status)
    }

    /// What was received: of a reply with a wrong status only the start.
    pub fn got_in_brief(&self) -> String {
        if self.status().is_none() || self.got.chars().count() <= LONGEST {
            return self.got.clone();
        }
        let start: String = self.got.chars().take(LONGEST - 1).collect();
        format!("{}…", start.trim_end_matches(['…', '\\']))
    }
}
