//! One connection of a client: it reads while it writes, and waits in `poll(2)`.

use super::protocol_state::ProtocolState;
use super::replies::{Replies, Reply};
use super::socket::Socket;
use super::{Client, ClientError, Delivery, Frame, PreparedRequest, RawFrame};
use crate::layer::{Layer as _, LayerError, PeerStream};
use crate::protocol::Token;
use crate::request_values::Values;
use crate::tls::SPEAKS_TLS;
use crate::tls::session::TlsLayer;
use prony_load::Protocol;
use std::io;
use std::time::{Duration, Instant};

/// Time for a handshake of TLS: a service that speaks none may wait for more of what it takes for a request.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// What an alert of TLS begins with: its type, and the first half of the version.
const ALERT: [u8; 2] = [21, 3];
/// What servers say to a client that speaks HTTP/1.1 without TLS on a port of TLS: nginx, Go, Apache.
const WANTS_TLS: [&str; 3] = [
    "plain http request was sent to https port",
    "http request to an https server",
    "plain http to an ssl-enabled server port",
];
const BUFFER: usize = 64 * 1024;
/// Reads in a row.
const READS: usize = 16;

/// One connection.
pub struct Connection {
    socket: Socket,
    tls: Option<Box<TlsLayer>>,
    state: ProtocolState,
    replies: Replies,
    next_token: u32,
    /// What is to be sent, before it is sealed.
    queued: Vec<u8>,
    /// What is to be written, and how much of it was.
    wire: Vec<u8>,
    written: usize,
    /// Whether the socket takes nothing any more.
    cannot_write: bool,
    /// Bytes that came without belonging to a reply.
    unasked: usize,
    /// Whether nothing has come yet.
    is_silent: bool,
    /// Why nothing more comes.
    end: Option<EndOfConnection>,
    buffer: Vec<u8>,
    plain: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum EndOfConnection {
    /// The service ended it, or it broke.
    Closed,
    /// The received data breaks a rule of the protocol.
    Broken(String),
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Connection")
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}

impl Connection {
    pub(super) fn open(client: &Client, deadline: Instant) -> Result<Self, ClientError> {
        let socket = Socket::connect(&client.target, deadline)?;
        let tls = client
            .tls
            .as_ref()
            .map(TlsLayer::new)
            .transpose()
            .map_err(unreachable)?;
        // The service may speak before the handshake of TLS is over here: what it says is answered behind our own first words.
        let mut queued = Vec::new();
        let state = ProtocolState::open(client.protocol, &mut queued);
        let mut connection = Self {
            socket,
            tls: tls.map(Box::new),
            state,
            replies: Replies::new(client.protocol == Protocol::Grpc),
            next_token: 0,
            queued,
            wire: Vec::new(),
            written: 0,
            cannot_write: false,
            unasked: 0,
            is_silent: true,
            end: None,
            buffer: vec![0; BUFFER],
            plain: Vec::new(),
        };
        connection.shake_hands(deadline)?;
        loop {
            connection.flush(Delivery::Whole, deadline)?;
            match &connection.end {
                Some(EndOfConnection::Closed) => return Err(ClientError::Closed),
                Some(EndOfConnection::Broken(reason)) => return Err(ClientError::Malformed(reason.clone())),
                None if connection.state.is_ready() => return Ok(connection),
                None => connection.read_more(deadline)?,
            }
        }
    }

    /// The handshake of TLS.
    fn shake_hands(&mut self, deadline: Instant) -> Result<(), ClientError> {
        let deadline = deadline.min(Instant::now() + HANDSHAKE);
        let Some(tls) = &mut self.tls else { return Ok(()) };
        tls.open(&mut self.wire).map_err(unreachable)?;
        let late = |error| match error {
            ClientError::TimedOut => ClientError::Unreachable(format!(
                "TLS: no end of the handshake within {HANDSHAKE:?}: does the service speak TLS on this port?"
            )),
            other => other,
        };
        loop {
            self.flush(Delivery::Whole, deadline).map_err(late)?;
            match &self.end {
                Some(EndOfConnection::Broken(reason)) => {
                    return Err(ClientError::Unreachable(reason.clone()));
                }
                Some(EndOfConnection::Closed) => {
                    let reason = "TLS: the connection ended within the handshake: does the service speak TLS on this port?";
                    return Err(ClientError::Unreachable(reason.to_owned()));
                }
                None if self.is_established() => return Ok(()),
                None => self.read_more(deadline).map_err(late)?,
            }
        }
    }

