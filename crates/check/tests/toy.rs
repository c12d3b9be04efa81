//! A small HTTP/1.1 server with scripted replies and configurable faults in reading and writing.

use crate::listening::Threads;
use percent_encoding::percent_decode_str;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A request that was read.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: String,
    /// As sent, with the query.
    pub(crate) target: String,
    /// Without the query, percent-decoded.
    pub(crate) path: String,
    /// As sent.
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
    /// Whether a long body was not read.
    pub(crate) left: bool,
    /// Number on its connection, from 1.
    pub(crate) on_connection: usize,
    /// Number in all, from 1.
    pub(crate) number: usize,
}

/// A reply to write.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScriptedReply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
    /// Pieces of a body in chunks, instead of `body`: each is sent when its pause is over.
    pub(crate) stream: Vec<(Duration, String)>,
    /// Bytes to send in place of a serialized reply.
    pub(crate) raw: Option<Vec<u8>>,
    /// The connection ends afterwards, without `Connection: close`.
    pub(crate) hang_up: bool,
    /// Writes the reply itself, while it is made.
    pub(crate) live: Option<LiveReply>,
}

/// Writes a reply while it is made. `None`: the connection ends.
type ReplyWriter = dyn Fn(&mut TcpStream) -> Option<()> + Send + Sync;

#[derive(Clone)]
pub(crate) struct LiveReply(pub(crate) Arc<ReplyWriter>);

impl std::fmt::Debug for LiveReply {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("LiveReply")
    }
}

impl ScriptedReply {
    pub(crate) fn new(status: u16) -> Self {
        Self {
            status,
            ..Self::default()
        }
    }

    pub(crate) fn of(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        let mut answer = Self::new(status);
        answer.set("Content-Type", kind);
        answer.body = body.into();
        answer
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.remove(name);
        self.headers.push((name.to_owned(), value.as_bytes().to_vec()));
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.headers.retain(|(key, _)| !key.eq_ignore_ascii_case(name));
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Call {
    pub(crate) fn header(&self, name: &str) -> Option<&[u8]> {
        let found = self
            .headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_slice())
    }

    pub(crate) fn segments(&self) -> Vec<&str> {
        self.path.split('/').skip(1).collect()
    }
}

/// A fault of a server in reading or writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultMode {
    Right,
    /// Treats the result of the first read as a whole request.
    ReadsOnce,
    /// Does not read request bodies.
    LeavesBodies,
    /// Does not read request bodies longer than 20 MiB.
    LeavesLargeBodies,
    /// Does not decode chunked bodies.
    KnowsNoChunks,
    /// Answers two requests of one packet in the wrong order.
    SwapsPairs,
    /// Ignores bytes after a request in the same packet, and closes the connection.
    ForgetsTheSecond,
}

pub(crate) type Handler = dyn Fn(&Call) -> ScriptedReply + Send + Sync;

/// Serves the replies of the handler.
pub(crate) fn serve(fault: FaultMode, handler: Arc<Handler>) -> Threads {
    let total = Arc::new(AtomicUsize::new(0));
    Threads::start(move |stream| {
        Connection::new(stream, fault, Arc::clone(&handler), Arc::clone(&total)).serve();
    })
}

struct Connection {
    stream: TcpStream,
    fault: FaultMode,
    handler: Arc<Handler>,
    total: Arc<AtomicUsize>,
    buffer: Vec<u8>,
    served: usize,
}

impl Connection {
    fn new(stream: TcpStream, fault: FaultMode, handler: Arc<Handler>, total: Arc<AtomicUsize>) -> Self {
        let _ = stream.set_nodelay(true);
        Self {
            stream,
            fault,
            handler,
            total,
            buffer: Vec::new(),
            served: 0,
        }
    }

    /// Serves until the client closes the connection or sends a malformed request.
    fn serve(mut self) -> Option<()> {
        loop {
            let call = self.read()?;
            let answer = (self.handler)(&call);
            if self.fault == FaultMode::SwapsPairs && !self.buffer.is_empty() {
                let second = self.read()?;
                let later = (self.handler)(&second);
                self.write(&second, &later)?;
            }
            self.write(&call, &answer)?;
            if answer.hang_up || (self.fault == FaultMode::ForgetsTheSecond && !self.buffer.is_empty()) {
                return None;
            }
        }
    }

    fn read_more(&mut self) -> Option<()> {
        let mut piece = [0; 16384];
        let length = self.stream.read(&mut piece).ok().filter(|length| *length > 0)?;
        self.buffer.extend_from_slice(&piece[..length]);
        Some(())
    }

