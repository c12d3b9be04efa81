//! What a service does that is no failure but stands beside its numbers.

use prony_load::Protocol;
use prony_protocols::client::Reply;
use prony_protocols::protocol::Version;
use prony_records::{Warning, WarningKind};

/// What is worth a warning: how many replies had it.
#[derive(Default)]
pub(super) struct ReplyTraits {
    replies: usize,
    pub(super) closed: usize,
    old: usize,
    without_date: usize,
    /// Requests refused for the number of their headers.
    pub(super) too_many_headers: usize,
}

impl ReplyTraits {
    /// Looks at a reply that is a success: errors may end the connection.
    pub(super) fn see(&mut self, reply: &Reply, protocol: Protocol) {
        if !(200..300).contains(&reply.status) || protocol == Protocol::Grpc {
            return;
        }
        self.replies += 1;
        self.closed += usize::from(reply.closes);
        self.old += usize::from(reply.version == Version::Http10);
        self.without_date += usize::from(reply.header("date").is_none());
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.replies += other.replies;
        self.closed += other.closed;
        self.old += other.old;
        self.without_date += other.without_date;
        self.too_many_headers += other.too_many_headers;
    }

    pub(super) fn warnings(&self) -> Vec<Warning> {
        let of = |count: usize, all: usize| {
            if count >= all {
                "each reply".to_owned()
            } else {
                format!("{count} of {all} replies")
            }
        };
        let mut warnings = Vec::new();
        let mut warn = |count: usize, kind, text: String| {
            if count > 0 {
                warnings.push(Warning::new(kind, text));
            }
        };
        warn(
            self.closed,
            WarningKind::ConnectionClosed,
            format!("closes the connection after {}", of(self.closed, self.replies)),
        );
        warn(
            self.old,
            WarningKind::ConnectionClosed,
            format!("answers {} with HTTP/1.0", of(self.old, self.replies)),
        );
        warn(
            self.without_date,
            WarningKind::MissingHeader,
            format!("no Date in {}", of(self.without_date, self.replies)),
        );
        warn(
            self.too_many_headers,
            WarningKind::Note,
            "refuses a request with 100 headers (431), and cannot be told otherwise".to_owned(),
        );
        warnings
    }
}