    fn is_established(&self) -> bool {
        self.tls.as_ref().is_none_or(|tls| tls.is_established())
    }

    /// Queues a request; [`Connection::send`] sends it with all others that are queued.
    pub fn start(&mut self, request: &PreparedRequest, values: Values<'_>) -> Token {
        let token = Token(self.next_token);
        self.next_token += 1;
        // The service may have said meanwhile that it closes the connection.
        self.read_available();
        self.replies.begin(token);
        if self.end.is_some() {
            self.replies.fail(token, ClientError::Closed);
        } else if self.state.has_place() {
            self.state.start(request, values, token, &mut self.queued);
        } else {
            self.replies.fail(token, ClientError::Unprocessed);
        }
        token
    }

    /// Sends what is queued. What comes meanwhile is read. A service that closes the connection ends that early; its reply
    /// says why.
    pub fn send(&mut self, delivery: Delivery, deadline: Instant) -> Result<(), ClientError> {
        self.flush(delivery, deadline)
    }

    /// Waits for the reply to a request.
    pub fn reply(&mut self, token: Token, deadline: Instant) -> Result<Reply, ClientError> {
        loop {
            self.flush(Delivery::Whole, deadline)?;
            if let Some(result) = self.replies.take(token) {
                return result.and_then(|reply| self.explained(reply));
            }
            if self.end.is_some() {
                return Err(ClientError::Closed);
            }
            self.read_more(deadline)?;
        }
    }

    /// Waits until a stream has begun: something of the body of a reply with status 200 is there.
    pub fn first_data(&mut self, token: Token, deadline: Instant) -> Result<(), ClientError> {
        loop {
            self.flush(Delivery::Whole, deadline)?;
            if self.replies.has_data(token)? {
                return Ok(());
            }
            self.read_more(deadline)?;
        }
    }

    /// Gives a request up. Over HTTP/1.1 that takes effect when the connection is dropped.
    pub fn cancel(&mut self, token: Token, deadline: Instant) -> Result<(), ClientError> {
        self.state.cancel(token, &mut self.queued);
        self.replies.remove(token);
        self.flush(Delivery::Whole, deadline)
    }

