//! What a request goes through: a TCP connection, and TLS on it where the URL is https.

use super::exchange::{Answer, Fault};
use prony_load::{Protocol, Target};
use prony_protocols::tls::{SPEAKS_TLS, TlsConfig, TlsError, explain_io};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Time for a handshake: who speaks no TLS may wait for more of what it takes for a request.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// What an alert of TLS begins with: its type, and the first half of the version.
const ALERT: [u8; 2] = [21, 3];

/// What servers say to who speaks HTTP/1.1 without TLS on a port of TLS: nginx, Go, Apache.
const SAID: [&str; 3] = [
    "plain http request was sent to https port",
    "http request to an https server",
    "plain http to an ssl-enabled server port",
];

/// Where the service is, and how connections to it are made.
#[derive(Clone)]
pub(super) struct Endpoint {
    target: Arc<Target>,
    tls: Option<Result<TlsConfig, TlsError>>,
}

impl Endpoint {
    pub(super) fn new(target: &Target, protocol: Protocol) -> Self {
        let tls = target.tls.as_ref();
        Self {
            target: Arc::new(target.clone()),
            tls: tls.map(|tls| TlsConfig::new(tls, protocol)),
        }
    }

    pub(super) fn authority(&self) -> &str {
        &self.target.authority
    }

    /// `http` or `https`.
    pub(super) fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    pub(super) async fn connect(&self) -> Result<Stream, Fault> {
        let unreachable = |error: io::Error| Fault::Unreachable(error.to_string());
        let tcp = TcpStream::connect((self.target.host.as_str(), self.target.port))
            .await
            .map_err(unreachable)?;
        tcp.set_nodelay(true).map_err(unreachable)?;
        match &self.tls {
            None => Ok(Stream::Plain(tcp, Heard::default())),
            Some(Ok(config)) => handshake(config, tcp).await.map(Stream::Tls),
            Some(Err(error)) => Err(Fault::Unreachable(error.to_string())),
        }
    }
}

async fn handshake(config: &TlsConfig, tcp: TcpStream) -> Result<Box<TlsStream<TcpStream>>, Fault> {
    let connector = TlsConnector::from(Arc::clone(config.client()));
    let shaken = timeout(HANDSHAKE, connector.connect(config.server_name().clone(), tcp)).await;
    let stream = match shaken {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return Err(Fault::Unreachable(explain_io(&error).to_string())),
        Err(_) => {
            return Err(Fault::Unreachable(format!(
                "TLS: no end of the handshake within {HANDSHAKE:?}: does the service speak TLS on this port?"
            )));
        }
    };
    let agreed = stream.get_ref().1.alpn_protocol();
    let will_do = config.wanted().agrees(agreed);
    will_do.map_err(|error| Fault::Unreachable(error.to_string()))?;
    Ok(Box::new(stream))
}

/// Whether what came first on a connection without TLS was TLS.
#[derive(Debug, Clone, Default)]
pub(super) struct Heard(Arc<OnceLock<bool>>);

impl Heard {
    fn hear(&self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.0.get_or_init(|| bytes.starts_with(&ALERT));
        }
    }

    /// The fault, or the reason for it: the service wants TLS.
    pub(super) fn explain(&self, fault: Fault) -> Fault {
        match self.0.get() {
            Some(true) => Fault::malformed(SPEAKS_TLS),
            _ => fault,
        }
    }
}

/// A connection.
pub(super) enum Stream {
    Plain(TcpStream, Heard),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// What is heard on it.
    pub(super) fn heard(&self) -> Heard {
        match self {
            Self::Plain(_, heard) => heard.clone(),
            Self::Tls(_) => Heard::default(),
        }
    }

    /// A reply, unless it says that the service wants TLS.
    pub(super) fn heeded(&self, answer: Answer) -> Result<Answer, Fault> {
        let says = || {
            let body = String::from_utf8_lossy(&answer.body).to_lowercase();
            SAID.iter().any(|said| body.contains(said))
        };
        match self {
            Self::Plain(..) if answer.status == 400 && says() => Err(Fault::malformed(SPEAKS_TLS)),
            _ => Ok(answer),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Plain(stream, heard) => {
                let before = buffer.filled().len();
                let polled = Pin::new(stream).poll_read(context, buffer);
                heard.hear(&buffer.filled()[before..]);
                polled
            }
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Plain(stream, _) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
            Self::Plain(stream, _) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Plain(stream, _) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
