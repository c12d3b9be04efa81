//! What both servers share: the listening socket, the runtime, and the error that closes a connection.

use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{SignalKind, signal};

/// Listen backlog.
const WAITING: u32 = 4096;

pub(crate) fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(WAITING)
}

pub(crate) fn block_on(
    workers: usize,
    work: impl Future<Output = std::io::Result<()>>,
) -> std::io::Result<()> {
    let mut builder = if workers > 1 {
        tokio::runtime::Builder::new_multi_thread()
    } else {
        tokio::runtime::Builder::new_current_thread()
    };
    if workers > 1 {
        builder.worker_threads(workers);
    }
    builder.enable_all().build()?.block_on(work)
}

/// The work of a server, until SIGTERM arrives.
pub(crate) async fn until_terminated(work: impl Future<Output = std::io::Result<()>>) -> std::io::Result<()> {
    let mut terminated = signal(SignalKind::terminate())?;
    tokio::select! {
        ended = work => ended,
        _ = terminated.recv() => Ok(()),
    }
}

/// Returned by a service or a body to make hyper close the connection.
#[derive(Debug, thiserror::Error)]
#[error("closed the connection as requested")]
pub(crate) struct ConnectionClosed;
