//! The backend of the relay contract: replies with 204 after a delay and describes the request it received.
//!
//! Delays of concurrent requests overlap, since each waits on a timer: this crate must never block a thread. Every reply carries
//! the digest of its request ([`prony_config::contract::digest`]). Some paths reply differently for the cases of a check;
//! `docs/CONTRACTS.md` lists them. Start at [`run`].

pub mod files;
mod reply;

use reply::Reply;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// Listen backlog.
const WAITING: u32 = 4096;
/// Maximum number of request headers: enough for a case with many headers plus those that a relay adds.
const HEADERS: usize = 200;
/// Time for the reply that announces an absence to be sent before connections close.
const FAREWELL: Duration = Duration::from_millis(20);

/// A backend within this process, for checks. It stops when dropped.
#[derive(Debug)]
pub struct Backend {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Backend {
    /// Starts a backend on a free loopback port.
    pub fn start(delay: Duration) -> std::io::Result<Self> {
        let (stop, stopped) = oneshot::channel();
        let (ready, bound) = channel();
        let refused = ready.clone();
        let thread = std::thread::Builder::new()
            .name("backend".into())
            .spawn(move || {
                let listens = |address| {
                    let _ = ready.send(Ok(address));
                };
                let work = serve((Ipv4Addr::LOCALHOST, 0).into(), delay, &listens);
                let ended = block_on(1, async {
                    tokio::select! {
                        ended = work => ended,
                        _ = stopped => Ok(()),
                    }
                });
                if let Err(error) = ended {
                    let _ = refused.send(Err(error));
                }
            })?;
        let address = bound
            .recv()
            .expect("invariant: the thread sends its address or its error")?;
        Ok(Self {
            address,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// The URL that it listens on, in the format of `BACKEND_URL`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Serves with `workers` threads until SIGTERM arrives. Calls `ready` with the address it listens on; port 0 picks a free port.
pub fn run(
    address: SocketAddr,
    delay: Duration,
    workers: usize,
    // Not generic: generic code is compiled in the calling crate, without the optimisation level of this one.
    ready: &dyn Fn(SocketAddr),
) -> std::io::Result<()> {
    block_on(workers, async {
        let mut terminated = signal(SignalKind::terminate())?;
        tokio::select! {
            ended = serve(address, delay, ready) => ended,
            _ = terminated.recv() => Ok(()),
        }
    })
}

fn block_on(workers: usize, work: impl Future<Output = std::io::Result<()>>) -> std::io::Result<()> {
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

async fn serve(address: SocketAddr, delay: Duration, ready: &dyn Fn(SocketAddr)) -> std::io::Result<()> {
    let mut listener = bind(address)?;
    let address = listener.local_addr()?;
    ready(address);
    let (away, mut absences) = mpsc::unbounded_channel::<Duration>();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                // Either this connection failed, or no file descriptor is free at the moment.
                let Ok((stream, _)) = accepted else {
                    tokio::time::sleep(FAREWELL).await;
                    continue;
                };
                let _ = stream.set_nodelay(true);
                connections.spawn(connection(stream, delay, away.clone()));
            }
            Some(absence) = absences.recv() => {
                tokio::time::sleep(FAREWELL).await;
                drop(listener);
                connections.shutdown().await;
                tokio::time::sleep(absence).await;
                listener = bind(address)?;
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(WAITING)
}

async fn connection(stream: TcpStream, delay: Duration, away: mpsc::UnboundedSender<Duration>) {
    let service = hyper::service::service_fn(move |request| {
        let away = away.clone();
        async move {
            let reply = Reply::to(request).await;
            tokio::time::sleep(reply.delay.unwrap_or(delay)).await;
            if let Some(absence) = reply.away {
                let _ = away.send(absence);
            }
            if reply.hang_up {
                Err(ConnectionClosed)
            } else {
                Ok(reply.response)
            }
        }
    });
    let io = hyper_util::rt::TokioIo::new(stream);
    // A relay that closes its connection is not an error of the backend.
    let _ = hyper::server::conn::http1::Builder::new()
        .max_headers(HEADERS)
        .serve_connection(io, service)
        .await;
}

/// Returned by the service to make hyper close the connection.
#[derive(Debug, thiserror::Error)]
#[error("closed the connection as requested")]
struct ConnectionClosed;
