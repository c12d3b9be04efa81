//! Files by axum, with the `ServeDir` of tower-http.

use std::env;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::serve::ListenerExt as _;
use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{SignalKind, signal};
use tower_http::services::ServeDir;

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
    let mut files = ServeDir::new(setting("FILES_DIR", ".")).append_index_html_on_directories(false);
    if setting("PRECOMPRESSED", "") == "true" {
        files = files.precompressed_br().precompressed_gzip();
    }
    let app = Router::new().nest_service("/files", files);

    let address = format!("{}:{}", setting("HOST", "127.0.0.1"), setting("PORT", "8080"));
    // The last part of a file leaves at once.
    let listener = listen(&address)?.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    let server = axum::serve(listener, app).with_graceful_shutdown(terminated());
    tokio::select! {
        ended = server.into_future() => ended,
        () = async { terminated().await; tokio::time::sleep(GRACE).await } => Ok(()),
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

async fn terminated() {
    let mut term = signal(SignalKind::terminate()).expect("SIGTERM can be listened for");
    term.recv().await;
}

fn setting(name: &str, default: &str) -> String {
    env::var(name).unwrap_or_else(|_| default.to_owned())
}
