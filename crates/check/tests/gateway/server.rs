//! A small gateway with one fault: it relays each event of the model as it comes.

use crate::listening::Threads;
use crate::toy::{self, Call, LiveReply, ScriptedReply};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The key that the model requires.
pub(super) const KEY: &str = "model-key";
/// Time between two flushes of a gateway that collects events.
const FLUSH: Duration = Duration::from_millis(100);

/// What is wrong with a gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    MergesTwo,
    DropsOne,
    DoublesOne,
    SwapsTwo,
    AltersACharacter,
    LosesUsage,
    SecondDone,
    NoDone,
    BuffersAll,
    Buffers4KiB,
    FlushesEach100Ms,
    MixesStreams,
    KeepsReading,
    Retries503,
    Turns429Into500,
    Turns404Into200,
    LosesErrors,
    SwallowsCut,
    SwallowsFailure,
    CachesByPrompt,
    ForwardsTheKey,
    Truncates64KiB,
    BreaksUtf8,
    FixedContentType,
    LosesAMember,
    RoundsNumbers,
    SendsTwice,
    WaitsForADeadModel,
    NeverRecovers,
    AnswersFromMemory,
}

struct Gateway {
    model: SocketAddr,
    fault: Fault,
    /// Answers by prompt, for gateways with a memory.
    memory: Mutex<HashMap<Vec<u8>, Vec<u8>>>,
    /// The second event of another stream.
    other: Mutex<Option<String>>,
    /// Whether the model was away once.
    has_failed: Mutex<bool>,
}

/// A reply of the model, of which the head was read.
struct ModelReply {
    status: u16,
    headers: Vec<(String, String)>,
    reader: BufReader<TcpStream>,
}

pub(super) fn serve(model: SocketAddr, fault: Fault) -> Threads {
    let gateway = Arc::new(Gateway {
        model,
        fault,
        memory: Mutex::default(),
        other: Mutex::default(),
        has_failed: Mutex::default(),
    });
    toy::serve(
        toy::FaultMode::Right,
        Arc::new(move |call: &Call| {
            let (gateway, call) = (Arc::clone(&gateway), call.clone());
            ScriptedReply {
                live: Some(LiveReply(Arc::new(move |client| gateway.relay(&call, client)))),
                ..ScriptedReply::default()
            }
        }),
    )
}

impl Gateway {
    fn relay(&self, call: &Call, client: &mut TcpStream) -> Option<()> {
        if self.fault == Fault::CachesByPrompt
            && let Some(known) = self.memory.lock().expect("no panic").get(&call.body)
        {
            return client.write_all(known).ok();
        }
        let Some(mut reply) = self.ask(call) else {
            return self.without_model(call, client);
        };
        let further = match self.fault {
            Fault::SendsTwice => 1,
            Fault::Retries503 if reply.status == 503 => 2,
            _ => 0,
        };
        for _ in 0..further {
            reply = self.ask(call)?;
        }
        let is_chunked = reply.header("transfer-encoding").is_some();
        if is_chunked {
            return self.relay_stream(call, &mut reply, client);
        }
        self.relay_document(call, &mut reply, client)
    }

    /// Sends a request to the model, and reads the head of its reply.
    fn ask(&self, call: &Call) -> Option<ModelReply> {
        if self.fault == Fault::NeverRecovers && *self.has_failed.lock().expect("no panic") {
            return None;
        }
        let deadline = Instant::now() + Duration::from_secs(10);
        let mut model = loop {
            match TcpStream::connect(self.model) {
                Ok(model) => break model,
                Err(_) if self.fault == Fault::WaitsForADeadModel && Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(_) => {
                    *self.has_failed.lock().expect("no panic") = true;
                    return None;
                }
            }
        };
        let _ = model.set_nodelay(true);
        let body = self.body(&call.body);
        let key = match (self.fault, call.header("authorization")) {
            (Fault::ForwardsTheKey, Some(key)) => String::from_utf8_lossy(key).into_owned(),
            _ => format!("Bearer {KEY}"),
        };
        let head = format!(
            "{} {} HTTP/1.1\r\nHost: model\r\nConnection: close\r\nContent-Type: application/json\r\nAuthorization: {key}\r\n\
             Content-Length: {}\r\n\r\n",
            call.method,
            call.target,
            body.len()
        );
        model.write_all(head.as_bytes()).ok()?;
        model.write_all(&body).ok()?;
        let mut reader = BufReader::new(model);
        let status = line(&mut reader)?.split(' ').nth(1)?.parse().ok()?;
        let mut headers = Vec::new();
        loop {
            let line = line(&mut reader)?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(": ")?;
            headers.push((name.to_owned(), value.to_owned()));
        }
        Some(ModelReply {
            status,
            headers,
            reader,
        })
    }

