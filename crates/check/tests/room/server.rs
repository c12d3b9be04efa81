//! A small WebSocket server with rooms that can have one fault.

use super::house::{House, QueuedMember};
use crate::listening::Threads;
use std::io::{Read, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::protocol::{CloseFrame, Role};
use tungstenite::{Error, Message, WebSocket};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    AnswersAnyPath,
    TakesNoName,
    TakesCompression,
    MissesSender,
    MissesOthers,
    MissesOne,
    MissesThoseBeyondTen,
    LosesEveryTenth,
    LosesUnderLoad,
    Doubles,
    DoublesForOne,
    LagsForOne,
    TextsFirstForOne,
    SenderHearsItselfFirst,
    OneRoom,
    IgnoresCase,
    CutsNames,
    Alters,
    AltersForOthers,
    TextForBinary,
    BinaryForText,
    CutsAt64KiB,
    RefusesMiB,
    ForgetsEmpty,
    Replays,
    TellsWhoComes,
    TellsWhoLeaves,
    StopsAfterLeave,
    StopsAfterCut,
    EndsWithItsFirst,
    StaysOver,
    RefusesTheEleventh,
    WaitsForTheSlow,
    BadTextEndsAll,
    SpreadsBadText,
}

/// Serves `/ws/room/{name}`.
pub(crate) fn serve(fault: Fault) -> Threads {
    let house = Arc::new(House::new(fault));
    Threads::start(move |stream| {
        let _ = stream.set_nodelay(true);
        serve_connection(stream, &house);
    })
}

/// Serves a connection from the handshake to its end.
fn serve_connection(mut stream: TcpStream, house: &Arc<House>) -> Option<()> {
    let (name, early) = handshake(&mut stream, house)?;
    let member = house.enter(&name, stream.try_clone().ok()?);
    let is_closed = serve_member(stream, early, house, &member);
    house.leave(&member, is_closed);
    member.end();
    Some(())
}

/// Serves a member until its connection ends. Returns whether a close frame came first.
fn serve_member(stream: TcpStream, early: Vec<u8>, house: &House, member: &QueuedMember) -> bool {
    let queued_stream = QueuedStream {
        stream,
        member: member.clone(),
    };
    let mut socket = WebSocket::from_partially_read(queued_stream, early, Role::Server, None);
    loop {
        match socket.read() {
            Ok(message @ (Message::Text(_) | Message::Binary(_))) => {
                if house.fault == Fault::RefusesMiB && message.len() >= 1 << 20 {
                    close(&mut socket, CloseCode::Size);
                    return true;
                }
                house.broadcast(member, message);
            }
            // The reply is sent with the next read, so a client that has it is no longer a member.
            Ok(Message::Close(_)) => house.leave(member, true),
            Ok(_) => {}
            Err(Error::ConnectionClosed) => return true,
            Err(Error::Utf8(_)) => {
                house.bad_text(member);
                close(&mut socket, CloseCode::Invalid);
                return true;
            }
            Err(_) => return false,
        }
    }
}

/// Sends a close frame, and waits until the client closes the connection.
fn close(socket: &mut WebSocket<QueuedStream>, code: CloseCode) {
    let reason = CloseFrame {
        code,
        reason: "".into(),
    };
    let _ = socket.close(Some(reason));
    let _ = socket.flush();
    socket.get_mut().member.end();
    let mut piece = [0; 4096];
    while matches!(socket.get_mut().stream.read(&mut piece), Ok(1..)) {}
}

/// Reads from the connection, and writes to the member's queue.
struct QueuedStream {
    stream: TcpStream,
    member: QueuedMember,
}

impl Read for QueuedStream {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.stream.read(buffer)
    }
}

impl std::io::Write for QueuedStream {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.member.send(bytes.into());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Answers the handshake. Returns the name of the room, and the bytes that arrived after the request.
fn handshake(stream: &mut TcpStream, house: &House) -> Option<(String, Vec<u8>)> {
    let mut buffer = Vec::new();
    let length = loop {
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        let mut piece = [0; 4096];
        let length = stream.read(&mut piece).ok().filter(|length| *length > 0)?;
        buffer.extend_from_slice(&piece[..length]);
    };
    let early = buffer.split_off(length);
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut request = httparse::Request::new(&mut headers);
    request.parse(&buffer).ok()?;
    let header = |name: &str| {
        let mut headers = request.headers.iter();
        headers
            .find(|header| header.name.eq_ignore_ascii_case(name))
            .map(|header| header.value)
    };
    let path = request.path?;
    let name = match path.strip_prefix("/ws/room/") {
        Some(name) if !name.contains('/') => name,
        _ if house.fault == Fault::AnswersAnyPath => path,
        _ => "",
    };
    if name.is_empty() && house.fault != Fault::TakesNoName || house.is_full(name) {
        let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
        return None;
    }
    let accept = derive_accept_key(header("sec-websocket-key")?);
    let extension = match header("sec-websocket-extensions") {
        Some(_) if house.fault == Fault::TakesCompression => {
            "Sec-WebSocket-Extensions: permessage-deflate\r\n"
        }
        _ => "",
    };
    let reply = format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Accept: {accept}\r\n{extension}\r\n"
    );
    stream.write_all(reply.as_bytes()).ok()?;
    Some((name.to_owned(), early))
}
