//! A server with known behaviour. It answers at once and sends streams of events at known times. It can freeze as a whole for a known
//! part of every period, like a garbage collector, and lose a known share of the events.

use crate::CommandError;
use crate::error::ErrorContext as _;
use percent_encoding::percent_decode_str;
use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Maximum size of the head of a request in bytes.
const LONGEST_HEAD: usize = 1 << 16;
const GREETING: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!";
const GREETING_BODY: usize = 13;
const NOT_FOUND: &[u8] =
    b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nnot found";
const NOT_ALLOWED: &[u8] =
    b"HTTP/1.1 405 Method Not Allowed\r\nContent-Type: text/plain\r\nContent-Length: 11\r\nAllow: GET\r\n\r\nnot allowed";

const BAD_REQUEST: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 23\r\n\r\nno count=N and gap_us=G";

/// Faults of the server: it freezes in each period and loses a share of the events.
#[derive(Debug, Clone, Copy)]
pub struct Faults {
    /// How long it freezes.
    pub stall: Duration,
    /// Length of a period.
    pub period: Duration,
    /// One event of a stream in every `lose_every` is lost; 0: none.
    pub lose_every: u64,
}

/// Serves the contract hello, and streams on `/events?count=N&gap_us=G`, on this address until TERM. `listening` receives the bound
/// address.
pub fn serve(
    address: SocketAddr,
    faults: Faults,
    listening: &dyn Fn(SocketAddr),
) -> Result<(), CommandError> {
    // One thread: while it sleeps, nothing of the server moves.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .failed(|| "no runtime".to_owned())?;
    runtime.block_on(accept(address, faults, listening))
}

async fn accept(
    address: SocketAddr,
    faults: Faults,
    listening: &dyn Fn(SocketAddr),
) -> Result<(), CommandError> {
    let cannot = || format!("cannot listen on {address}");
    let listener = TcpListener::bind(address).await.failed(cannot)?;
    listening(listener.local_addr().failed(cannot)?);
    if !faults.stall.is_zero() {
        tokio::spawn(freeze(faults.stall, faults.period));
    }
    let streams = Arc::new(AtomicU64::new(0));
    let mut term = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
        .failed(|| "cannot listen for signals".to_owned())?;
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                // A client may close its connection before it is accepted.
                if let Ok((stream, _)) = accepted {
                    let _ = stream.set_nodelay(true);
                    tokio::spawn(serve_connection(stream, faults.lose_every, Arc::clone(&streams)));
                }
            }
            _ = term.recv() => return Ok(()),
        }
    }
}

async fn freeze(stall: Duration, period: Duration) {
    let mut next = Instant::now() + period;
    loop {
        tokio::time::sleep_until(next.into()).await;
        // Sleeps for the whole length even if the timer is late (up to 2 ms): the server answers until then.
        thread::sleep(stall);
        next += period;
    }
}

/// The reply to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reply {
    Bytes(&'static [u8]),
    Events(FeedRequest),
}

async fn serve_connection(mut connection: TcpStream, lose_every: u64, streams: Arc<AtomicU64>) {
    let mut buffer = Vec::with_capacity(1 << 12);
    loop {
        match connection.read_buf(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let mut replies = Vec::new();
        while let Some((length, reply)) = next_request(&buffer) {
            buffer.drain(..length);
            match reply {
                Reply::Bytes(bytes) => replies.extend_from_slice(bytes),
                Reply::Events(feed) => {
                    let stream = streams.fetch_add(1, Ordering::Relaxed);
                    let before = connection.write_all(&std::mem::take(&mut replies)).await;
                    if before.is_err() || feed.send(&mut connection, stream, lose_every).await.is_err() {
                        return;
                    }
                }
            }
        }
        if buffer.len() > LONGEST_HEAD || connection.write_all(&replies).await.is_err() {
            return;
        }
    }
}

/// The first complete request: its length and its reply.
fn next_request(buffer: &[u8]) -> Option<(usize, Reply)> {
    let head = buffer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&buffer[..head]).unwrap_or_default();
    let mut lines = text.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>().ok())?
    };
    let length = head + lines.find_map(header).unwrap_or(0);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let reply = match (&*Cow::from(percent_decode_str(path)), method) {
        (b"/api/test", "HEAD") => Reply::Bytes(&GREETING[..GREETING.len() - GREETING_BODY]),
        (b"/api/test", "GET") => Reply::Bytes(GREETING),
        (b"/events", "GET") => FeedRequest::parse(query).map_or(Reply::Bytes(BAD_REQUEST), Reply::Events),
        (b"/api/test" | b"/events", _) => Reply::Bytes(NOT_ALLOWED),
        _ => Reply::Bytes(NOT_FOUND),
    };
    (buffer.len() >= length).then_some((length, reply))
}