    /// Reads what comes until a moment, and answers what must be answered.
    pub fn read_until(&mut self, moment: Instant) -> Result<(), ClientError> {
        loop {
            let read = self
                .flush(Delivery::Whole, moment)
                .and_then(|()| self.read_more(moment));
            match read {
                Ok(()) if self.end.is_some() => return Err(ClientError::Closed),
                Ok(()) => {}
                Err(ClientError::TimedOut) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends frames of a WebSocket as they are.
    pub fn send_frames(
        &mut self,
        frames: &[RawFrame],
        delivery: Delivery,
        deadline: Instant,
    ) -> Result<(), ClientError> {
        for frame in frames {
            frame.write(&mut self.queued);
        }
        self.flush(delivery, deadline)
    }

    /// Waits for the next message or control frame of a WebSocket.
    pub fn next_frame(&mut self, deadline: Instant) -> Result<Frame, ClientError> {
        loop {
            let ProtocolState::WebSocket(frames) = &mut self.state else {
                return Err("frames are read of a WebSocket alone".into());
            };
            if let Some(frame) = frames.next()? {
                return Ok(frame);
            }
            match &self.end {
                Some(EndOfConnection::Broken(reason)) => return Err(ClientError::Malformed(reason.clone())),
                Some(EndOfConnection::Closed) => return Err(ClientError::Closed),
                None => self.read_more(deadline)?,
            }
        }
    }

    /// Waits until the service ends the connection, or more comes.
    pub fn wait_for_end(&mut self, deadline: Instant) -> Result<(), ClientError> {
        while self.end.is_none() && self.unread() == 0 {
            self.read_more(deadline)?;
        }
        Ok(())
    }

    /// Bytes that came and belong to no reply and no frame.
    pub fn unread(&self) -> usize {
        let frames = match &self.state {
            ProtocolState::WebSocket(frames) => frames.unread(),
            _ => 0,
        };
        self.unasked + frames
    }

    /// A reply, unless it says that the service wants TLS.
    fn explained(&self, reply: Reply) -> Result<Reply, ClientError> {
        if self.tls.is_none() && reply.status == 400 {
            let body = String::from_utf8_lossy(&reply.body).to_lowercase();
            if WANTS_TLS.iter().any(|text| body.contains(text)) {
                return Err(SPEAKS_TLS.into());
            }
        }
        Ok(reply)
    }

    /// Writes all that is queued, and reads meanwhile.
    fn flush(&mut self, delivery: Delivery, deadline: Instant) -> Result<(), ClientError> {
        loop {
            if self.cannot_write || self.end.is_some() || self.state.reads_no_more() {
                self.queued.clear();
                self.wire.clear();
                self.written = 0;
                return Ok(());
            }
            if self.written == self.wire.len() {
                self.written = 0;
                self.wire.clear();
                if self.queued.is_empty() || !self.is_established() {
                    return Ok(());
                }
                self.seal(delivery.share_of(self.queued.len()))?;
            }
            match self.socket.write(&self.wire[self.written..]) {
                Ok(count) => {
                    self.written += count;
                    if delivery == Delivery::SingleBytes {
                        // The service gets its turn to read the byte alone.
                        std::thread::yield_now();
                    }
                    self.read_available();
                }
                Err(error) if is_not_yet(&error) => {
                    self.socket.wait(true, deadline)?;
                    self.read_available();
                }
                // A service that closes while it is sent to may have said why: reading shows it.
                Err(_) => self.cannot_write = true,
            }
        }
    }

    /// Moves the first bytes that are queued to what is written.
    fn seal(&mut self, count: usize) -> Result<(), ClientError> {
        match &mut self.tls {
            Some(tls) => tls
                .seal(&self.queued[..count], &mut self.wire)
                .map_err(|error| ClientError::Malformed(error.0))?,
            None if count == self.queued.len() => {
                std::mem::swap(&mut self.wire, &mut self.queued);
                return Ok(());
            }
            None => self.wire.extend_from_slice(&self.queued[..count]),
        }
        self.queued.drain(..count);
        Ok(())
    }

    /// Waits for bytes and reads them.
    fn read_more(&mut self, deadline: Instant) -> Result<(), ClientError> {
        self.socket.wait(false, deadline)?;
        self.read_available();
        Ok(())
    }

    /// Reads the available bytes, or only some of them if there are many: a deadline must be seen meanwhile.
    fn read_available(&mut self) {
        let mut buffer = std::mem::take(&mut self.buffer);
        for _ in 0..READS {
            if self.end.is_some() {
                break;
            }
            let read = self.socket.read(&mut buffer);
            self.replies.now = Instant::now();
            match read {
                // With TLS, the connection would have ended at the close_notify.
                Ok(0) => self.end_of_stream(self.tls.is_none()),
                Ok(count) => self.take(&buffer[..count]),
                Err(error) if is_not_yet(&error) => break,
                Err(_) => {
                    self.end = Some(EndOfConnection::Closed);
                    self.replies.end_all(None);
                }
            }
        }
        self.buffer = buffer;
    }

    fn end_of_stream(&mut self, is_clean: bool) {
        self.state.end_of_stream(is_clean, &mut self.replies);
        self.replies.end_all(None);
        self.end = Some(EndOfConnection::Closed);
    }

    /// Takes bytes from the socket.
    fn take(&mut self, bytes: &[u8]) {
        let Some(tls) = &mut self.tls else {
            if std::mem::take(&mut self.is_silent) && bytes.starts_with(&ALERT) {
                return self.break_off(SPEAKS_TLS.to_owned());
            }
            return self.take_plain(bytes);
        };
        let mut plain = std::mem::take(&mut self.plain);
        let unsealed = tls.unseal(bytes, &mut plain, &mut self.wire);
        if !plain.is_empty() {
            self.take_plain(&plain);
        }
        plain.clear();
        self.plain = plain;
        match unsealed {
            Err(error) => self.break_off(error.0),
            Ok(PeerStream::Ended) if self.end.is_none() => self.end_of_stream(true),
            Ok(_) => {}
        }
    }

    fn take_plain(&mut self, bytes: &[u8]) {
        self.replies.received += bytes.len();
        if let Err(error) = self.state.receive(bytes, &mut self.queued, &mut self.replies) {
            self.unasked += bytes.len();
            self.break_off(error.0.to_owned());
        }
    }

    fn break_off(&mut self, reason: String) {
        self.replies.end_all(Some(&reason));
        self.end.get_or_insert(EndOfConnection::Broken(reason));
    }
}

fn is_not_yet(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

fn unreachable(error: LayerError) -> ClientError {
    ClientError::Unreachable(error.0)
}
