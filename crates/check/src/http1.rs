//! HTTP/1.1 over a connection, strict in reading and free in writing.

use super::exchange::{Answer, Fault, body, bytes};
use super::stream::{Endpoint, Stream};
use prony_config::contract::Exchange;
use prony_load::{Bag, Body, Generated};
use std::time::Instant;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, split};

/// Headers of a reply, at most.
const HEADERS: usize = 200;
/// Bytes of a reply, at most: twice the largest that a contract knows.
const LARGEST: usize = 64 << 20;

pub(super) struct Connection {
    stream: Stream,
    /// Received and not yet used.
    buffer: Vec<u8>,
    /// When the last request began to be sent.
    sent: Instant,
}

impl Connection {
    pub(super) async fn open(endpoint: &Endpoint) -> Result<Self, Fault> {
        Ok(Self {
            stream: endpoint.connect().await?,
            buffer: Vec::new(),
            sent: Instant::now(),
        })
    }

    /// Bytes that came and belong to no reply.
    pub(super) fn left_over(&self) -> usize {
        self.buffer.len()
    }

    pub(super) async fn send(&mut self, request: &[u8]) -> Result<(), Fault> {
        self.sent = Instant::now();
        let (mut reading, mut writing) = split(&mut self.stream);
        let mut rest = request;
        while !rest.is_empty() {
            tokio::select! {
                biased;
                // A service may answer before it has read everything, and needs nobody to wait for it then.
                read = reading.read_buf(&mut self.buffer) => {
                    let closes = matches!(parse_head(&self.buffer), Ok(Some((_, answer))) if answer.closes);
                    if closes || !matches!(read, Ok(1..)) {
                        return Ok(());
                    }
                }
                written = writing.write(rest) => match written {
                    Ok(written) => rest = &rest[written..],
                    // A service that closes while it is sent to may have said why: reading tells.
                    Err(_) => return Ok(()),
                }
            }
        }
        let _ = writing.flush().await;
        Ok(())
    }

