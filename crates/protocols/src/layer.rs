//! What stands between the bytes of a connection and its protocol: nothing, or TLS. Without sockets as well.

/// The layer cannot go on; the connection ends.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LayerError(pub String);

/// The state of one connection between transport and protocol.
pub trait Layer: Sized {
    /// What all connections of a job share.
    type Config: Clone + Send + 'static;

    /// Whether bytes pass unchanged: then the worker skips the layer, and nothing is copied.
    const IDENTITY: bool;

    /// The state of a new connection.
    fn new(config: &Self::Config) -> Result<Self, LayerError>;

    /// The TCP connection is up: what is sent first.
    fn open(&mut self, wire: &mut Vec<u8>) -> Result<(), LayerError>;

    /// Whether the protocol may speak: the handshake is over, and it agreed on the protocol that was asked for.
    fn is_established(&self) -> bool;

    /// Whether an earlier session was resumed, once it is established.
    fn is_resumed(&self) -> bool {
        false
    }

    /// Whether the peer has said that it sends no more, so that the end of the connection is no accident.
    fn is_closed_by_peer(&self) -> bool {
        true
    }

    /// Takes bytes from the peer. Appends the plain bytes that they give to `plain`, and what must be sent in answer to
    /// `wire`.
    fn unseal(&mut self, from_peer: &[u8], plain: &mut Vec<u8>, wire: &mut Vec<u8>)
    -> Result<(), LayerError>;

    /// Appends the sealed form of `plain` to `wire`.
    fn seal(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> Result<(), LayerError>;
}

/// No layer: plain TCP.
#[derive(Debug, Clone, Copy)]
pub struct Plain;

impl Layer for Plain {
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

    fn unseal(&mut self, from_peer: &[u8], plain: &mut Vec<u8>, _: &mut Vec<u8>) -> Result<(), LayerError> {
        plain.extend_from_slice(from_peer);
        Ok(())
    }

    fn seal(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> Result<(), LayerError> {
        wire.extend_from_slice(plain);
        Ok(())
    }
}
