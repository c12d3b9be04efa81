use std::env;

use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
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
    // A fixed route would be compared with the path as it was sent; an extracted path is percent-decoded.
    let app = Router::new().route("/{*path}", get(respond));
    let address = format!("{}:{}", setting("HOST", "127.0.0.1"), setting("PORT", "8080"));
    let listener = TcpListener::bind(address).await?;
    let mut term = signal(SignalKind::terminate())?;
    tokio::select! {
        ended = async { axum::serve(listener, app).await } => ended,
        _ = term.recv() => Ok(()),
    }
}

async fn respond(Path(path): Path<String>) -> Result<&'static str, StatusCode> {
    match path.as_str() {
        "api/test" => Ok("Hello, World!"),
        _ => Err(StatusCode::NOT_FOUND),
    }
}

fn setting(name: &str, otherwise: &str) -> String {
    env::var(name).unwrap_or_else(|_| otherwise.to_owned())
}
