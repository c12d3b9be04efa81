//! A small WebSocket server that echoes, and can be wrong in one way.

use crate::listening::Threads;
use std::io::{Cursor, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use tungstenite::Bytes;
use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::frame::coding::{Control, Data, OpCode};
use tungstenite::protocol::frame::{Frame, FrameHeader};

/// One way to be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    AnswersAnyPath,
    SwitchesWith200,
    WrongAccept,
    NoAccept,
    TakesCompression,
    Alters,
    TextForBinary,
    BinaryForText,
    CutsAt64KiB,
    RefusesMiB,
    IgnoresEmpty,
    Trims,
    StopsAtNul,
    DropsBom,
    FirstOfItsLength,
    Doubles,
    SwapsTwo,
    DropsAfter60,
    Masks,
    SetsReservedBit,
    LongLengths,
    FragmentsApart,
    LastFragmentAlone,
    ChecksEachFragment,
    IgnoresPings,
    EmptyPongs,
    TextForPong,
    CloseWithoutCode,
    AlwaysNormal,
    HangsUpOnClose,
    BytesBehindClose,
    TakesUnmasked,
    NormalForUnmasked,
    HangsUpOnUnmasked,
    TakesAnyBytes,
    ReplacesBadBytes,
    NormalForBadText,
    SwapsCodes,
}

/// A message, whole.
type Message = (Data, Vec<u8>);

/// Serves `/ws/echo`.
pub(crate) fn serve(fault: Fault) -> Threads {
    let first = Arc::new(Mutex::new(Vec::new()));
    Threads::start(move |stream| {
        Connection::new(stream, fault, Arc::clone(&first)).serve();
    })
}

struct Connection {
    stream: TcpStream,
    fault: Fault,
    buffer: Vec<u8>,
    /// The message whose last fragment has not come yet.
    partial: Option<Message>,
    /// Messages that came.
    count: usize,
    /// A message that waits for the next one.
    held: Option<Message>,
    /// The first message of each length, of all connections.
    first: Arc<Mutex<Vec<Message>>>,
}

impl Connection {
    fn new(stream: TcpStream, fault: Fault, first: Arc<Mutex<Vec<Message>>>) -> Self {
        let _ = stream.set_nodelay(true);
        Self {
            stream,
            fault,
            buffer: Vec::new(),
            partial: None,
            count: 0,
            held: None,
            first,
        }
    }

    fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn more(&mut self) -> Option<()> {
        let mut piece = [0; 16384];
        let length = self.stream.read(&mut piece).ok().filter(|length| *length > 0)?;
        self.buffer.extend_from_slice(&piece[..length]);
        Some(())
    }

    /// Until the connection ends.
    fn serve(mut self) -> Option<()> {
        self.shake()?;
        loop {
            let (header, payload) = self.frame()?;
            if header.mask.is_none() && !self.is(Fault::TakesUnmasked) {
                return self.unmasked();
            }
            match header.opcode {
                OpCode::Data(data) => self.data(data, header.is_final, payload)?,
                OpCode::Control(Control::Ping) => self.ping(payload)?,
                OpCode::Control(Control::Close) => return self.close(&payload),
                OpCode::Control(_) => {}
            }
        }
    }

