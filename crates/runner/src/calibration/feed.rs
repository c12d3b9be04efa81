//! Streams of events at known times: how many, how far apart, and which never come.

use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

/// The most events of a stream.
const MOST: u64 = u32::MAX as u64;
/// The longest gap.
const LONGEST_GAP: Duration = Duration::from_secs(1);
/// Events that are written at once, at most.
const BATCH: u64 = 128;
/// The golden section: its multiples lie evenly between whole numbers.
const STEP: f64 = 0.618_033_988_749_895;
const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

/// What a stream is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FeedRequest {
    /// Events.
    pub(super) count: u64,
    /// From one to the next.
    pub(super) gap: Duration,
}

impl FeedRequest {
    /// Reads `count=N&gap_us=G`.
    pub(super) fn read(query: &str) -> Option<Self> {
        let number = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == name)?.1.parse::<u64>().ok()
        };
        let (count, gap) = (number("count")?, Duration::from_micros(number("gap_us")?));
        ((1..=MOST).contains(&count) && gap <= LONGEST_GAP).then_some(Self { count, gap })
    }

    /// When event n, from 1 on, is due after the first one. Streams do not tick together: after its first event each is a
    /// part of a gap behind the one before it, and the parts of any number of streams lie evenly (Weyl 1916).
    fn due(&self, stream: u64, n: u64) -> Duration {
        if n == 1 {
            return Duration::ZERO;
        }
        let behind = (stream as f64 * STEP).fract();
        self.gap.mul_f64(behind) + self.gap * u32::try_from(n - 1).unwrap_or(u32::MAX)
    }

    /// Sends the events of the stream with this number. All events that are due are written at once: those that became due in a
    /// freeze arrive together, and those due from the start arrive with the head. No timer is used: it would be up to a
    /// millisecond late.
    pub(super) async fn send(
        &self,
        connection: &mut TcpStream,
        stream: u64,
        lose_every: u64,
    ) -> std::io::Result<()> {
        let began = Instant::now();
        let mut head = HEAD;
        let mut next = 1;
        while next <= self.count {
            let due = self.due(stream, next);
            if due > began.elapsed() {
                tokio::time::sleep_until((began + due).into()).await;
            }
            let passed = began.elapsed();
            let mut events = String::new();
            let end = (next + BATCH).min(self.count + 1);
            while next < end && self.due(stream, next) <= passed {
                if !is_lost(next, lose_every) {
                    events.push_str(&event(next, self.count));
                }
                next += 1;
            }
            if !events.is_empty() {
                let chunk = format!("{head}{:x}\r\n{events}\r\n", events.len());
                connection.write_all(chunk.as_bytes()).await?;
                head = "";
            }
        }
        connection.write_all(format!("{head}0\r\n\r\n").as_bytes()).await
    }
}

/// Whether this event is lost: the middle one of every `lose_every` events.
const fn is_lost(n: u64, lose_every: u64) -> bool {
    lose_every > 1 && n % lose_every == lose_every / 2
}

fn event(n: u64, of: u64) -> String {
    format!("id: {n}\nevent: tick\ndata: {{\"n\":{n},\"of\":{of}}}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_asked_for_by_numbers() {
        let asked = FeedRequest {
            count: 3,
            gap: Duration::from_millis(20),
        };
        assert_eq!(FeedRequest::read("count=3&gap_us=20000"), Some(asked));
        assert_eq!(FeedRequest::read("gap_us=20000&count=3"), Some(asked));
        for wrong in [
            "",
            "count=3",
            "count=0&gap_us=1",
            "count=x&gap_us=1",
            "count=1&gap_us=1000001",
        ] {
            assert_eq!(FeedRequest::read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn events_are_due_at_equal_distances_and_streams_lie_evenly_between_them() {
        let asked = FeedRequest {
            count: 1_000,
            gap: Duration::from_millis(20),
        };
        let mut behind: Vec<f64> = (0..50)
            .map(|stream| {
                assert_eq!(asked.due(stream, 1), Duration::ZERO);
                assert_eq!(asked.due(stream, 9), asked.due(stream, 8) + asked.gap);
                asked.due(stream, 2).as_secs_f64() / asked.gap.as_secs_f64() - 1.0
            })
            .collect();
        behind.sort_by(f64::total_cmp);
        for (rank, part) in behind.iter().enumerate() {
            assert!((part - rank as f64 / 50.0).abs() < 0.03, "{rank}: {part}");
        }
    }

    #[test]
    fn one_event_in_so_many_is_lost() {
        let lost: Vec<u64> = (1..=2_000).filter(|n| is_lost(*n, 1_000)).collect();
        assert_eq!(lost, [500, 1_500]);
        assert!((1..=100).all(|n| !is_lost(n, 0) && !is_lost(n, 1)));
    }
}
