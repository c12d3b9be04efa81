//! A server whose truth is known. It answers at once and, where it is told to, freezes as a whole for a known
//! part of every period, as a garbage collector does.

use crate::BenchError;
use crate::error::Told as _;
use std::net::SocketAddr;
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

/// How it freezes: this long in each period.
#[derive(Debug, Clone, Copy)]
pub struct Freezes {
    /// How long.
    pub stall: Duration,
    /// Length of a period.
    pub period: Duration,
}

/// Serves the contract hello on this address until TERM; `listening` hears where.
pub fn serve(
    address: SocketAddr,
    freezes: Freezes,
    listening: &dyn Fn(SocketAddr),
) -> Result<(), BenchError> {
    // One thread: while it sleeps, nothing of the server moves.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .failed(|| "no runtime".to_owned())?;
    runtime.block_on(accept(address, freezes, listening))
}

async fn accept(
    address: SocketAddr,
    freezes: Freezes,
    listening: &dyn Fn(SocketAddr),
) -> Result<(), BenchError> {
    let cannot = || format!("cannot listen on {address}");
    let listener = TcpListener::bind(address).await.failed(cannot)?;
    listening(listener.local_addr().failed(cannot)?);
    if !freezes.stall.is_zero() {
        tokio::spawn(freeze(freezes.stall, freezes.period));
    }
    let mut term = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
        .failed(|| "cannot listen for signals".to_owned())?;
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                // A connection that broke before it was accepted is the client's business.
                if let Ok((stream, _)) = accepted {
                    let _ = stream.set_nodelay(true);
                    tokio::spawn(talk(stream));
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

async fn talk(mut stream: TcpStream) {
    let mut buffer = Vec::with_capacity(1 << 12);
    loop {
        match stream.read_buf(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let mut replies = Vec::new();
        while let Some((length, reply)) = next_request(&buffer) {
            replies.extend_from_slice(reply);
            buffer.drain(..length);
        }
        if buffer.len() > LONGEST_HEAD || stream.write_all(&replies).await.is_err() {
            return;
        }
    }
}

/// The first whole request: its length and what answers it.
fn next_request(buffer: &[u8]) -> Option<(usize, &'static [u8])> {
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
    let path = decoded(target.split('?').next().unwrap_or_default());
    let reply = match (path.as_slice(), method) {
        (b"/api/test", "HEAD") => &GREETING[..GREETING.len() - GREETING_BODY],
        (b"/api/test", "GET") => GREETING,
        (b"/api/test", _) => NOT_ALLOWED,
        _ => NOT_FOUND,
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
        assert_eq!((length, reply), (26, GREETING));
        let (rest, reply) = next_request(&two[length..]).expect("whole");
        assert_eq!((length + rest, reply), (two.len(), NOT_ALLOWED));
        assert!(next_request(&two[..20]).is_none() && next_request(&two[length..two.len() - 1]).is_none());
        assert_eq!(
            next_request(b"GET /x HTTP/1.1\r\n\r\n").expect("whole").1,
            NOT_FOUND
        );
    }
}
