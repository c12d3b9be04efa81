//! TLS 1.2 and 1.3 between bytes and protocol, with rustls and without sockets.
//!
//! All connections of a job share one [`TlsConfig`], so that a later one resumes the session of an earlier one where
//! the service allows it, as a returning client does. rustls allocates memory for each record; these are the only
//! allocations during a load.

use crate::layer::{AgreedParameters, Layer, LayerError, PeerStream};
use crate::tls::tunnel::Tunnel;
use crate::tls::{RequiredAlpn, TlsConfig, TlsError, explain};
use rustls::client::UnbufferedClientConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, InsufficientSizeError};
use std::sync::Arc;

/// Maximum number of bytes that sealing adds to a record (RFC 8446, section 5.2: header, type, tag; TLS 1.2: header,
/// nonce, tag).
const RECORD_OVERHEAD: usize = 40;
const LARGEST_RECORD: usize = 16_384;

/// TLS on one connection.
pub struct TlsLayer {
    connection: UnbufferedClientConnection,
    /// Bytes from the peer that do not form a whole record yet.
    incoming: Vec<u8>,
    wanted: RequiredAlpn,
    is_established: bool,
    /// Whether the peer's `close_notify` has arrived.
    is_closed_by_peer: bool,
    /// Whether ours must still be sent in response.
    owes_close_notify: bool,
    /// The way through a proxy, until it is open.
    tunnel: Option<Box<Tunnel>>,
}

impl Layer for TlsLayer {
    type Config = TlsConfig;
    const IDENTITY: bool = false;

    fn new(config: &TlsConfig) -> Result<Self, LayerError> {
        let connection =
            UnbufferedClientConnection::new(Arc::clone(config.client()), config.server_name().clone())
                .map_err(|error| explain(&error))?;
        Ok(Self {
            connection,
            incoming: Vec::new(),
            wanted: config.wanted(),
            is_established: false,
            is_closed_by_peer: false,
            owes_close_notify: false,
            tunnel: config
                .connect
                .as_ref()
                .map(|request| Box::new(Tunnel::new(request))),
        })
    }

    fn open(&mut self, wire: &mut Vec<u8>) -> Result<(), LayerError> {
        match &self.tunnel {
            Some(tunnel) => {
                tunnel.open(wire);
                Ok(())
            }
            None => self.advance(&mut Vec::new(), wire),
        }
    }

    fn is_established(&self) -> bool {
        self.is_established
    }

    fn is_resumed(&self) -> bool {
        self.connection.handshake_kind() == Some(rustls::HandshakeKind::Resumed)
    }

    fn agreed(&self) -> Option<AgreedParameters> {
        let (version, cipher_suite) = self.parameters()?;
        let group = self.connection.negotiated_key_exchange_group();
        Some(AgreedParameters {
            version,
            cipher_suite,
            key_exchange: group.map(|group| format!("{:?}", group.name())),
            protocol: self
                .connection
                .alpn_protocol()
                .map(|name| String::from_utf8_lossy(name).into_owned()),
        })
    }

    fn unseal(
        &mut self,
        from_peer: &[u8],
        plain: &mut Vec<u8>,
        wire: &mut Vec<u8>,
    ) -> Result<PeerStream, LayerError> {
        if self.tunnel.is_some() {
            return self.receive_from_proxy(from_peer, plain, wire);
        }
        // Data after a closure alert must be ignored (RFC 8446, section 6.1).
        if !self.is_closed_by_peer {
            self.incoming.extend_from_slice(from_peer);
            self.advance(plain, wire)?;
        }
        Ok(if self.is_closed_by_peer {
            PeerStream::Ended
        } else {
            PeerStream::Open
        })
    }

    fn seal(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> Result<(), LayerError> {
        let records = plain.len().div_ceil(LARGEST_RECORD);
        let room = plain.len() + records * RECORD_OVERHEAD;
        loop {
            // No new data has arrived, so there is nothing to discard.
            match self.connection.process_tls_records(&mut self.incoming).state {
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    return write_into(wire, room, |room| {
                        traffic.encrypt(plain, room).map_err(|error| match error {
                            EncryptError::InsufficientSize(size) => WriteError::Room(size),
                            EncryptError::EncryptExhausted => {
                                WriteError::Error("the keys of the connection are exhausted")
                            }
                        })
                    });
                }
                Ok(ConnectionState::EncodeTlsData(mut data)) => encode(&mut data, wire)?,
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(ConnectionState::PeerClosed) => self.peer_closed(),
                Ok(_) => return Err(LayerError("the TLS connection accepts no more data".into())),
                Err(error) => return Err(explain(&error).into()),
            }
        }
    }
}

