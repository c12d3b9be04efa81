use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use hyper::body::{Body, Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio_rustls::TlsAcceptor;

/// What requests in flight get to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// As long as hyper waits for the head of a request.
const LONGEST_HANDSHAKE: Duration = Duration::from_secs(30);

/// Hundreds of connections may come at the same moment; tokio's own queue holds 128.
const BACKLOG: u32 = 4096;

/// Serves HTTP/1.1 until SIGTERM; at the address with TLS, if there is one, HTTP/2 and HTTP/1.1.
pub async fn run<S, B>(address: &str, tls: Option<(String, TlsAcceptor)>, service: S) -> io::Result<()>
where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let clear = listen(address)?;
    let secure = tls
        .map(|(address, acceptor)| Ok::<_, io::Error>((listen(&address)?, acceptor)))
        .transpose()?;
    let connections = GracefulShutdown::new();
    let mut term = signal(SignalKind::terminate())?;
    loop {
        tokio::select! {
            stream = accept(&clear) => {
                let connection = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .serve_connection(TokioIo::new(stream), service.clone());
                tokio::spawn(connections.watch(connection));
            }
            (stream, acceptor) = accept_secure(secure.as_ref()) => {
                tokio::spawn(serve_secure(stream, acceptor, service.clone(), connections.watcher()));
            }
            _ = term.recv() => break,
        }
    }
    let _ = tokio::time::timeout(GRACE, connections.shutdown()).await;
    Ok(())
}

async fn serve_secure<S, B>(stream: TcpStream, acceptor: TlsAcceptor, service: S, connections: Watcher)
where
    S: Service<Request<Incoming>, Response = Response<B>> + Send + 'static,
    S::Future: Send,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let handshake = tokio::time::timeout(LONGEST_HANDSHAKE, acceptor.accept(stream));
    let Ok(Ok(stream)) = handshake.await else { return };
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new());
    builder.http2().timer(TokioTimer::new());
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let _ = connections.watch(connection.into_owned()).await;
}

async fn accept_secure(secure: Option<&(TcpListener, TlsAcceptor)>) -> (TcpStream, TlsAcceptor) {
    match secure {
        Some((listener, acceptor)) => (accept(listener).await, acceptor.clone()),
        None => std::future::pending().await,
    }
}

async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            // Small replies leave at once.
            let _ = stream.set_nodelay(true);
            return stream;
        }
        // Out of file descriptors: some connections must end first.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn listen(address: &str) -> io::Result<TcpListener> {
    let address: SocketAddr = address.parse().map_err(io::Error::other)?;
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
