use std::env;

use axum::Router;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

fn main() -> std::io::Result<()> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Ok(workers) = setting("WORKERS", "").parse() {
        runtime.worker_threads(workers);
    }
    runtime.enable_all().build()?.block_on(serve())
}

async fn serve() -> std::io::Result<()> {
    let app = Router::new().route("/api/test", get(async || "Hello, World!"));
    let address = format!("{}:{}", setting("HOST", "127.0.0.1"), setting("PORT", "8080"));
    let listener = TcpListener::bind(address).await?;
    let mut term = signal(SignalKind::terminate())?;
    tokio::select! {
        ended = async { axum::serve(listener, app).await } => ended,
        _ = term.recv() => Ok(()),
    }
}

fn setting(name: &str, otherwise: &str) -> String {
    env::var(name).unwrap_or_else(|_| otherwise.to_owned())
}