    /// TLS may keep the end of what was written until it is flushed.
    async fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    pub(super) async fn send_single_bytes(&mut self, request: &[u8]) -> Result<(), Fault> {
        self.sent = Instant::now();
        for byte in request {
            if self.write(std::slice::from_ref(byte)).await.is_err() {
                break;
            }
            // The service gets its turn to read the byte alone.
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// Reads the reply to a request with this method.
    pub(super) async fn receive(&mut self, method: &str) -> Result<Answer, Fault> {
        loop {
            let (answer, framing) = self.head(method).await?;
            // An interim reply announces the final one.
            if (100..200).contains(&answer.status) {
                continue;
            }
            let answer = self.body(answer, framing).await?;
            return self.stream.heeded(answer);
        }
    }

    /// Waits until a stream has begun: its head says so, and something of its body is there.
    pub(super) async fn begun(&mut self, method: &str) -> Result<(), Fault> {
        let (answer, _) = self.head(method).await?;
        if answer.status != 200 {
            return Err(Fault::malformed(format!(
                "status {} and no stream",
                answer.status
            )));
        }
        while self.buffer.is_empty() {
            self.more().await?;
        }
        Ok(())
    }

    /// Waits for more, and forgets it.
    pub(super) async fn skip(&mut self) -> Result<(), Fault> {
        self.buffer.clear();
        self.more().await
    }

    /// Reads the head of a reply that may switch to another protocol: what comes after it is no body then.
    pub(super) async fn switched(&mut self) -> Result<Answer, Fault> {
        loop {
            let (answer, _) = self.head("GET").await?;
            if answer.status == 101 || !(100..200).contains(&answer.status) {
                return self.stream.heeded(answer);
            }
        }
    }

    /// What came and is not used yet.
    pub(super) const fn received(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Waits for more.
    pub(super) async fn more(&mut self) -> Result<(), Fault> {
        let used = self.buffer.len();
        if used > LARGEST {
            return Err(Fault::malformed(format!("a reply of more than {LARGEST} bytes")));
        }
        match self.stream.read_buf(&mut self.buffer).await {
            Ok(0) | Err(_) if used == 0 => Err(Fault::Closed),
            Ok(0) | Err(_) => Err(Fault::Cut(used)),
            Ok(_) => Ok(()),
        }
    }

    async fn head(&mut self, method: &str) -> Result<(Answer, Framing), Fault> {
        loop {
            if !self.buffer.is_empty()
                && let Some((length, answer)) =
                    parse_head(&self.buffer).map_err(|fault| self.stream.heard().explain(fault))?
            {
                self.buffer.drain(..length);
                let framing = Framing::of(&answer, method)?;
                return Ok((answer, framing));
            }
            self.more().await?;
        }
    }

    async fn body(&mut self, mut answer: Answer, framing: Framing) -> Result<Answer, Fault> {
        answer.sent = Some(self.sent);
        let within = |fault| match fault {
            Fault::Closed => Fault::Cut(0),
            other => other,
        };
        match framing {
            Framing::Length(length) => {
                answer.came(self.buffer.len().min(length));
                while self.buffer.len() < length {
                    self.more().await.map_err(|_| {
                        let got = self.buffer.len();
                        Fault::malformed(format!(
                            "the body ended after {got} of its Content-Length of {length} bytes"
                        ))
                    })?;
                    answer.came(self.buffer.len().min(length));
                }
                answer.body = self.buffer.drain(..length).collect();
            }
            Framing::Chunked => {
                loop {
                    let Some((size, line)) = chunk_size(&self.buffer)? else {
                        self.more().await.map_err(within)?;
                        continue;
                    };
                    if size == 0 {
                        self.buffer.drain(..line);
                        break;
                    }
                    while self.buffer.len() < line + size + 2 {
                        self.more().await.map_err(within)?;
                    }
                    answer.body.extend_from_slice(&self.buffer[line..line + size]);
                    answer.came(answer.body.len());
                    if &self.buffer[line + size..line + size + 2] != b"\r\n" {
                        return Err(Fault::malformed(
                            "chunked body: a chunk does not end where its size says",
                        ));
                    }
                    self.buffer.drain(..line + size + 2);
                }
                self.trailers().await.map_err(within)?;
            }
            Framing::UntilClosed => {
                answer.came(self.buffer.len());
                while self.more().await.is_ok() {
                    answer.came(self.buffer.len());
                }
                answer.body = std::mem::take(&mut self.buffer);
                answer.closes = true;
            }
        }
        Ok(answer)
    }

    async fn trailers(&mut self) -> Result<(), Fault> {
        loop {
            while let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\r\n") {
                self.buffer.drain(..end + 2);
                if end == 0 {
                    return Ok(());
                }
            }
            self.more().await?;
        }
    }
}

/// How long a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Length(usize),
    Chunked,
    UntilClosed,
}

impl Framing {
    /// RFC 9112, section 6.3.
    fn of(answer: &Answer, method: &str) -> Result<Self, Fault> {
        if method == "HEAD" || matches!(answer.status, 100..=199 | 204 | 304) {
            return Ok(Self::Length(0));
        }
        if let Some(coding) = answer.header("transfer-encoding") {
            if answer.header("content-length").is_some() {
                return Err(Fault::malformed(
                    "both Content-Length and Transfer-Encoding: two ways to read one reply",
                ));
            }
            return if coding.to_ascii_lowercase().ends_with(b"chunked") {
                Ok(Self::Chunked)
            } else {
                Ok(Self::UntilClosed)
            };
        }
        let mut lengths = answer
            .headers
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case(b"content-length"))
            .map(|(_, value)| value);
        let Some(length) = lengths.next() else {
            return Ok(Self::UntilClosed);
        };
        if lengths.any(|other| other != length) {
            return Err(Fault::malformed("two values of Content-Length"));
        }
        std::str::from_utf8(length)
            .ok()
            .and_then(|text| text.trim().parse().ok())
            .map(Self::Length)
            .ok_or_else(|| Fault::malformed(format!("Content-Length: {}", length.escape_ascii())))
    }
}