    /// The body that the model receives.
    fn body(&self, body: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(body);
        match self.fault {
            Fault::LosesAMember => text.replace("\"top_p\":0.5,", "").into_bytes(),
            Fault::RoundsNumbers => text.replace("9007199254740991", "9007199254740992").into_bytes(),
            _ => body.to_vec(),
        }
    }

    fn without_model(&self, call: &Call, client: &mut TcpStream) -> Option<()> {
        if self.fault == Fault::AnswersFromMemory {
            let memory = self.memory.lock().expect("no panic");
            if let Some(known) = memory.values().next() {
                let nonce = nonce_of(&call.body);
                let known = String::from_utf8_lossy(known).replace("NONCE", &nonce);
                for event in known.split_inclusive("\n\n") {
                    client.write_all(event.as_bytes()).ok()?;
                    // As the model: five milliseconds between two events.
                    std::thread::sleep(Duration::from_millis(6));
                }
                return Some(());
            }
        }
        let body = r#"{"error":{"message":"the model cannot be reached"}}"#;
        let reply = format!(
            "HTTP/1.1 502 Bad Gateway\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        client.write_all(reply.as_bytes()).ok()
    }

    fn head(&self, reply: &ModelReply) -> String {
        let status = match (self.fault, reply.status) {
            (Fault::Turns429Into500, 429) => 500,
            (Fault::Turns404Into200, 404) => 200,
            (_, status) => status,
        };
        let kind = match self.fault {
            Fault::FixedContentType => "text/event-stream",
            _ => reply.header("content-type").unwrap_or_default(),
        };
        let mut head = format!(
            "HTTP/1.1 {status} Status\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: {kind}\r\n"
        );
        if let Some(after) = reply.header("retry-after") {
            let _ = write!(head, "Retry-After: {after}\r\n");
        }
        head
    }

    fn relay_document(&self, call: &Call, reply: &mut ModelReply, client: &mut TcpStream) -> Option<()> {
        let length = reply.header("content-length")?.parse().ok()?;
        let mut body = vec![0; length];
        reply.reader.read_exact(&mut body).ok()?;
        if self.fault == Fault::LosesErrors && reply.status >= 400 {
            body = b"{}".to_vec();
        }
        let mut whole = format!("{}Content-Length: {}\r\n\r\n", self.head(reply), body.len()).into_bytes();
        whole.extend_from_slice(&body);
        if self.fault == Fault::CachesByPrompt {
            let mut memory = self.memory.lock().expect("no panic");
            memory.insert(call.body.clone(), whole.clone());
        }
        client.write_all(&whole).ok()
    }

    /// Relays a stream piece by piece. The connection of the client ends where that of the model does.
    fn relay_stream(&self, call: &Call, reply: &mut ModelReply, client: &mut TcpStream) -> Option<()> {
        let head = format!("{}Transfer-Encoding: chunked\r\n\r\n", self.head(reply));
        let mut out = Output {
            client,
            fault: self.fault,
            waiting: Vec::new(),
            flushed: Instant::now(),
            sent: head.clone().into_bytes(),
            has_left: false,
        };
        out.client.write_all(head.as_bytes()).ok()?;
        if self.fault != Fault::KeepsReading {
            cancel_after(out.client, reply.reader.get_ref())?;
        }
        let mut postponed: Option<Vec<u8>> = None;
        let mut number = 0;
        loop {
            let Some(piece) = chunk(&mut reply.reader) else {
                // The model broke off.
                if self.fault != Fault::SwallowsCut {
                    // Another thread may still hold it.
                    let _ = out.client.shutdown(Shutdown::Both);
                    return None;
                }
                out.write(b"data: [DONE]\n\n")?;
                break;
            };
            if piece.is_empty() {
                break;
            }
            number += 1;
            for piece in self.pieces(number, piece, &mut postponed) {
                out.write(&piece)?;
            }
        }
        out.end()?;
        if self.fault == Fault::AnswersFromMemory {
            let sent = String::from_utf8_lossy(&out.sent).replace(&nonce_of(&call.body), "NONCE");
            let mut memory = self.memory.lock().expect("no panic");
            // Other models end after three events as well.
            let is_whole = sent.contains("[DONE]") && sent.contains("\"model\":\"steady\"");
            if is_whole && sent.matches("\"delta\"").count() == 3 {
                memory.insert(Vec::new(), sent.into_bytes());
            }
        }
        Some(())
    }

    /// What the client receives for a piece of the model.
    fn pieces(&self, number: usize, piece: Vec<u8>, held: &mut Option<Vec<u8>>) -> Vec<Vec<u8>> {
        let text = String::from_utf8_lossy(&piece).into_owned();
        let is_done = text.contains("[DONE]");
        let changed = |text: String| vec![text.into_bytes()];
        match self.fault {
            Fault::MergesTwo | Fault::SwapsTwo if number == 2 && !is_done => {
                *held = Some(piece);
                Vec::new()
            }
            Fault::MergesTwo | Fault::SwapsTwo if held.is_some() => {
                let first = held.take().unwrap_or_default();
                if self.fault == Fault::SwapsTwo {
                    return vec![piece, first];
                }
                let first = String::from_utf8_lossy(&first).trim_end().to_owned();
                changed(format!("{first}\n{text}"))
            }
            Fault::DropsOne if number == 2 => Vec::new(),
            Fault::DoublesOne if number == 2 => vec![piece.clone(), piece],
            Fault::AltersACharacter if number == 2 => changed(text.replace("w838", "w839")),
            Fault::LosesUsage if text.contains("\"usage\"") => Vec::new(),
            Fault::SecondDone if is_done => vec![piece.clone(), piece],
            Fault::NoDone if is_done => Vec::new(),
            Fault::MixesStreams if number == 2 => {
                let mut other = self.other.lock().expect("no panic");
                let before = other.replace(text.clone());
                changed(before.unwrap_or(text))
            }
            Fault::SwallowsFailure if text.contains("{\"error\"") => changed("data: [DONE]\n\n".to_owned()),
            Fault::Truncates64KiB if piece.len() > 32 << 10 => {
                changed(format!("{}\"}}}}]}}\n\n", &text[..32 << 10]))
            }
            Fault::BreaksUtf8 => changed(text),
            _ => vec![piece],
        }
    }
}

/// The stream that a client receives.
struct Output<'a> {
    client: &'a mut TcpStream,
    fault: Fault,
    waiting: Vec<u8>,
    flushed: Instant,
    /// All bytes so far.
    sent: Vec<u8>,
    has_left: bool,
}

