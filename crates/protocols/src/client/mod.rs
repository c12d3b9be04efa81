//! A small blocking client: the state machines of this crate over a socket and `poll(2)`, for requests outside of a load. It
//! needs no asynchronous runtime.
//!
//! [`Client::connect`] opens a [`Connection`]. [`Connection::start`] queues requests and [`Connection::send`] sends them, so that
//! several can be sent in one packet, or each byte in its own ([`Delivery`]). The client reads while it writes: a service may
//! answer before it has read everything. This folder is the only part of the crate with sockets and a clock.

mod connection;
mod protocol_state;
mod raw_frames;
mod replies;
mod socket;
mod tls_probe;

pub use crate::http1::BodyFraming;
pub use connection::Connection;
pub use raw_frames::{Frame, RawFrame};
pub use replies::{BodyPart, Reply};
pub use tls_probe::{ProbedConnection, ProbedReply, TlsProbe};

use crate::grpc::Grpc;
use crate::http1;
use crate::http2::{self, Http2};
use crate::protocol::{PrepareError, Protocol as _};
use crate::request_values::Parameters;
use crate::tls::TlsConfig;
use crate::websocket;
use prony_load::{Protocol, Request, Target};
use std::time::Instant;

/// Connects to one service with one protocol.
#[derive(Debug, Clone)]
pub struct Client {
    target: Target,
    protocol: Protocol,
    /// Connections share TLS sessions.
    tls: Option<TlsConfig>,
}

/// A request that any connection of the client can send.
#[derive(Debug)]
pub enum PreparedRequest {
    /// Over HTTP/1.1.
    Http1(http1::Http1Request),
    /// Over HTTP/2, including gRPC calls.
    Http2(http2::Http2Request),
    /// The handshake of a WebSocket.
    WebSocket(websocket::WebSocketMessage),
}

impl Client {
    /// Creates a client of this service.
    pub fn new(target: &Target, protocol: Protocol) -> Result<Self, ClientError> {
        let tls = target.tls.as_ref().map(|tls| TlsConfig::new(tls, protocol));
        let tls = tls
            .transpose()
            .map_err(|error| ClientError::Unreachable(error.0))?;
        Ok(Self {
            target: target.clone(),
            protocol,
            tls: tls.map(|config| config.to(target)),
        })
    }

    /// Finds out on one connection whether a service prefers HTTP/2 or HTTP/1.1 (ALPN). Without TLS, it is HTTP/1.1.
    pub fn negotiate(target: &Target, deadline: Instant) -> Result<Protocol, ClientError> {
        let Some(tls) = &target.tls else {
            return Ok(Protocol::Http1);
        };
        let config = TlsConfig::negotiated(tls).map_err(|error| ClientError::Unreachable(error.0))?;
        let client = Self {
            target: target.clone(),
            protocol: Protocol::Http1,
            tls: Some(config.to(target)),
        };
        Connection::negotiate(&client, deadline)
    }

    /// The protocol of all connections.
    pub const fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Opens a connection, and makes it ready for requests.
    pub fn connect(&self, deadline: Instant) -> Result<Connection, ClientError> {
        Connection::open(self, deadline)
    }

    /// Prepares a request. Placeholders of its templates refer to slots of captured values.
    pub fn prepare(&self, request: &Request, framing: BodyFraming) -> Result<PreparedRequest, ClientError> {
        Ok(match self.protocol {
            Protocol::Http1 => {
                PreparedRequest::Http1(http1::Http1Request::framed(request, &self.target, framing)?)
            }
            Protocol::Http2 => PreparedRequest::Http2(Http2::prepare(request, &self.target)?),
            Protocol::Grpc => PreparedRequest::Http2(Grpc::prepare(request, &self.target)?),
            Protocol::WebSocket => {
                PreparedRequest::WebSocket(websocket::WebSocketMessage::for_handshake(request, &self.target)?)
            }
        })
    }

    /// Sends one request without placeholders on a new connection, and waits for the reply.
    pub fn ask(&self, request: &Request, deadline: Instant) -> Result<Reply, ClientError> {
        let request = self.prepare(request, BodyFraming::Length)?;
        let mut connection = self.connect(deadline)?;
        let token = connection.start(&request, Parameters::new(&[], 0).values(0));
        connection.reply(token, deadline)
    }
}

/// How queued bytes are split into writes. Nagle's algorithm is off, so each write is sent at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// As few writes as possible: several requests are sent in one packet if they fit.
    Whole,
    /// One write for each byte; with TLS, one record for each byte.
    SingleBytes,
}

impl Delivery {
    /// Number of queued bytes that are sealed and written at once.
    const fn write_size(self, queued: usize) -> usize {
        match self {
            Self::SingleBytes if queued > 1 => 1,
            Self::Whole | Self::SingleBytes => queued,
        }
    }
}

/// Why a request has no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// Connecting failed.
    #[error("no connection: {0}")]
    Unreachable(String),
    /// The protocol cannot carry the request.
    #[error("the request cannot be sent: {0}")]
    Request(#[from] PrepareError),
    /// The connection ended before the first byte of a reply. A service may do that to a connection that was idle.
    #[error("the service closed the connection without a reply")]
    Closed,
    /// The connection ended within a reply.
    #[error("the service closed the connection within a reply, after {0} bytes")]
    Cut(usize),
    /// The connection ended within a body with a `Content-Length`.
    #[error("the body ended after {got} of its Content-Length of {announced} bytes")]
    Short {
        /// Received bytes.
        got: usize,
        /// The `Content-Length`.
        announced: u64,
    },
    /// The service cancelled the request with this HTTP/2 error code.
    #[error("the service gave the request up (RST_STREAM with error code {0})")]
    Reset(u32),
    /// The service reports that it has not started the request, and accepts no more requests on the connection.
    #[error("the service takes no further request on the connection")]
    Unprocessed,
    /// The deadline passed.
    #[error("no complete reply in time")]
    TimedOut,
    /// The received data breaks a rule of the protocol.
    #[error("{0}")]
    Malformed(String),
}

impl ClientError {
    /// Whether the connection ended.
    pub const fn is_end(&self) -> bool {
        matches!(self, Self::Closed | Self::Cut(_) | Self::Short { .. })
    }

    /// Whether the request may be sent again on another connection, because the service has not started it.
    pub const fn may_resend(&self) -> bool {
        matches!(self, Self::Closed | Self::Unprocessed)
    }
}

impl From<&'static str> for ClientError {
    fn from(reason: &'static str) -> Self {
        Self::Malformed(reason.to_owned())
    }
}

#[cfg(test)]
mod tests;