    fn shake(&mut self) -> Option<()> {
        let length = loop {
            let end = self.buffer.windows(4).position(|four| four == b"\r\n\r\n");
            match end {
                Some(end) => break end + 4,
                None => self.more()?,
            }
        };
        let head: Vec<u8> = self.buffer.drain(..length).collect();
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut request = httparse::Request::new(&mut headers);
        request.parse(&head).ok()?;
        let header = |name: &str| {
            let found = request
                .headers
                .iter()
                .find(|header| header.name.eq_ignore_ascii_case(name));
            found.map(|header| header.value)
        };
        if request.path != Some("/ws/echo") && !self.is(Fault::AnswersAnyPath) {
            let _ = self
                .stream
                .write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
            return None;
        }
        let key = header("sec-websocket-key")?;
        let mut lines = vec!["Connection: Upgrade".to_owned(), "Upgrade: websocket".to_owned()];
        match self.fault {
            Fault::NoAccept => {}
            Fault::WrongAccept => {
                lines.push(format!("Sec-WebSocket-Accept: {}", derive_accept_key(b"other")));
            }
            _ => lines.push(format!("Sec-WebSocket-Accept: {}", derive_accept_key(key))),
        }
        if self.is(Fault::TakesCompression) && header("sec-websocket-extensions").is_some() {
            lines.push("Sec-WebSocket-Extensions: permessage-deflate".to_owned());
        }
        let status = if self.is(Fault::SwitchesWith200) { 200 } else { 101 };
        let reply = format!("HTTP/1.1 {status} Status\r\n{}\r\n\r\n", lines.join("\r\n"));
        self.stream.write_all(reply.as_bytes()).ok()
    }

    fn frame(&mut self) -> Option<(FrameHeader, Vec<u8>)> {
        loop {
            let mut cursor = Cursor::new(self.buffer.as_slice());
            if let Some((header, length)) = FrameHeader::parse(&mut cursor).ok()? {
                let begin = cursor.position() as usize;
                let end = begin + length as usize;
                if self.buffer.len() >= end {
                    let mut payload = self.buffer[begin..end].to_vec();
                    self.buffer.drain(..end);
                    let key = header.mask.unwrap_or_default();
                    for (byte, key) in payload.iter_mut().zip(key.into_iter().cycle()) {
                        *byte ^= key;
                    }
                    return Some((header, payload));
                }
            }
            self.more()?;
        }
    }

    fn send(&mut self, opcode: OpCode, payload: &[u8]) -> Option<()> {
        let header = FrameHeader {
            opcode,
            mask: self.is(Fault::Masks).then_some([1, 2, 3, 4]),
            rsv1: self.is(Fault::SetsReservedBit),
            ..FrameHeader::default()
        };
        let mut out = Vec::new();
        if self.is(Fault::LongLengths) && payload.len() < 126 {
            out.extend([0x80 | u8::from(opcode), 126, 0, payload.len() as u8]);
            out.extend_from_slice(payload);
        } else {
            let frame = Frame::from_payload(header, Bytes::copy_from_slice(payload));
            frame.format(&mut out).ok()?;
        }
        self.stream.write_all(&out).ok()
    }

    fn data(&mut self, data: Data, is_final: bool, payload: Vec<u8>) -> Option<()> {
        let kind = match (data, &self.partial) {
            (Data::Continue, Some((kind, _))) => *kind,
            (data, _) => data,
        };
        let is_text = kind == Data::Text;
        if self.is(Fault::ChecksEachFragment) && is_text && std::str::from_utf8(&payload).is_err() {
            self.end(1007);
            return None;
        }
        if self.is(Fault::FragmentsApart) && !is_final {
            self.partial = Some((kind, Vec::new()));
            return self.send(OpCode::Data(kind), &payload);
        }
        let mut message = match self.partial.take() {
            Some((_, message)) if !self.is(Fault::LastFragmentAlone) => message,
            _ => Vec::new(),
        };
        message.extend(payload);
        if !is_final {
            self.partial = Some((kind, message));
            return Some(());
        }
        if is_text && std::str::from_utf8(&message).is_err() {
            match self.fault {
                Fault::TakesAnyBytes => {}
                Fault::ReplacesBadBytes => message = String::from_utf8_lossy(&message).into_owned().into(),
                _ => {
                    self.end(match self.fault {
                        Fault::NormalForBadText => 1000,
                        Fault::SwapsCodes => 1002,
                        _ => 1007,
                    });
                    return None;
                }
            }
        }
        self.answer((kind, message))
    }

