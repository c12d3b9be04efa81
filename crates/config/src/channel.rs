//! How clients reach a service: a protocol, in clear or over TLS.

use prony_load::Protocol;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A protocol, in clear on the port of a service, or over TLS on its TLS port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(extend("x-former-values" = { "http": "http1" }))]
pub enum Channel {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2, by prior knowledge.
    Http2,
    /// gRPC over HTTP/2.
    Grpc,
    /// WebSocket over HTTP/1.1.
    #[serde(rename = "websocket")]
    WebSocket,
    /// HTTP/1.1 over TLS.
    Https1,
    /// HTTP/2 over TLS.
    Https2,
}

impl Channel {
    /// All channels, those in clear first.
    pub const ALL: [Self; 6] = [
        Self::Http1,
        Self::Http2,
        Self::Grpc,
        Self::WebSocket,
        Self::Https1,
        Self::Https2,
    ];

    /// The protocol within TLS, if there is TLS.
    pub const fn protocol(self) -> Protocol {
        match self {
            Self::Http1 | Self::Https1 => Protocol::Http1,
            Self::Http2 | Self::Https2 => Protocol::Http2,
            Self::Grpc => Protocol::Grpc,
            Self::WebSocket => Protocol::WebSocket,
        }
    }

    /// Whether it is over TLS.
    pub const fn is_tls(self) -> bool {
        matches!(self, Self::Https1 | Self::Https2)
    }

    /// The same protocol over TLS, if a service can offer that.
    pub const fn over_tls(protocol: Protocol) -> Option<Self> {
        match protocol {
            Protocol::Http1 => Some(Self::Https1),
            Protocol::Http2 => Some(Self::Https2),
            Protocol::Grpc | Protocol::WebSocket => None,
        }
    }

    /// The word in files.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Http1 => "http1",
            Self::Http2 => "http2",
            Self::Https1 => "https1",
            Self::Https2 => "https2",
            Self::Grpc => "grpc",
            Self::WebSocket => "websocket",
        }
    }

    /// The name shown to users.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Https1 => "HTTP/1.1 over TLS",
            Self::Https2 => "HTTP/2 over TLS",
            clear => clear.protocol().title(),
        }
    }
}

impl From<Protocol> for Channel {
    fn from(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Http1 => Self::Http1,
            Protocol::Http2 => Self::Http2,
            Protocol::Grpc => Self::Grpc,
            Protocol::WebSocket => Self::WebSocket,
        }
    }
}

/// A protocol that a service offers in the TLS handshake (ALPN).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TlsProtocol {
    /// HTTP/2.
    #[serde(rename = "h2")]
    H2,
    /// HTTP/1.1.
    #[serde(rename = "http/1.1")]
    Http1,
}

impl TlsProtocol {
    /// The channel that it makes available.
    pub const fn channel(self) -> Channel {
        match self {
            Self::H2 => Channel::Https2,
            Self::Http1 => Channel::Https1,
        }
    }
}