/// Maximum number of events of a stream.
const MOST: u64 = u32::MAX as u64;
/// The longest gap.
const LONGEST_GAP: Duration = Duration::from_secs(1);
/// Maximum number of events per write.
const BATCH: u64 = 128;
/// The golden ratio: the fractional parts of its multiples are evenly distributed.
const STEP: f64 = 0.618_033_988_749_895;
const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

/// The parameters of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FeedRequest {
    /// Number of events.
    pub(super) count: u64,
    /// Time between two events.
    pub(super) gap: Duration,
}

impl FeedRequest {
    /// Parses `count=N&gap_us=G`.
    pub(super) fn parse(query: &str) -> Option<Self> {
        let number = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == name)?.1.parse::<u64>().ok()
        };
        let (count, gap) = (number("count")?, Duration::from_micros(number("gap_us")?));
        ((1..=MOST).contains(&count) && gap <= LONGEST_GAP).then_some(Self { count, gap })
    }

    /// When event n, from 1 on, is due after the first one. Streams are not in phase: after its first event each is shifted by a
    /// fraction of the gap, and the fractions of any number of streams are evenly distributed (Weyl 1916).
    fn due(&self, stream: u64, n: u64) -> Duration {
        if n == 1 {
            return Duration::ZERO;
        }
        let shift = (stream as f64 * STEP).fract();
        self.gap.mul_f64(shift) + self.gap * u32::try_from(n - 1).unwrap_or(u32::MAX)
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
    fn requests_are_taken_one_by_one() {
        let two = b"GET /api/test HTTP/1.1\r\n\r\nPOST /api/test HTTP/1.1\r\nContent-Length: 2\r\n\r\nab";
        let (length, reply) = next_request(two).expect("whole");
        assert_eq!((length, reply), (26, Reply::Bytes(GREETING)));
        let (rest, reply) = next_request(&two[length..]).expect("whole");
        assert_eq!((length + rest, reply), (two.len(), Reply::Bytes(NOT_ALLOWED)));
        assert!(next_request(&two[..20]).is_none() && next_request(&two[length..two.len() - 1]).is_none());
        let reply = |request: &[u8]| next_request(request).expect("whole").1;
        assert_eq!(reply(b"GET /x HTTP/1.1\r\n\r\n"), Reply::Bytes(NOT_FOUND));
        assert_eq!(reply(b"GET /events HTTP/1.1\r\n\r\n"), Reply::Bytes(BAD_REQUEST));
        let streamed = reply(b"GET /events?count=2&gap_us=5 HTTP/1.1\r\n\r\n");
        assert_eq!(
            FeedRequest::parse("count=2&gap_us=5").map(Reply::Events),
            Some(streamed)
        );
    }
}

#[cfg(test)]
mod feed_tests {
    use super::*;

    #[test]
    fn a_stream_is_asked_for_by_numbers() {
        let feed = FeedRequest {
            count: 3,
            gap: Duration::from_millis(20),
        };
        assert_eq!(FeedRequest::parse("count=3&gap_us=20000"), Some(feed));
        assert_eq!(FeedRequest::parse("gap_us=20000&count=3"), Some(feed));
        for wrong in [
            "",
            "count=3",
            "count=0&gap_us=1",
            "count=x&gap_us=1",
            "count=1&gap_us=1000001",
        ] {
            assert_eq!(FeedRequest::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn events_are_due_at_equal_distances_and_streams_lie_evenly_between_them() {
        let feed = FeedRequest {
            count: 1_000,
            gap: Duration::from_millis(20),
        };
        let mut behind: Vec<f64> = (0..50)
            .map(|stream| {
                assert_eq!(feed.due(stream, 1), Duration::ZERO);
                assert_eq!(feed.due(stream, 9), feed.due(stream, 8) + feed.gap);
                feed.due(stream, 2).as_secs_f64() / feed.gap.as_secs_f64() - 1.0
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
