//! A small client that blocks: the state machines of this crate over a socket and `poll(2)`, for whatever is asked of a service
//! outside of a load. It needs no asynchronous runtime.
//!
//! [`Client::connect`] gives a [`Connection`]. Requests are queued by [`Connection::start`] and sent by [`Connection::send`], so
//! that several can leave in one packet, or each byte alone ([`Delivery`]). It reads while it writes: a service may answer
//! before it has read everything. This folder is the only place of the crate with sockets and a clock.

mod connection;
mod delivery;
mod error;
mod protocol_state;
mod raw_frames;
mod replies;
mod socket;

pub use crate::http1::BodyFraming;
pub use connection::Connection;
pub use delivery::Delivery;
pub use error::ClientError;
pub use raw_frames::{Frame, RawFrame};
pub use replies::{BodyPart, Reply};

use crate::grpc::Grpc;
use crate::http1;
use crate::http2::{self, Http2};
use crate::protocol::Protocol as _;
use crate::request_values::Parameters;
use crate::tls::TlsConfig;
use crate::websocket;
use prony_load::{Protocol, Request, Target};
use std::time::Instant;

/// Where a service is, what is spoken with it, and how.
#[derive(Debug, Clone)]
pub struct Client {
    target: Target,
    protocol: Protocol,
    /// Connections share what is remembered of TLS sessions.
    tls: Option<TlsConfig>,
}

/// A request as all connections of a client send it.
#[derive(Debug)]
pub enum PreparedRequest {
    /// Over HTTP/1.1.
    Http1(http1::Http1Request),
    /// Over HTTP/2, a call of gRPC among them.
    Http2(http2::Http2Request),
    /// For the handshake of a WebSocket.
    WebSocket(websocket::WebSocketMessage),
}

impl Client {
    /// A client of this service.
    pub fn new(target: &Target, protocol: Protocol) -> Result<Self, ClientError> {
        let tls = target.tls.as_ref().map(|tls| TlsConfig::new(tls, protocol));
        let tls = tls
            .transpose()
            .map_err(|error| ClientError::Unreachable(error.0))?;
        Ok(Self {
            target: target.clone(),
            protocol,
            tls,
        })
    }

    /// What is spoken.
    pub const fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Opens a connection, and makes it ready for requests.
    pub fn connect(&self, deadline: Instant) -> Result<Connection, ClientError> {
        Connection::open(self, deadline)
    }

    /// Prepares a request. A place of its templates is a slot of what earlier replies gave.
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

    /// Sends one request without places on a connection of its own, and waits for the reply.
    pub fn ask(&self, request: &Request, deadline: Instant) -> Result<Reply, ClientError> {
        let request = self.prepare(request, BodyFraming::Length)?;
        let mut connection = self.connect(deadline)?;
        let token = connection.start(&request, Parameters::new(&[], 0).values(0));
        connection.reply(token, deadline)
    }
}

#[cfg(test)]
mod tests;