fn parse_head(buffer: &[u8]) -> Result<Option<(usize, Answer)>, Fault> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut reply = httparse::Response::new(&mut headers);
    let mut parser = httparse::ParserConfig::default();
    parser.allow_obsolete_multiline_headers_in_responses(true);
    let length = match parser.parse_response(&mut reply, buffer) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => {
            let shown = prony_load::excerpt(&buffer[..buffer.len().min(80)]);
            return Err(Fault::malformed(format!("no HTTP reply ({error}): `{shown}`")));
        }
    };
    refuse_bare_line_feeds(&buffer[..length])?;
    let old = reply.version == Some(0);
    let mut answer = Answer {
        status: reply.code.unwrap_or_default(),
        headers: reply
            .headers
            .iter()
            .map(|header| (header.name.as_bytes().to_vec(), unfolded(header.value)))
            .collect(),
        old,
        ..Answer::default()
    };
    let connection = answer
        .header("connection")
        .map(<[u8]>::to_ascii_lowercase)
        .unwrap_or_default();
    let says = |word: &[u8]| {
        connection
            .split(|&byte| byte == b',')
            .any(|said| said.trim_ascii() == word)
    };
    answer.closes = says(b"close") || (old && !says(b"keep-alive"));
    Ok(Some((length, answer)))
}

/// The parser accepts lines that end with LF alone; the load does not, and a reply must not pass one and fail the other.
fn refuse_bare_line_feeds(head: &[u8]) -> Result<(), Fault> {
    let is_bare = |at: usize| head[at] == b'\n' && (at == 0 || head[at - 1] != b'\r');
    if (0..head.len()).any(is_bare) {
        return Err(Fault::malformed(
            "a line of the head ends with a bare LF instead of CR LF",
        ));
    }
    Ok(())
}

/// A value with each fold of its line as one space (RFC 9112, section 5.2).
fn unfolded(value: &[u8]) -> Vec<u8> {
    let lines = value.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    lines.collect::<Vec<_>>().join(&b' ')
}

/// The size of the chunk that begins the buffer, and the length of its line.
fn chunk_size(buffer: &[u8]) -> Result<Option<(usize, usize)>, Fault> {
    let Some(end) = buffer.windows(2).position(|pair| pair == b"\r\n") else {
        return Ok(None);
    };
    let line = &buffer[..end];
    let digits = line
        .split(|&byte| byte == b';')
        .next()
        .unwrap_or_default()
        .trim_ascii();
    let size = std::str::from_utf8(digits)
        .ok()
        .and_then(|digits| usize::from_str_radix(digits, 16).ok());
    match size {
        Some(size) if size <= LARGEST => Ok(Some((size, end + 2))),
        _ => {
            let shown = prony_load::excerpt(&line[..line.len().min(40)]);
            Err(Fault::malformed(format!(
                "chunked body: `{shown}` is no size of a chunk"
            )))
        }
    }
}

/// The request as it is sent, with its body in chunks of `chunk` bytes where that is given.
pub(super) fn serialise(exchange: &Exchange, authority: &str, chunk: Option<usize>, bag: &Bag) -> Vec<u8> {
    let request = &exchange.request;
    let mut out = Vec::new();
    out.extend_from_slice(request.method.as_bytes());
    out.push(b' ');
    out.extend_from_slice(&bytes(&request.path, bag));
    out.extend_from_slice(format!(" HTTP/1.1\r\nHost: {authority}\r\n").as_bytes());
    for header in &request.headers {
        out.extend_from_slice(header.name.as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(&bytes(&header.value, bag));
        out.extend_from_slice(b"\r\n");
    }
    let chunk = match &request.body {
        Body::Generated(Generated { chunk: Some(own), .. }) if chunk.is_none() => Some(*own as usize),
        _ => chunk,
    };
    match (body(exchange, bag), chunk) {
        (None, _) => out.extend_from_slice(b"\r\n"),
        (Some(body), None) => {
            out.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
            out.extend_from_slice(&body);
        }
        (Some(body), Some(chunk)) => {
            out.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
            for piece in body.chunks(chunk) {
                out.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
                out.extend_from_slice(piece);
                out.extend_from_slice(b"\r\n");
            }
            out.extend_from_slice(b"0\r\n\r\n");
        }
    }
    out
}