impl Output<'_> {
    fn write(&mut self, piece: &[u8]) -> Option<()> {
        let framed = [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat();
        self.sent.extend_from_slice(&framed);
        self.waiting.extend_from_slice(&framed);
        let waits = match self.fault {
            Fault::BuffersAll => true,
            Fault::Buffers4KiB => self.waiting.len() < 4096,
            Fault::FlushesEach100Ms => self.flushed.elapsed() < FLUSH,
            _ => false,
        };
        if waits {
            return Some(());
        }
        self.flushed = Instant::now();
        self.flush()
    }

    fn flush(&mut self) -> Option<()> {
        let written = self.client.write_all(&std::mem::take(&mut self.waiting));
        self.has_left |= written.is_err();
        // A gateway that keeps reading does not care.
        (written.is_ok() || self.fault == Fault::KeepsReading).then_some(())
    }

    fn end(&mut self) -> Option<()> {
        self.sent.extend_from_slice(b"0\r\n\r\n");
        self.waiting.extend_from_slice(b"0\r\n\r\n");
        self.flush()?;
        (!self.has_left).then_some(())
    }
}

impl ModelReply {
    fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

fn line(reader: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
    Some(line.trim_end().to_owned())
}

/// Closes the connection to the model when the client closes its own.
fn cancel_after(client: &TcpStream, model: &TcpStream) -> Option<()> {
    let (client, model) = (client.try_clone().ok()?, model.try_clone().ok()?);
    std::thread::spawn(move || {
        if !matches!(client.peek(&mut [0]), Ok(1)) {
            // It may be closed already.
            let _ = model.shutdown(Shutdown::Both);
        }
    });
    Some(())
}

/// The next chunk, which is empty at the end; `None`: the connection ended before.
fn chunk(reader: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let size = usize::from_str_radix(&line(reader)?, 16).ok()?;
    let mut piece = vec![0; size + 2];
    reader.read_exact(&mut piece).ok()?;
    piece.truncate(size);
    Some(piece)
}

/// The last user message of a request.
fn nonce_of(body: &[u8]) -> String {
    let body: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let last = body["messages"].as_array().and_then(|messages| messages.last());
    let last = last.and_then(|last| last["content"].as_str());
    last.unwrap_or_default().to_owned()
}
