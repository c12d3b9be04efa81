//! A scripted HTTP/2 server that does exactly what a test needs, valid or not.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// The first bytes of a client (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const ACK: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
pub(crate) const PADDED: u8 = 8;

/// `:status 200`.
pub(crate) const OK: &[u8] = &[0x88];

/// A header as a literal that does not use the dynamic table.
pub(crate) fn literal(name: &str, value: &str) -> Vec<u8> {
    let mut bytes = vec![0];
    for text in [name, value] {
        assert!(text.len() < 127);
        bytes.push(text.len() as u8);
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}

/// The header of a frame (section 4.1), read and written here so that the client meets a reader of its own kind nowhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameHeader {
    pub(crate) length: usize,
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
}

impl FrameHeader {
    fn parse([a, b, c, kind, flags, stream @ ..]: [u8; 9]) -> Self {
        Self {
            length: u32::from_be_bytes([0, a, b, c]) as usize,
            kind,
            flags,
            stream: u32::from_be_bytes(stream) & 0x7fff_ffff,
        }
    }
}

/// A received frame.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    pub(crate) header: FrameHeader,
    pub(crate) payload: Vec<u8>,
}

impl Frame {
    pub(crate) fn ends_stream(&self) -> bool {
        matches!(self.header.kind, DATA | HEADERS) && self.header.flags & END_STREAM != 0
    }
}

/// The server's side of one connection.
pub(crate) struct Peer {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Peer {
    /// Reads the client's preface and sends these settings.
    pub(crate) fn greet(stream: TcpStream, settings: &[(u16, u32)]) -> Option<Self> {
        let mut peer = Self {
            stream,
            buffer: Vec::new(),
        };
        let mut preface = vec![0; PREFACE.len()];
        peer.stream.read_exact(&mut preface).ok()?;
        assert_eq!(preface, PREFACE, "the client's preface");
        let settings: Vec<u8> = settings
            .iter()
            .flat_map(|(identifier, value)| [&identifier.to_be_bytes()[..], &value.to_be_bytes()].concat())
            .collect();
        peer.write(SETTINGS, 0, 0, &settings);
        // What the connection may carry is no limit of any test; the windows of streams are.
        peer.write(WINDOW_UPDATE, 0, 0, &(1u32 << 30).to_be_bytes());
        peer.flush()?;
        Some(peer)
    }

    /// The next frame; `None` when the client has disconnected.
    pub(crate) fn next(&mut self) -> Option<Frame> {
        let mut header = [0; 9];
        self.stream.read_exact(&mut header).ok()?;
        let header = FrameHeader::parse(header);
        let mut payload = vec![0; header.length];
        self.stream.read_exact(&mut payload).ok()?;
        if header.kind == SETTINGS && header.flags & ACK == 0 {
            self.write(SETTINGS, ACK, 0, &[]);
        }
        Some(Frame { header, payload })
    }

    /// The stream of the next complete request.
    pub(crate) fn next_request(&mut self) -> Option<u32> {
        loop {
            let frame = self.next()?;
            if frame.ends_stream() {
                return Some(frame.header.stream);
            }
        }
    }

    /// Buffers a frame for the next [`Peer::flush`].
    pub(crate) fn write(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = (payload.len() as u32).to_be_bytes();
        self.buffer.extend_from_slice(&length[1..]);
        self.buffer.extend_from_slice(&[kind, flags]);
        self.buffer.extend_from_slice(&stream.to_be_bytes());
        self.buffer.extend_from_slice(payload);
    }

    pub(crate) fn write_raw(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Replies with status 200 and a body.
    pub(crate) fn answer(&mut self, stream: u32, body: &[u8]) -> Option<()> {
        self.write(HEADERS, END_HEADERS, stream, OK);
        self.write(DATA, END_STREAM, stream, body);
        self.flush()
    }

    pub(crate) fn flush(&mut self) -> Option<()> {
        let sent = self.stream.write_all(&self.buffer);
        self.buffer.clear();
        sent.ok()
    }

    /// Sends GOAWAY: streams above `last` were not processed.
    pub(crate) fn go_away(&mut self, last: u32) -> Option<()> {
        let mut payload = last.to_be_bytes().to_vec();
        payload.extend_from_slice(&[0; 4]);
        self.write(GOAWAY, 0, 0, &payload);
        self.flush()
    }

    /// Reads until the client disconnects, so that closing does not reset data still on its way to it.
    pub(crate) fn linger(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
        while self.next().is_some() {}
    }
}

/// A server that runs a script on each connection, given the connection's number.
pub(crate) struct ScriptedServer {
    pub(crate) port: u16,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ScriptedServer {
    pub(crate) fn start(script: impl Fn(TcpStream, usize) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, script) = (Arc::clone(&stop), Arc::new(script));
        let thread = std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let (stream, script) = (stream.expect("a connection"), Arc::clone(&script));
                stream.set_nodelay(true).expect("an option of TCP");
                std::thread::spawn(move || script(stream, number));
            }
        });
        Self {
            port,
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the listener.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