    fn read(&mut self) -> Option<Call> {
        let (length, mut call) = loop {
            let head = if self.buffer.is_empty() {
                Head::Partial
            } else {
                parse(&self.buffer)
            };
            match head {
                Head::Whole(length, call) => break (length, *call),
                Head::Partial if self.fault != FaultMode::ReadsOnce || self.buffer.is_empty() => {
                    self.read_more()?;
                }
                _ => {
                    let refusal = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
                    let _ = self.stream.write_all(refusal);
                    return None;
                }
            }
        };
        self.buffer.drain(..length);
        let length = call.header("content-length").map(String::from_utf8_lossy);
        let is_large = length
            .and_then(|length| length.parse().ok())
            .is_some_and(|length: usize| length > 20 << 20);
        let leaves = match self.fault {
            FaultMode::LeavesBodies => true,
            FaultMode::LeavesLargeBodies => is_large,
            _ => false,
        };
        if leaves {
            call.left = is_large;
        } else {
            call.body = self.read_body(&call)?;
        }
        self.served += 1;
        call.on_connection = self.served;
        call.number = self.total.fetch_add(1, Ordering::SeqCst) + 1;
        Some(call)
    }

    fn read_body(&mut self, call: &Call) -> Option<Vec<u8>> {
        if call.header("transfer-encoding").is_some() && self.fault != FaultMode::KnowsNoChunks {
            let mut body = Vec::new();
            loop {
                let line = self.read_line()?;
                let size = usize::from_str_radix(line.trim(), 16).ok()?;
                body.extend(self.read_exactly(size)?);
                self.read_line()?;
                if size == 0 {
                    return Some(body);
                }
            }
        }
        let length = call
            .header("content-length")
            .map_or("0".into(), String::from_utf8_lossy);
        let length = length.parse().ok()?;
        self.read_exactly(length)
    }

    fn read_line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\r\n") {
                let line: Vec<u8> = self.buffer.drain(..end + 2).collect();
                return String::from_utf8(line).ok();
            }
            self.read_more()?;
        }
    }

    fn read_exactly(&mut self, length: usize) -> Option<Vec<u8>> {
        while self.buffer.len() < length {
            self.read_more()?;
        }
        let rest = self.buffer.split_off(length);
        Some(std::mem::replace(&mut self.buffer, rest))
    }

    fn write(&mut self, call: &Call, answer: &ScriptedReply) -> Option<()> {
        if let Some(LiveReply(write)) = &answer.live {
            return write(&mut self.stream);
        }
        if !answer.stream.is_empty() {
            return self.write_stream(answer);
        }
        self.stream.write_all(&serialize(call, answer)).ok()
    }

    /// Writes the pieces until all are sent or the client has closed the connection.
    fn write_stream(&mut self, answer: &ScriptedReply) -> Option<()> {
        let mut out = head(answer);
        out.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
        for (pause, text) in &answer.stream {
            if !pause.is_zero() {
                self.stream.write_all(&out).ok()?;
                out.clear();
                std::thread::sleep(*pause);
            }
            out.extend_from_slice(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes());
        }
        if !answer.hang_up {
            out.extend_from_slice(b"0\r\n\r\n");
        }
        self.stream.write_all(&out).ok()
    }
}

fn serialize(call: &Call, answer: &ScriptedReply) -> Vec<u8> {
    if let Some(raw) = &answer.raw {
        return raw.clone();
    }
    let mut out = head(answer);
    let has_length = answer
        .headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    if answer.status != 204 && !has_length {
        out.extend_from_slice(format!("Content-Length: {}\r\n", answer.body.len()).as_bytes());
    }
    out.extend_from_slice(b"\r\n");
    if call.method != "HEAD" && answer.status != 204 {
        out.extend_from_slice(&answer.body);
    }
    out
}

/// The head without the headers that frame the body, and without its end.
fn head(answer: &ScriptedReply) -> Vec<u8> {
    let mut out = format!(
        "HTTP/1.1 {} Status\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
        answer.status
    )
    .into_bytes();
    for (name, value) in &answer.headers {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    }
    out
}

/// The result of parsing the received bytes.
enum Head {
    Whole(usize, Box<Call>),
    Partial,
    None,
}

fn parse(buffer: &[u8]) -> Head {
    let mut headers = [httparse::EMPTY_HEADER; 128];
    let mut request = httparse::Request::new(&mut headers);
    let length = match request.parse(buffer) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Head::Partial,
        Err(_) => return Head::None,
    };
    let target = request.path.unwrap_or_default().to_owned();
    let path = target.split('?').next().unwrap_or_default();
    let call = Call {
        method: request.method.unwrap_or_default().to_owned(),
        path: percent_decode_str(path).decode_utf8_lossy().into_owned(),
        target: target.clone(),
        headers: request
            .headers
            .iter()
            .map(|header| (header.name.to_owned(), header.value.to_vec()))
            .collect(),
        body: Vec::new(),
        left: false,
        on_connection: 0,
        number: 0,
    };
    Head::Whole(length, Box::new(call))
}
