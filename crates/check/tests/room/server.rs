//! A small WebSocket server with rooms, which can be wrong in one way.

use super::house::{House, QueuedMember};
use crate::listening::Threads;
use std::io::{Read, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::protocol::{CloseFrame, Role};
use tungstenite::{Error, Message, WebSocket};

/// One way to be wrong.
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
        attend(stream, &house);
    })
}

/// From the handshake to the end of the connection.
fn attend(mut stream: TcpStream, house: &Arc<House>) -> Option<()> {
    let (name, early) = shake(&mut stream, house)?;
    let seat = house.enter(&name, stream.try_clone().ok()?);
    let left = talk(stream, early, house, &seat);
    house.leave(&seat, left);
    seat.end();
    Some(())
}

/// Until the member leaves; gives whether it said so.
fn talk(stream: TcpStream, early: Vec<u8>, house: &House, seat: &QueuedMember) -> bool {
    let line = RecordedStream {
        stream,
        seat: seat.clone(),
    };
    let mut socket = WebSocket::from_partially_read(line, early, Role::Server, None);
    loop {
        match socket.read() {
            Ok(message @ (Message::Text(_) | Message::Binary(_))) => {
                if house.fault == Fault::RefusesMiB && message.len() >= 1 << 20 {
                    end(&mut socket, CloseCode::Size);
                    return true;
                }
                house.say(seat, message);
            }
            // The reply goes out with the next read: who has it may count on being gone.
            Ok(Message::Close(_)) => house.leave(seat, true),
            Ok(_) => {}
            Err(Error::ConnectionClosed) => return true,
            Err(Error::Utf8(_)) => {
                house.bad_text(seat);
                end(&mut socket, CloseCode::Invalid);
                return true;
            }
            Err(_) => return false,
        }
    }
}

/// Closes a connection, and waits until the client has seen it.
fn end(socket: &mut WebSocket<RecordedStream>, code: CloseCode) {
    let reason = CloseFrame {
        code,
        reason: "".into(),
    };
    let _ = socket.close(Some(reason));
    let _ = socket.flush();
    socket.get_mut().seat.end();
    let mut piece = [0; 4096];
    while matches!(socket.get_mut().stream.read(&mut piece), Ok(1..)) {}
}

/// What is read comes from the connection, what is written goes through the seat's queue.
struct RecordedStream {
    stream: TcpStream,
    seat: QueuedMember,
}

impl Read for RecordedStream {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.stream.read(buffer)
    }
}

impl std::io::Write for RecordedStream {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.seat.send(bytes.into());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Answers the handshake; gives the name of the room, and what came behind it.
fn shake(stream: &mut TcpStream, house: &House) -> Option<(String, Vec<u8>)> {
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
