//! A server of the Model Context Protocol with rmcp, in axum.

mod features;
mod items;
mod plain_path;

use std::env;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::serve::ListenerExt;
use axum::{Router, ServiceExt};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{SignalKind, signal};
use tower::Layer;
use tower::util::MapRequestLayer;

use crate::features::Features;

/// What requests in flight get to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// Hundreds of connections may come at the same moment; tokio's own queue holds 128.
const BACKLOG: u32 = 4096;

fn main() -> io::Result<()> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Ok(workers) = setting("WORKERS", "").parse() {
        runtime.worker_threads(workers);
    }
    runtime.enable_all().build()?.block_on(serve())
}

async fn serve() -> io::Result<()> {
    let app = Router::new().route_service("/mcp", service());
    // The router compares paths as they were sent; this layer runs before it.
    let app = MapRequestLayer::new(plain_path::decode_unreserved).layer(app);

    let address = format!("{}:{}", setting("HOST", "127.0.0.1"), setting("PORT", "8080"));
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

fn service() -> StreamableHttpService<Features, LocalSessionManager> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(setting("SESSIONS", "") == "true")
        .with_json_response(setting("REPLIES", "") != "events")
        // Otherwise every Origin is served.
        .with_allowed_origins(["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"]);
    let features = Features::new();
    StreamableHttpService::new(
        move || Ok(features.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    )
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
