//! A server with axum on tokio.

mod catalog;
mod echo;
mod events;
mod items;
mod person;
mod plain_path;
mod room;
mod sequence;
mod snoop;
mod upload;

use std::env;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::Request;
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use axum::{Router, ServiceExt};
use axum_server::Handle;
use axum_server::accept::NoDelayAcceptor;
use axum_server::tls_rustls::RustlsConfig;
use hyper::body::Incoming;
use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{SignalKind, signal};
use tower::Layer;
use tower::util::MapRequestLayer;
use tower_http::compression::CompressionLayer;

/// What requests in flight get to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// Hundreds of connections may come at the same moment; tokio's own queue holds 128.
const BACKLOG: u32 = 4096;

fn main() -> io::Result<()> {
    // One thread that shares its tasks with no other, or worker threads that take them from each other.
    let mut runtime = if setting("CURRENT_THREAD", "") == "true" {
        tokio::runtime::Builder::new_current_thread()
    } else {
        tokio::runtime::Builder::new_multi_thread()
    };
    if let Ok(workers) = setting("WORKERS", "").parse() {
        runtime.worker_threads(workers);
    }
    runtime.enable_all().build()?.block_on(serve())
}

async fn serve() -> io::Result<()> {
    let app = Router::new()
        .route("/api/test", get(async || "Hello, World!"))
        .route("/api/count/{n}", get(sequence::count))
        .route("/api/fib/{n}", get(sequence::fib))
        .route("/", get(snoop::snoop))
        .route("/person", get(person::list).post(person::create))
        .route("/person/{id}", get(person::get))
        .route("/person/{id}/links", get(person::links))
        .route("/catalog", get(catalog::catalog).layer(CompressionLayer::new()))
        .route("/upload", post(upload::upload))
        .route("/events", get(events::events))
        .route("/ws/echo", get(echo::echo))
        .route("/ws/room/{name}", get(room::room));

    let host = setting("HOST", "127.0.0.1");
    let clear = serve_clear(format!("{host}:{}", setting("PORT", "8080")), app.clone());
    match env::var("TLS_PORT") {
        Ok(port) => tokio::try_join!(clear, serve_tls(format!("{host}:{port}"), app)).map(drop),
        Err(_) => clear.await,
    }
}

async fn serve_clear(address: String, app: Router) -> io::Result<()> {
    // The router compares paths as they were sent; this layer stands before it.
    let app = MapRequestLayer::new(plain_path::decode_unreserved).layer(app);
    // Small replies leave at once.
    let listener = listen(&address)?.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    let server = axum::serve(listener, ServiceExt::<Request>::into_make_service(app))
        .with_graceful_shutdown(terminated());
    tokio::select! {
        ended = server.into_future() => ended,
        () = async { terminated().await; tokio::time::sleep(GRACE).await } => Ok(()),
    }
}

/// In HTTP/2 or HTTP/1.1, as the client prefers.
async fn serve_tls(address: String, app: Router) -> io::Result<()> {
    let app = MapRequestLayer::new(plain_path::decode_unreserved).layer(app);
    let identity = RustlsConfig::from_pem_file(setting("TLS_CERT", ""), setting("TLS_KEY", "")).await?;
    let handle = Handle::new();
    tokio::spawn({
        let handle = handle.clone();
        async move {
            terminated().await;
            handle.graceful_shutdown(Some(GRACE));
        }
    });
    axum_server::from_tcp_rustls(listen(&address)?.into_std()?, identity)?
        .map(|acceptor| acceptor.acceptor(NoDelayAcceptor::new()))
        .handle(handle)
        .serve(ServiceExt::<Request<Incoming>>::into_make_service(app))
        .await
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

async fn terminated() {
    let mut term = signal(SignalKind::terminate()).expect("SIGTERM can be listened for");
    term.recv().await;
}

fn setting(name: &str, default: &str) -> String {
    env::var(name).unwrap_or_else(|_| default.to_owned())
}
