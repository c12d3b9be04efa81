use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use hyper::body::{Body, Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{SignalKind, signal};

/// What requests in flight get to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// Hundreds of connections may come at the same moment; tokio's own queue holds 128.
const BACKLOG: u32 = 4096;

/// Serves HTTP/1.1 until SIGTERM.
pub async fn run<S, B>(address: &str, service: S) -> io::Result<()>
where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let listener = listen(address)?;
    let connections = GracefulShutdown::new();
    let mut term = signal(SignalKind::terminate())?;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = term.recv() => break,
        };
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors: some connections must end first.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        // Small replies leave at once.
        let _ = stream.set_nodelay(true);
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .serve_connection(TokioIo::new(stream), service.clone());
        tokio::spawn(connections.watch(connection));
    }
    let _ = tokio::time::timeout(GRACE, connections.shutdown()).await;
    Ok(())
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