    fn answer(&mut self, (kind, mut message): Message) -> Option<()> {
        self.count += 1;
        let is_text = kind == Data::Text;
        let mut kind = kind;
        match self.fault {
            Fault::Alters => {
                if let Some(last) = message.last_mut() {
                    *last = last.wrapping_add(1) & 0x7f;
                }
            }
            Fault::TextForBinary if std::str::from_utf8(&message).is_ok() => kind = Data::Text,
            Fault::BinaryForText => kind = Data::Binary,
            Fault::CutsAt64KiB => message.truncate(65535),
            Fault::RefusesMiB if message.len() >= 1 << 20 => {
                self.end(1009);
                return None;
            }
            Fault::IgnoresEmpty if message.is_empty() => return Some(()),
            Fault::Trims if is_text => message = message.trim_ascii().to_vec(),
            Fault::StopsAtNul if is_text => {
                let end = message.iter().position(|byte| *byte == 0);
                message.truncate(end.unwrap_or(message.len()));
            }
            Fault::DropsBom if message.starts_with("\u{feff}".as_bytes()) => drop(message.drain(..3)),
            Fault::FirstOfItsLength => message = self.remembered(kind, message),
            Fault::Doubles => self.send(OpCode::Data(kind), &message)?,
            Fault::SwapsTwo => return self.swap((kind, message)),
            Fault::DropsAfter60 if self.count > 60 => return None,
            _ => {}
        }
        self.send(OpCode::Data(kind), &message)
    }

    /// The first message of its kind and length that any connection brought.
    fn remembered(&self, kind: Data, message: Vec<u8>) -> Vec<u8> {
        let mut first = self.first.lock().expect("no panic");
        let same = |one: &&Message| one.0 == kind && one.1.len() == message.len();
        if let Some((_, known)) = first.iter().find(same) {
            return known.clone();
        }
        first.push((kind, message.clone()));
        message
    }

    /// Where the next message is there already, it is answered first.
    fn swap(&mut self, message: Message) -> Option<()> {
        let earlier = self.held.take();
        if earlier.is_none() && !self.buffer.is_empty() {
            self.held = Some(message);
            return Some(());
        }
        for (kind, message) in std::iter::once(message).chain(earlier) {
            self.send(OpCode::Data(kind), &message)?;
        }
        Some(())
    }

    fn ping(&mut self, payload: Vec<u8>) -> Option<()> {
        let (opcode, payload) = match self.fault {
            Fault::IgnoresPings => return Some(()),
            Fault::EmptyPongs => (OpCode::Control(Control::Pong), Vec::new()),
            Fault::TextForPong => (OpCode::Data(Data::Text), payload),
            _ => (OpCode::Control(Control::Pong), payload),
        };
        self.send(opcode, &payload)
    }

    fn unmasked(&mut self) -> Option<()> {
        match self.fault {
            Fault::HangsUpOnUnmasked => {}
            Fault::NormalForUnmasked => self.end(1000),
            Fault::SwapsCodes => self.end(1007),
            _ => self.end(1002),
        }
        None
    }

    /// The client's part of a close is answered.
    fn close(&mut self, payload: &[u8]) -> Option<()> {
        let code = &payload[..payload.len().min(2)];
        let normal = 1000_u16.to_be_bytes();
        match self.fault {
            Fault::HangsUpOnClose => return None,
            Fault::CloseWithoutCode => self.send(OpCode::Control(Control::Close), &[])?,
            Fault::AlwaysNormal => self.send(OpCode::Control(Control::Close), &normal)?,
            _ => self.send(OpCode::Control(Control::Close), code)?,
        }
        if self.is(Fault::BytesBehindClose) {
            self.send(OpCode::Data(Data::Text), b"and yet")?;
        }
        None
    }

    /// Closes the connection, and waits until the client has seen it.
    fn end(&mut self, code: u16) {
        if self
            .send(OpCode::Control(Control::Close), &code.to_be_bytes())
            .is_some()
        {
            let _ = self.stream.shutdown(std::net::Shutdown::Write);
            while self.more().is_some() {}
        }
    }
}
