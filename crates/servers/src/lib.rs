//! Reference servers: the backend of the relay contract, and the [`model`] of the gateway contract.
//!
//! The backend replies with 204 after a delay and describes the request it received. Delays of concurrent requests overlap, since each
//! waits on a timer: this crate must never block a thread. Every reply carries the digest of its request
//! ([`prony_config::contract::digest`]). Some paths reply differently for the cases of a check; `docs/CONTRACTS.md` lists them. Start
//! at [`run`], and for the model at [`model::run`].

pub mod files;
mod listener;
pub mod model;
mod reply;

use listener::{ConnectionClosed, bind, block_on, until_terminated};
use model::ModelSettings;
use reply::Reply;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// Maximum number of request headers: enough for a case with many headers plus those that a relay adds.
const HEADERS: usize = 200;
/// Time for the reply that announces an absence to be sent before connections close.
const FAREWELL: Duration = Duration::from_millis(20);

/// A backend or a model within this process, for checks. It stops when dropped.
#[derive(Debug)]
pub struct Backend {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Backend {
    /// Starts a backend on a free loopback port.
    pub fn start(delay: Duration) -> std::io::Result<Self> {
        Self::serving(ServerKind::Backend(delay), 0)
    }

    /// Starts a language model on this loopback port; 0 picks a free one.
    pub fn model(settings: ModelSettings, port: u16) -> std::io::Result<Self> {
        Self::serving(ServerKind::Model(settings), port)
    }

    fn serving(kind: ServerKind, port: u16) -> std::io::Result<Self> {
        let (stop, stopped) = oneshot::channel();
        let (ready, bound) = channel();
        let refused = ready.clone();
        let thread = std::thread::Builder::new()
            .name("backend".into())
            .spawn(move || {
                let listens = |address| {
                    let _ = ready.send(Ok(address));
                };
                let ended = block_on(1, async {
                    tokio::select! {
                        ended = kind.serve((Ipv4Addr::LOCALHOST, port).into(), &listens) => ended,
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

/// What a server of this crate is.
enum ServerKind {
    /// A backend that replies after a delay.
    Backend(Duration),
    Model(ModelSettings),
}

impl ServerKind {
    async fn serve(self, address: SocketAddr, ready: &dyn Fn(SocketAddr)) -> std::io::Result<()> {
        match self {
            Self::Backend(delay) => serve(address, delay, ready).await,
            Self::Model(settings) => model::serve(address, settings, ready).await,
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
    block_on(workers, until_terminated(serve(address, delay, ready)))
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
