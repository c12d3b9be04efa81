//! One connection of the client. It reads while it writes, and waits in `poll(2)`.

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

/// Timeout of the TLS handshake: a service without TLS may wait for the rest of what it takes for a request.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// The first bytes of a TLS alert: its type, and the first half of the version.
const ALERT: [u8; 2] = [21, 3];
/// Replies of servers to a request without TLS on a TLS port: nginx, Go, Apache.
const WANTS_TLS: [&str; 3] = [
    "plain http request was sent to https port",
    "http request to an https server",
    "plain http to an ssl-enabled server port",
];
const BUFFER: usize = 64 * 1024;
/// Maximum number of reads before the deadline is checked.
const READS: usize = 16;

/// One connection.
pub struct Connection {
    socket: Socket,
    tls: Option<Box<TlsLayer>>,
    state: ProtocolState,
    replies: Replies,
    next_token: u32,
    /// Bytes to send that are not sealed yet.
    queued: Vec<u8>,
    /// Bytes to write to the socket, and how many of them are written.
    wire: Vec<u8>,
    written: usize,
    /// Whether writing to the socket has failed.
    cannot_write: bool,
    /// Received bytes that belong to no reply.
    unexpected: usize,
    /// Whether no byte was received yet.
    is_silent: bool,
    /// Why nothing more is received.
    end: Option<EndOfConnection>,
    buffer: Vec<u8>,
    plain: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum EndOfConnection {
    /// The service closed it, or it broke.
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
        let mut connection = Self::begin(client, deadline)?;
        connection.complete_handshake(deadline)?;
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

    /// Finds out which protocol the TLS handshake selects. What follows the handshake has no meaning here: a service of HTTP/2 may
    /// send its SETTINGS at once.
    pub(super) fn negotiate(client: &Client, deadline: Instant) -> Result<Protocol, ClientError> {
        let mut connection = Self::begin(client, deadline)?;
        let result = connection.complete_handshake(deadline);
        if !connection.is_established() {
            result?;
        }
        Ok(
            match connection.tls.as_ref().and_then(|tls| tls.agreed_protocol()) {
                Some(b"h2") => Protocol::Http2,
                _ => Protocol::Http1,
            },
        )
    }

    /// Connects a socket.
    fn begin(client: &Client, deadline: Instant) -> Result<Self, ClientError> {
        let socket = Socket::connect(&client.target, deadline)?;
        let tls = client
            .tls
            .as_ref()
            .map(TlsLayer::new)
            .transpose()
            .map_err(unreachable)?;
        // The service may send data before the TLS handshake is complete here. The preface is queued first, so that any answer follows it.
        let mut queued = Vec::new();
        let state = ProtocolState::open(client.protocol, &mut queued);
        Ok(Self {
            socket,
            tls: tls.map(Box::new),
            state,
            replies: Replies::new(client.protocol == Protocol::Grpc),
            next_token: 0,
            queued,
            wire: Vec::new(),
            written: 0,
            cannot_write: false,
            unexpected: 0,
            is_silent: true,
            end: None,
            buffer: vec![0; BUFFER],
            plain: Vec::new(),
        })
    }

    /// Completes the TLS handshake, if there is one.
    fn complete_handshake(&mut self, deadline: Instant) -> Result<(), ClientError> {
        let deadline = deadline.min(Instant::now() + HANDSHAKE_TIMEOUT);
        let Some(tls) = &mut self.tls else { return Ok(()) };
        tls.open(&mut self.wire).map_err(unreachable)?;
        let late = |error| match error {
            ClientError::TimedOut => ClientError::Unreachable(format!(
                "TLS: no end of the handshake within {HANDSHAKE_TIMEOUT:?}: does the service speak TLS on this port?"
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

    /// The version of TLS and its cipher suite; `None` without TLS.
    pub fn tls_parameters(&self) -> Option<(String, String)> {
        self.tls.as_ref()?.parameters()
    }

    fn is_established(&self) -> bool {
        self.tls.as_ref().is_none_or(|tls| tls.is_established())
    }

    /// Queues a request; [`Connection::send`] sends it with all others that are queued.
    pub fn start(&mut self, request: &PreparedRequest, values: Values<'_>) -> Token {
        let token = Token(self.next_token);
        self.next_token += 1;
        // The service may have closed the connection in the meantime.
        self.read_available();
        self.replies.begin(token);
        if self.end.is_some() {
            self.replies.fail(token, ClientError::Closed);
        } else if self.state.has_free_slot() {
            self.state.start(request, values, token, &mut self.queued);
        } else {
            self.replies.fail(token, ClientError::Unprocessed);
        }
        token
    }

    /// Sends the queued requests, and reads at the same time. Stops early if the service closes the connection; its reply says why.
    pub fn send(&mut self, delivery: Delivery, deadline: Instant) -> Result<(), ClientError> {
        self.flush(delivery, deadline)
    }

    /// Waits for the reply to a request.
    pub fn reply(&mut self, token: Token, deadline: Instant) -> Result<Reply, ClientError> {
        loop {
            self.flush(Delivery::Whole, deadline)?;
            if let Some(result) = self.replies.take(token) {
                return result.and_then(|reply| self.reject_tls_required(reply));
            }
            if self.end.is_some() {
                return Err(ClientError::Closed);
            }
            self.read_more(deadline)?;
        }
    }

    /// Waits until a stream has started: the first bytes of the body of a reply with status 200 have arrived.
    pub fn first_data(&mut self, token: Token, deadline: Instant) -> Result<(), ClientError> {
        loop {
            self.flush(Delivery::Whole, deadline)?;
            if self.replies.has_data(token)? {
                return Ok(());
            }
            self.read_more(deadline)?;
        }
    }

    /// Cancels a request. Over HTTP/1.1 that takes effect when the connection is dropped.
    pub fn cancel(&mut self, token: Token, deadline: Instant) -> Result<(), ClientError> {
        self.state.cancel(token, &mut self.queued);
        self.replies.remove(token);
        self.flush(Delivery::Whole, deadline)
    }

    /// Reads until a moment, and sends the answers that the protocol requires.
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

    /// Sends WebSocket frames without checking them.
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
                return Err("only a WebSocket connection has frames".into());
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

    /// Waits until the service ends the connection or sends more.
    pub fn wait_for_end(&mut self, deadline: Instant) -> Result<(), ClientError> {
        while self.end.is_none() && self.unread() == 0 {
            self.read_more(deadline)?;
        }
        Ok(())
    }

    /// Number of received bytes that belong to no reply and no frame.
    pub fn unread(&self) -> usize {
        let frames = match &self.state {
            ProtocolState::WebSocket(frames) => frames.unread(),
            _ => 0,
        };
        self.unexpected + frames
    }

    /// Returns the reply, or an error if it says that the port requires TLS.
    fn reject_tls_required(&self, reply: Reply) -> Result<Reply, ClientError> {
        if self.tls.is_none() && reply.status == 400 {
            let body = String::from_utf8_lossy(&reply.body).to_lowercase();
            if WANTS_TLS.iter().any(|text| body.contains(text)) {
                return Err(SPEAKS_TLS.into());
            }
        }
        Ok(reply)
    }

    /// Writes the queued bytes, and reads at the same time.
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
                self.seal(delivery.write_size(self.queued.len()))?;
            }
            match self.socket.write(&self.wire[self.written..]) {
                Ok(count) => {
                    self.written += count;
                    if delivery == Delivery::SingleBytes {
                        // Lets the service read the byte by itself.
                        std::thread::yield_now();
                    }
                    self.read_available();
                }
                Err(error) if would_block(&error) => {
                    self.socket.wait(true, deadline)?;
                    self.read_available();
                }
                // A service that closes the connection early may have sent the reason, which is read later.
                Err(_) => self.cannot_write = true,
            }
        }
    }

    /// Moves the first queued bytes to the bytes to write.
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

    /// Reads the available bytes, but stops after a number of reads: the caller must check its deadline.
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
                Ok(count) => self.receive(&buffer[..count]),
                Err(error) if would_block(&error) => break,
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

    /// Processes bytes from the socket.
    fn receive(&mut self, bytes: &[u8]) {
        let Some(tls) = &mut self.tls else {
            if std::mem::take(&mut self.is_silent) && bytes.starts_with(&ALERT) {
                return self.fail(SPEAKS_TLS.to_owned());
            }
            return self.receive_plain(bytes);
        };
        let mut plain = std::mem::take(&mut self.plain);
        let unsealed = tls.unseal(bytes, &mut plain, &mut self.wire);
        if !plain.is_empty() {
            self.receive_plain(&plain);
        }
        plain.clear();
        self.plain = plain;
        match unsealed {
            Err(error) => self.fail(error.0),
            Ok(PeerStream::Ended) if self.end.is_none() => self.end_of_stream(true),
            Ok(_) => {}
        }
    }

    fn receive_plain(&mut self, bytes: &[u8]) {
        self.replies.received += bytes.len();
        if let Err(error) = self.state.receive(bytes, &mut self.queued, &mut self.replies) {
            self.unexpected += bytes.len();
            self.fail(error.0.to_owned());
        }
    }

    fn fail(&mut self, reason: String) {
        self.replies.end_all(Some(&reason));
        self.end.get_or_insert(EndOfConnection::Broken(reason));
    }
}

fn would_block(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

fn unreachable(error: LayerError) -> ClientError {
    ClientError::Unreachable(error.0)
}
