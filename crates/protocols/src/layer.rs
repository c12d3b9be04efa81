//! The layer between the bytes of a connection and its protocol: none, or TLS. It opens no sockets either.

/// The layer cannot continue; the connection ends.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LayerError(pub String);

/// Whether the peer may still send on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerStream {
    /// More data may follow.
    Open,
    /// The peer has announced the end of its data (TLS: `close_notify`). The caller must treat this like the end of the
    /// TCP stream and must not wait for the peer to close the socket.
    Ended,
}

/// What both sides of a layer agreed on, by the names of the registry of TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgreedParameters {
    /// The version.
    pub version: String,
    /// The cipher suite.
    pub cipher_suite: String,
    /// The group of the key exchange; `None` if an old session was resumed without one.
    pub key_exchange: Option<String>,
    /// The protocol (ALPN), if the peer selected one.
    pub protocol: Option<String>,
}

/// State of one connection between transport and protocol.
pub trait Layer: Sized {
    /// Configuration that all connections of a job share.
    type Config: Clone + Send + 'static;

    /// Whether bytes pass unchanged. The worker then skips the layer, and nothing is copied. Without a layer, the end of
    /// the TCP stream is the only end there is. With one, a TCP stream that ends before [`PeerStream::Ended`] may have been
    /// truncated.
    const IDENTITY: bool;

    /// Creates the state of a new connection.
    fn new(config: &Self::Config) -> Result<Self, LayerError>;

    /// The TCP connection is up: appends the bytes to send first.
    fn open(&mut self, wire: &mut Vec<u8>) -> Result<(), LayerError>;

    /// Whether the protocol may start: the handshake is complete and both sides agreed on the requested protocol.
    fn is_established(&self) -> bool;

    /// Whether an earlier session was resumed; valid once the connection is established.
    fn is_resumed(&self) -> bool {
        false
    }

    /// What both sides agreed on; valid once the connection is established.
    fn agreed(&self) -> Option<AgreedParameters> {
        None
    }

    /// Processes bytes from the peer. Appends the decrypted bytes to `plain`, and bytes that must be sent in response
    /// to `wire`. Everything after [`PeerStream::Ended`] is ignored.
    fn unseal(
        &mut self,
        from_peer: &[u8],
        plain: &mut Vec<u8>,
        wire: &mut Vec<u8>,
    ) -> Result<PeerStream, LayerError>;

    /// Encrypts `plain` and appends the result to `wire`.
    fn seal(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> Result<(), LayerError>;
}

/// Plain TCP, without a layer.
#[derive(Debug, Clone, Copy)]
pub struct PlainTcp;

impl Layer for PlainTcp {
    type Config = ();
    const IDENTITY: bool = true;

    fn new((): &()) -> Result<Self, LayerError> {
        Ok(Self)
    }

    fn open(&mut self, _: &mut Vec<u8>) -> Result<(), LayerError> {
        Ok(())
    }

    fn is_established(&self) -> bool {
        true
    }

    fn unseal(
        &mut self,
        from_peer: &[u8],
        plain: &mut Vec<u8>,
        _: &mut Vec<u8>,
    ) -> Result<PeerStream, LayerError> {
        plain.extend_from_slice(from_peer);
        Ok(PeerStream::Open)
    }

    fn seal(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> Result<(), LayerError> {
        wire.extend_from_slice(plain);
        Ok(())
    }
}