impl TlsLayer {
    /// The protocol that both sides agreed on (ALPN).
    pub fn agreed_protocol(&self) -> Option<&[u8]> {
        self.connection.alpn_protocol()
    }

    /// The version and the cipher suite, once they are known, as rustls names them.
    pub fn parameters(&self) -> Option<(String, String)> {
        let version = self.connection.protocol_version()?;
        let suite = self.connection.negotiated_cipher_suite()?;
        Some((format!("{version:?}"), format!("{:?}", suite.suite())))
    }

    /// The reply of a proxy to CONNECT; the handshake follows.
    #[cold]
    fn receive_from_proxy(
        &mut self,
        bytes: &[u8],
        plain: &mut Vec<u8>,
        wire: &mut Vec<u8>,
    ) -> Result<PeerStream, LayerError> {
        let Some(rest) = self
            .tunnel
            .as_mut()
            .map(|tunnel| tunnel.receive(bytes))
            .transpose()?
            .flatten()
        else {
            return Ok(PeerStream::Open);
        };
        self.tunnel = None;
        self.advance(plain, wire)?;
        if rest.is_empty() {
            return Ok(PeerStream::Open);
        }
        self.unseal(&rest, plain, wire)
    }

    const fn peer_closed(&mut self) {
        self.is_closed_by_peer = true;
        self.owes_close_notify = true;
    }

    /// Processes all complete records.
    fn advance(&mut self, plain: &mut Vec<u8>, wire: &mut Vec<u8>) -> Result<(), LayerError> {
        let mut begin = 0;
        loop {
            let status = self.connection.process_tls_records(&mut self.incoming[begin..]);
            let mut discard = status.discard;
            let mut idle = false;
            match status.state.map_err(|error| explain(&error))? {
                ConnectionState::ReadTraffic(mut traffic) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record.map_err(|error| explain(&error))?;
                        plain.extend_from_slice(record.payload);
                        discard += record.discard;
                    }
                }
                ConnectionState::EncodeTlsData(mut data) => encode(&mut data, wire)?,
                ConnectionState::TransmitTlsData(data) => data.done(),
                ConnectionState::PeerClosed => self.peer_closed(),
                ConnectionState::WriteTraffic(mut traffic) => {
                    idle = true;
                    // Some peers close the connection only after their close_notify is answered.
                    if std::mem::take(&mut self.owes_close_notify) {
                        write_into(wire, RECORD_OVERHEAD, |room| {
                            traffic.queue_close_notify(room).map_err(|error| match error {
                                EncryptError::InsufficientSize(size) => WriteError::Room(size),
                                EncryptError::EncryptExhausted => {
                                    WriteError::Error("the keys of the connection are exhausted")
                                }
                            })
                        })?;
                    }
                }
                _ => idle = true,
            }
            begin += discard;
            if idle {
                break;
            }
        }
        self.incoming.drain(..begin);
        if !self.is_established && !self.connection.is_handshaking() {
            self.wanted.agrees(self.connection.alpn_protocol())?;
            self.is_established = true;
        }
        Ok(())
    }
}

impl std::fmt::Debug for TlsLayer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("TlsLayer")
            .field("is_established", &self.is_established)
            .finish_non_exhaustive()
    }
}

enum WriteError {
    Room(InsufficientSizeError),
    Error(&'static str),
}

/// Lets `write` fill up to `room` bytes at the end of `wire`, and provides more if it needs more.
fn write_into(
    wire: &mut Vec<u8>,
    mut room: usize,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, WriteError>,
) -> Result<(), LayerError> {
    let begin = wire.len();
    loop {
        wire.resize(begin + room, 0);
        match write(&mut wire[begin..]) {
            Ok(written) => {
                wire.truncate(begin + written);
                return Ok(());
            }
            Err(WriteError::Room(size)) => room = size.required_size,
            Err(WriteError::Error(reason)) => return Err(LayerError(reason.into())),
        }
    }
}

fn encode(
    data: &mut rustls::unbuffered::EncodeTlsData<'_, rustls::client::ClientConnectionData>,
    wire: &mut Vec<u8>,
) -> Result<(), LayerError> {
    write_into(wire, 1024, |room| {
        data.encode(room).map_err(|error| match error {
            EncodeError::InsufficientSize(size) => WriteError::Room(size),
            EncodeError::AlreadyEncoded => WriteError::Error("a handshake record was sent twice"),
        })
    })
}

impl From<TlsError> for LayerError {
    fn from(error: TlsError) -> Self {
        Self(error.0)
    }
}

#[cfg(test)]
mod tests;
