//! What a service does that is no failure but stands beside its numbers.

use super::exchange::Answer;
use prony_contract::Exchange;
use prony_load::{HeaderValue, Protocol};
use prony_measurement::{Warning, WarningKind};

/// What is worth a warning: how many replies had it.
#[derive(Default)]
pub(super) struct Traits {
    replies: usize,
    pub(super) closed: usize,
    /// Replies whose type the contract names.
    typed: usize,
    old: usize,
    without_date: usize,
    without_charset: usize,
}

impl Traits {
    /// Looks at a reply that is a success: errors may end the connection.
    pub(super) fn see(&mut self, exchange: &Exchange, answer: &Answer, protocol: Protocol) {
        if !(200..300).contains(&answer.status) || protocol == Protocol::Grpc {
            return;
        }
        self.replies += 1;
        self.closed += usize::from(answer.closes);
        self.old += usize::from(answer.old);
        self.without_date += usize::from(answer.header("date").is_none());
        let text = answer
            .header("content-type")
            .map(<[u8]>::to_ascii_lowercase)
            .unwrap_or_default();
        let charset = text.windows(8).any(|window| window == b"charset=");
        // Where the contract names no type, it is not the service that chose it.
        let own = exchange
            .expect
            .headers
            .iter()
            .any(|rule| matches!(rule.value, HeaderValue::MediaType(_)));
        self.typed += usize::from(own);
        self.without_charset += usize::from(own && text.starts_with(b"text/") && !charset);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.replies += other.replies;
        self.typed += other.typed;
        self.closed += other.closed;
        self.old += other.old;
        self.without_date += other.without_date;
        self.without_charset += other.without_charset;
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
            self.without_charset,
            WarningKind::Note,
            format!(
                "no charset in the Content-Type of {}",
                of(self.without_charset, self.typed)
            ),
        );
        warnings
    }
}
