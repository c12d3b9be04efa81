//! A language model whose every byte and time is known: the backing service of the gateway contract.
//!
//! It speaks `OpenAI`'s chat completions. The name of the model chooses what it does:
//!
//! | model | reply |
//! |---|---|
//! | `steady` | `max_tokens` events; the first is due `first` after the last byte of the request, each further one `gap` later |
//! | `slow`, `held` | the same with a gap of 20 ms, of 1 s |
//! | `fast` | the same without waiting |
//! | `plain` | one JSON document, as every model without `stream` |
//! | `busy`, `refused`, `missing`, `down` | 429 with `Retry-After`, 401, 404, 503 |
//! | `fails` | after three events an event with `error`, and the end |
//! | `cut` | after three events the connection is closed |
//! | `odd` | unknown members, characters beyond ASCII raw and escaped, comments, CRLF, single bytes, and in the second event the text of the system message |
//!
//! The text of event `i` is `w{i * 7919 % 1000} {i} `. `GET /seen` tells what was received, and how late the events were sent.
//! Start at [`run`].

mod pacer;
mod reply;
mod request_log;
mod script;
mod stream;

use crate::listener::{bind, block_on, until_terminated};
use pacer::Pacer;
use reply::ModelReply;
use request_log::RequestLog;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;

/// Pause after a connection could not be accepted: no file descriptor was free.
const PAUSE: Duration = Duration::from_millis(20);
/// Maximum number of request headers.
const HEADERS: usize = 200;

/// How a model is paced, and the key that it requires.
#[derive(Debug, Clone)]
pub struct ModelSettings {
    /// From the last byte of a request to its first event.
    pub first: Duration,
    /// From one event to the next.
    pub gap: Duration,
    /// The bearer token of its clients; `None`: any.
    pub key: Option<String>,
}

/// What all connections of a model share.
pub(crate) struct ModelState {
    settings: ModelSettings,
    pacer: Pacer,
    log: RequestLog,
}

/// Serves with one thread, whose clock is that of all streams, until SIGTERM arrives. Calls `ready` with the address it listens on;
/// port 0 picks a free port.
pub fn run(address: SocketAddr, settings: ModelSettings, ready: &dyn Fn(SocketAddr)) -> std::io::Result<()> {
    block_on(1, until_terminated(serve(address, settings, ready)))
}

pub(crate) async fn serve(
    address: SocketAddr,
    settings: ModelSettings,
    ready: &dyn Fn(SocketAddr),
) -> std::io::Result<()> {
    let listener = bind(address)?;
    let shared = Arc::new(ModelState {
        settings,
        pacer: Pacer::new()?,
        log: RequestLog::default(),
    });
    ready(listener.local_addr()?);
    let mut connections = tokio::task::JoinSet::new();
    // One future for all turns of the loop: a new one would forget the event that it stays awake for.
    let mut pacing = std::pin::pin!(shared.pacer.drive());
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let _ = stream.set_nodelay(true);
                    connections.spawn(connection(stream, Arc::clone(&shared)));
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            },
            failed = &mut pacing => return failed,
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connection(stream: TcpStream, shared: Arc<ModelState>) {
    let service = hyper::service::service_fn(move |request| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, std::convert::Infallible>(ModelReply::to(request, &shared).await) }
    });
    let io = hyper_util::rt::TokioIo::new(stream);
    // A client that leaves is not an error of the model.
    let _ = hyper::server::conn::http1::Builder::new()
        .max_headers(HEADERS)
        .serve_connection(io, service)
        .await;
}
