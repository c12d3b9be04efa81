//! Options for replies that are streams, for WebSocket messages, and for gRPC calls that send a stream of messages.

use super::schedule::some_time;
use clap::value_parser;
use prony_load::DurationText;
use prony_load::events::{EventRule, Events, LONGEST_EVENT};

/// Replies that are streams
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Streams")]
pub(crate) struct StreamArgs {
    /// End streams successfully after this many events
    #[arg(long, value_name = "N", conflicts_with_all = ["decode", "expect"], hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) events: Option<u32>,
    /// End streams successfully after this time
    #[arg(long = "for", value_name = "TIME", conflicts_with_all = ["decode", "expect"], hide_short_help = true, value_parser = some_time)]
    pub(crate) for_time: Option<DurationText>,
    // `help` instead of a doc comment, in which `json:/…` would be read as a link.
    #[arg(
        long,
        help = "Event that each stream must contain, e.g. event:NAME; repeatable",
        value_name = "RULE",
        conflicts_with_all = ["grpc", "decode", "expect"],
        hide_short_help = true
    )]
    pub(crate) expect_event: Vec<EventRule>,
    /// Maximum event or message size [default: 1MiB]
    #[arg(long, value_name = "SIZE", hide_short_help = true, value_parser = size)]
    pub(crate) longest_event: Option<u64>,
}

/// The `Accept` header of a request for a stream, unless the user gives one.
pub(crate) const ACCEPTED: &str = "text/event-stream, application/x-ndjson, application/jsonl";

impl StreamArgs {
    /// The expected stream; `None` if no option asks for a stream.
    pub(crate) fn expected(&self) -> Option<Events> {
        let is_wanted = self.events.is_some() || self.for_time.is_some() || !self.expect_event.is_empty();
        is_wanted.then(|| self.events())
    }

    /// The expectation of a reply that is known to be a stream.
    pub(crate) fn events(&self) -> Events {
        Events {
            until: self.events,
            for_ns: self.for_time.map(DurationText::as_ns),
            some: self.expect_event.clone(),
            longest: self.longest_event.unwrap_or(LONGEST_EVENT),
            whole: None,
            chat: None,
        }
    }
}

/// Parses a size in bytes: `1000`, `64KiB`, `16MiB`.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let unit: u64 = match &text[digits.len()..] {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        _ => 0,
    };
    let bytes = digits
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(unit));
    bytes
        .filter(|&bytes| (1..=1 << 30).contains(&bytes))
        .ok_or_else(|| {
            format!("`{text}` is not a size from 1 byte to 1024MiB → Write it as 1000, 64KiB or 16MiB.")
        })
}

/// WebSocket messages
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "WebSocket")]
pub(crate) struct WebSocketArgs {
    /// Send binary WebSocket messages of this size
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["grpc", "message"], hide_short_help = true, value_parser = size)]
    pub(crate) message_size: Option<u64>,
    /// Send --message as binary
    #[arg(long, conflicts_with = "grpc", hide_short_help = true)]
    pub(crate) binary: bool,
    /// Connections per broadcast room; {room} in the URL is its number
    #[arg(long, value_name = "N", conflicts_with = "grpc", hide_short_help = true, value_parser = value_parser!(u32).range(1..))]
    pub(crate) members: Option<u32>,
    /// Number of rooms
    #[arg(long, value_name = "N", requires = "members", conflicts_with = "connections", hide_short_help = true, value_parser = value_parser!(u32).range(1..))]
    pub(crate) rooms: Option<u32>,
}

/// Streams of messages that calls send
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "gRPC")]
pub(crate) struct CallArgs {
    /// Messages per client-streaming call [default: 1]
    #[arg(long, value_name = "N", requires = "grpc", hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) messages: Option<u32>,
    /// Messages that may await replies in a call
    #[arg(long, value_name = "N", requires = "messages", hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) unanswered: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("1000"), Ok(1_000));
        assert_eq!(size("64KiB"), Ok(65_536));
        assert_eq!(size("1024MiB"), Ok(1 << 30));
        for wrong in [
            "",
            "0",
            "MiB",
            "64KB",
            "2000MiB",
            "-1",
            "99999999999999999999",
            "1 KiB",
        ] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
