//! A server with known behaviour. It answers at once and sends streams of events at known times. It can freeze as a whole for a known
//! part of every period, like a garbage collector, and lose a known share of the events.

use super::feed::FeedRequest;
use crate::CommandError;
use crate::error::ErrorContext as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Longest head of a request.
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
                // A connection that broke before it was accepted is the client's business.
                if let Ok((stream, _)) = accepted {
                    let _ = stream.set_nodelay(true);
                    tokio::spawn(talk(stream, faults.lose_every, Arc::clone(&streams)));
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
        // Its whole length from when it begins: the timer is up to two milliseconds late, and the server answers until then.
        thread::sleep(stall);
        next += period;
    }
}

/// What answers a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reply {
    Bytes(&'static [u8]),
    Events(FeedRequest),
}

async fn talk(mut connection: TcpStream, lose_every: u64, streams: Arc<AtomicU64>) {
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
                Reply::Events(asked) => {
                    let stream = streams.fetch_add(1, Ordering::Relaxed);
                    let before = connection.write_all(&std::mem::take(&mut replies)).await;
                    if before.is_err() || asked.send(&mut connection, stream, lose_every).await.is_err() {
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

/// The first whole request: its length and what answers it.
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
    let reply = match (decoded(path).as_slice(), method) {
        (b"/api/test", "HEAD") => Reply::Bytes(&GREETING[..GREETING.len() - GREETING_BODY]),
        (b"/api/test", "GET") => Reply::Bytes(GREETING),
        (b"/events", "GET") => FeedRequest::read(query).map_or(Reply::Bytes(BAD_REQUEST), Reply::Events),
        (b"/api/test" | b"/events", _) => Reply::Bytes(NOT_ALLOWED),
        _ => Reply::Bytes(NOT_FOUND),
    };
    (buffer.len() >= length).then_some((length, reply))
}

/// The bytes that a percent-encoded path stands for; what is no encoding stands for itself.
fn decoded(path: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        if let (b'%', Some(byte)) = (first, byte) {
            bytes.push(byte);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    bytes
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
            FeedRequest::read("count=2&gap_us=5").map(Reply::Events),
            Some(streamed)
        );
    }
}
