//! A TLS connection that shows what a server agrees to: any offer of protocols (ALPN), the certificates as they were sent, resumption
//! and early data. The requests of a check or a load never use it.

use super::ClientError;
use crate::tls::{TlsConfig, explain_io};
use prony_load::Target;
use rustls::{ClientConfig, ClientConnection, HandshakeKind, ProtocolVersion, StreamOwned};
use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

/// The longest reply to a probe, bytes.
const LONGEST_REPLY: u64 = 1 << 20;

/// Opens connections with one offer. They resume each other's sessions.
#[derive(Debug)]
pub struct TlsProbe {
    target: Target,
    config: TlsConfig,
    client: Arc<ClientConfig>,
    timeout: Duration,
}

/// A connection after its handshake.
#[derive(Debug)]
pub struct ProbedConnection {
    stream: StreamOwned<ClientConnection, TcpStream>,
}

/// The bytes of a reply, and how the connection ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbedReply {
    pub bytes: Vec<u8>,
    /// Whether the server announced the end (`close_notify`).
    pub is_closed_cleanly: bool,
}

impl TlsProbe {
    /// Offers these protocols, in this order; none: without the extension.
    pub fn new(target: &Target, offered: &[&'static [u8]], timeout: Duration) -> Result<Self, ClientError> {
        let tls = target
            .tls
            .as_ref()
            .ok_or_else(|| ClientError::Unreachable("the service has no TLS".to_owned()))?;
        let config = TlsConfig::offering(tls, offered).map_err(|error| ClientError::Unreachable(error.0))?;
        let mut client = ClientConfig::clone(config.client());
        // Whether a server takes requests that an attacker can repeat.
        client.enable_early_data = true;
        Ok(Self {
            target: target.clone(),
            client: Arc::new(client),
            config,
            timeout,
        })
    }

    /// Connects, and completes the handshake.
    pub fn connect(&self) -> Result<ProbedConnection, ClientError> {
        let connection = ClientConnection::new(Arc::clone(&self.client), self.config.server_name().clone())
            .map_err(|error| ClientError::Unreachable(error.to_string()))?;
        let socket = self
            .socket()
            .map_err(|error| ClientError::Unreachable(error.to_string()))?;
        let mut stream = StreamOwned::new(connection, socket);
        while stream.conn.is_handshaking() {
            let progress = stream.conn.complete_io(&mut stream.sock);
            progress.map_err(|error| ClientError::Unreachable(explain_io(&error).0))?;
        }
        Ok(ProbedConnection { stream })
    }

    fn socket(&self) -> io::Result<TcpStream> {
        let (host, port) = self.target.peer();
        let mut refused = io::Error::other("the name has no address");
        for address in (host, port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, self.timeout) {
                Ok(socket) => {
                    socket.set_read_timeout(Some(self.timeout))?;
                    socket.set_write_timeout(Some(self.timeout))?;
                    socket.set_nodelay(true)?;
                    return Ok(socket);
                }
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }
}

impl ProbedConnection {
    /// The protocol that the server selected (ALPN).
    pub fn agreed(&self) -> Option<&[u8]> {
        self.stream.conn.alpn_protocol()
    }

    /// Whether TLS 1.3 is in use.
    pub fn is_tls13(&self) -> bool {
        self.stream.conn.protocol_version() == Some(ProtocolVersion::TLSv1_3)
    }

    /// The certificates that the server sent, DER. A resumed session has those of the first.
    pub fn certificates(&self) -> Vec<Vec<u8>> {
        let sent = self.stream.conn.peer_certificates().unwrap_or_default();
        sent.iter().map(|certificate| certificate.to_vec()).collect()
    }

    /// Whether an earlier session was resumed.
    pub fn is_resumed(&self) -> bool {
        self.stream.conn.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// Whether the server accepted early data (0-RTT).
    pub fn takes_early_data(&self) -> bool {
        self.stream.conn.is_early_data_accepted()
    }

    fn send(&mut self, request: &[u8]) -> Result<(), ClientError> {
        let sent = self.stream.write_all(request).and_then(|()| self.stream.flush());
        sent.map_err(|_| ClientError::Closed)
    }

    /// Sends bytes and reads this many bytes of the reply, or fewer if there are no more.
    pub fn begin_of_reply(&mut self, request: &[u8], count: u64) -> Result<Vec<u8>, ClientError> {
        self.send(request)?;
        let mut bytes = Vec::new();
        let _ = (&mut self.stream).take(count).read_to_end(&mut bytes);
        Ok(bytes)
    }

    /// Sends bytes and reads until the connection ends, or the timeout.
    pub fn exchange(&mut self, request: &[u8]) -> Result<ProbedReply, ClientError> {
        self.send(request)?;
        let mut bytes = Vec::new();
        let ended = (&mut self.stream).take(LONGEST_REPLY).read_to_end(&mut bytes);
        Ok(ProbedReply {
            bytes,
            is_closed_cleanly: ended.is_ok(),
        })
    }
}
