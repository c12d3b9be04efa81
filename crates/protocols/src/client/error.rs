//! Why a request has no reply.

use crate::protocol::PrepareError;

/// Why a request has no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// There is no connection.
    #[error("no connection: {0}")]
    Unreachable(String),
    /// The protocol cannot carry the request.
    #[error("the request cannot be sent: {0}")]
    Request(#[from] PrepareError),
    /// The connection ended before the first byte of a reply: on a used connection the service may have closed it rightly.
    #[error("the service closed the connection without a reply")]
    Closed,
    /// The connection ended within a reply.
    #[error("the service closed the connection within a reply, after {0} bytes")]
    Cut(usize),
    /// The connection ended within a body whose length was announced.
    #[error("the body ended after {got} of its Content-Length of {announced} bytes")]
    Short {
        /// Bytes that came.
        got: usize,
        /// Bytes that were announced.
        announced: u64,
    },
    /// The service gave the request up, with this error code of HTTP/2.
    #[error("the service gave the request up (RST_STREAM with error code {0})")]
    Reset(u32),
    /// The service says that it has not begun with the request and takes none on this connection any more.
    #[error("the service takes no further request on the connection")]
    Unprocessed,
    /// The deadline passed.
    #[error("no complete reply in time")]
    TimedOut,
    /// What came breaks a rule of the protocol.
    #[error("{0}")]
    Malformed(String),
}

impl ClientError {
    /// Whether the connection ended.
    pub const fn is_end(&self) -> bool {
        matches!(self, Self::Closed | Self::Cut(_) | Self::Short { .. })
    }

    /// Whether the request may be sent again on another connection: the service has not begun with it.
    pub const fn may_resend(&self) -> bool {
        matches!(self, Self::Closed | Self::Unprocessed)
    }
}

impl From<&'static str> for ClientError {
    fn from(reason: &'static str) -> Self {
        Self::Malformed(reason.to_owned())
    }
}
