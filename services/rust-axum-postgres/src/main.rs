//! A server with axum on PostgreSQL, with tokio-postgres, and on Redis.

mod account;
mod database;
mod draft;
mod fortunes;
mod orders;
mod plain_path;
mod shop;
mod tokens;

use std::env;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use askama::Template;
use axum::extract::{Query, Request, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use axum::serve::ListenerExt;
use axum::{Router, ServiceExt};
use deadpool_postgres::Pool;
use serde::Deserialize;
use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{SignalKind, signal};
use tower::Layer;
use tower::util::MapRequestLayer;

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
    let pool = database::connect();
    let mut app = Router::new()
        .route("/orders", get(shop::list).post(shop::create))
        .route(
            "/orders/{id}",
            get(shop::get).patch(shop::set_status).delete(shop::delete),
        )
        .route("/fortunes", get(page))
        .with_state(pool.clone());
    // Only the contract `account` has a cache beside its database.
    let cache = setting("REDIS_URL", "");
    if !cache.is_empty() {
        app = app.merge(account::routes(pool, &cache));
    }
    // The router compares paths as they were sent; this layer stands before it.
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

#[derive(Deserialize)]
struct Asked {
    nonce: String,
}

async fn page(State(pool): State<Pool>, Query(asked): Query<Asked>) -> Result<Html<String>, Response> {
    let page = fortunes::read(&pool, &asked.nonce).await?;
    let failed = |_| StatusCode::INTERNAL_SERVER_ERROR.into_response();
    page.render().map(Html).map_err(failed)
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
