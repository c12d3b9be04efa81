//! Makes a single gRPC call outside of a load, to fetch information needed to set one up.

use crate::error::EngineError;
use crate::resolve::peers;
use crate::transport::Peer;
use crate::worker::percent_decoded;
use prony_load::{Protocol, Request, Target};
use prony_protocols::grpc::Grpc;
use prony_protocols::layer::{Layer, LayerError, Plain};
use prony_protocols::protocol::{
    Call, End, Failure, Head, PrepareError, Protocol as _, ProtocolError, ReplySink, Token,
};
use prony_protocols::request_values::Parameters;
use prony_protocols::tls::TlsConfig;
use prony_protocols::tls::session::TlsLayer;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Largest reply, bytes.
const MOST_BYTES: usize = 64 << 20;

/// Why a call returned no message.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No connection could be established.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The service answered with a status other than 0.
    #[error("grpc-status {code} {said}")]
    Status {
        code: u32,
        /// The message of the service.
        said: String,
    },
    /// The connection carried no valid gRPC reply.
    #[error("{0}")]
    Broken(String),
}

impl From<LayerError> for CallError {
    fn from(error: LayerError) -> Self {
        Self::Broken(error.0)
    }
}

impl From<ProtocolError> for CallError {
    fn from(error: ProtocolError) -> Self {
        Self::Broken(error.0.to_owned())
    }
}

impl From<PrepareError> for CallError {
    fn from(error: PrepareError) -> Self {
        Self::Broken(error.to_string())
    }
}

impl From<io::Error> for CallError {
    fn from(error: io::Error) -> Self {
        Self::Broken(match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "it does not reply".to_owned(),
            _ => error.to_string(),
        })
    }
}

/// Makes one unary call and returns its reply message. No single wait is longer than `patience`.
pub fn exchange(target: &Target, request: &Request, patience: Duration) -> Result<Vec<u8>, CallError> {
    let mut unreachable = None;
    for peer in peers(target)? {
        match Stream::connect(&peer, patience) {
            Ok(stream) => return converse(stream, target, request),
            Err(error) => {
                unreachable.get_or_insert(EngineError::Unreachable {
                    address: peer.to_string(),
                    reason: error.to_string(),
                });
            }
        }
    }
    Err(unreachable.expect("invariant: a target has an address").into())
}

fn converse(stream: Stream, target: &Target, request: &Request) -> Result<Vec<u8>, CallError> {
    let Some(tls) = &target.tls else {
        return Conversation::<Plain>::new(stream, &())?.hold(target, request);
    };
    let config = TlsConfig::new(tls, Protocol::Grpc).map_err(|error| EngineError::Tls(error.0))?;
    Conversation::<TlsLayer>::new(stream, &config)?.hold(target, request)
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    fn connect(peer: &Peer, patience: Duration) -> io::Result<Self> {
        Ok(match peer {
            Peer::Inet(address) => {
                let stream = TcpStream::connect_timeout(address, patience)?;
                stream.set_read_timeout(Some(patience))?;
                Self::Tcp(stream)
            }
            Peer::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(patience))?;
                Self::Unix(stream)
            }
        })
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.write_all(bytes),
            Self::Unix(stream) => stream.write_all(bytes),
        }
    }
}

/// A connection with one call.
struct Conversation<L: Layer> {
    stream: Stream,
    layer: L,
    /// Outgoing bytes: in wire format, and before sealing.
    wire: Vec<u8>,
    out: Vec<u8>,
}

impl<L: Layer> Conversation<L> {
    fn new(stream: Stream, config: &L::Config) -> Result<Self, CallError> {
        let (mut layer, mut wire) = (L::new(config)?, Vec::new());
        layer.open(&mut wire)?;
        Ok(Self {
            stream,
            layer,
            wire,
            out: Vec::new(),
        })
    }

    fn hold(mut self, target: &Target, request: &Request) -> Result<Vec<u8>, CallError> {
        let prepared = Grpc::prepare(request, target)?;
        let parameters = Parameters::new(&[], 0);
        let mut shared = Grpc::shared();
        let mut protocol = Grpc::new(&mut shared, 1);
        let mut answer = Answer::default();
        let (mut is_open, mut is_asked) = (false, false);
        let mut plain = Vec::new();
        loop {
            if self.layer.is_established() && !is_open {
                is_open = true;
                protocol.open(&mut shared, &prepared, &mut self.out);
            }
            if is_open && protocol.is_ready() && protocol.places() > 0 && !is_asked {
                is_asked = true;
                let call = Call {
                    token: Token(0),
                    prepared: &prepared,
                    values: parameters.values(0),
                    wants_headers: false,
                    is_last: true,
                };
                protocol.start(&mut shared, &call, &mut self.out);
            }
            self.send()?;
            if let Some(end) = answer.end.take() {
                return end.map(|()| answer.message);
            }
            self.receive(&mut plain)?;
            protocol.receive(&mut shared, &plain, &mut self.out, &mut answer)?;
        }
    }

    fn send(&mut self) -> Result<(), CallError> {
        if !self.out.is_empty() {
            self.layer.seal(&self.out, &mut self.wire)?;
            self.out.clear();
        }
        self.stream.send(&self.wire)?;
        self.wire.clear();
        Ok(())
    }

    fn receive(&mut self, plain: &mut Vec<u8>) -> Result<(), CallError> {
        let mut buffer = [0; 16 * 1024];
        let count = self.stream.read(&mut buffer)?;
        if count == 0 {
            return Err(CallError::Broken(
                "it closes the connection before it replies".to_owned(),
            ));
        }
        plain.clear();
        self.layer.unseal(&buffer[..count], plain, &mut self.wire)?;
        Ok(())
    }
}

/// The reply received so far.
#[derive(Default)]
struct Answer {
    message: Vec<u8>,
    status: u16,
    said: String,
    end: Option<Result<(), CallError>>,
}

impl Answer {
    fn broken(&mut self, reason: String) {
        self.end = Some(Err(CallError::Broken(reason)));
    }
}

impl ReplySink for Answer {
    fn first_byte(&mut self, _: Token) {}

    fn head(&mut self, _: Token, head: Head<'_>) {
        self.status = head.status;
    }

    fn data(&mut self, _: Token, piece: &[u8]) {
        if self.message.len() + piece.len() > MOST_BYTES {
            self.broken("its reply is too long".to_owned());
        } else if self.end.is_none() {
            self.message.extend_from_slice(piece);
        }
    }

    fn grpc_message(&mut self, _: Token, text: &[u8]) {
        self.said = prony_load::excerpt(&percent_decoded(text));
    }

    fn end(&mut self, _: Token, end: End) {
        let said = std::mem::take(&mut self.said);
        self.end.get_or_insert(match end.grpc_status {
            Some(0) => Ok(()),
            Some(code) => Err(CallError::Status { code, said }),
            None => Err(CallError::Broken(format!(
                "it replies with HTTP status {}",
                self.status
            ))),
        });
    }

    fn failed(&mut self, _: Token, failure: Failure) {
        self.broken(match failure {
            Failure::Malformed(reason) => reason.to_owned(),
            Failure::Reset | Failure::Unprocessed => "it cancels the call".to_owned(),
        });
    }
}
