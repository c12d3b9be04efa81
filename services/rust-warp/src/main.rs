//! A server with warp on tokio.

mod numbers;

use std::env;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio::signal::unix::{SignalKind, signal};
use warp::http::StatusCode;
use warp::path::FullPath;
use warp::reply::{Response, with_status};
use warp::{Filter, Rejection, Reply};

/// What requests in flight get to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

fn main() -> io::Result<()> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Ok(workers) = setting("WORKERS", "").parse() {
        runtime.worker_threads(workers);
    }
    runtime.enable_all().build()?.block_on(serve())
}

async fn serve() -> io::Result<()> {
    let hello = warp::path!("api" / "test").map(|| "Hello, World!");
    let count = warp::path!("api" / "count" / String).map(|n: String| answer(&n, numbers::count));
    let fib = warp::path!("api" / "fib" / String).map(|n: String| answer(&n, numbers::fib));
    let encoded = warp::path::full().and_then(unescaped);
    let routes = warp::get().and(hello.or(count).or(fib).or(encoded));

    let address = format!("{}:{}", setting("HOST", "127.0.0.1"), setting("PORT", "8080"));
    let address: SocketAddr = address.parse().map_err(io::Error::other)?;
    let server = warp::serve(routes).bind(address).await.graceful(terminated());
    tokio::select! {
        () = server.run() => {}
        () = async { terminated().await; tokio::time::sleep(GRACE).await } => {}
    }
    Ok(())
}

fn answer(n: &str, compute: impl Fn(u32) -> String) -> Response {
    match numbers::parse(n) {
        Some(n) => compute(n).into_response(),
        None => with_status("n must be an integer from 0 to 10000", StatusCode::BAD_REQUEST).into_response(),
    }
}

/// Filters compare paths as they were sent, but `/api/%74est` names the same resource as `/api/test`.
async fn unescaped(path: FullPath) -> Result<Response, Rejection> {
    let path = percent_decode_str(path.as_str()).decode_utf8_lossy();
    if path == "/api/test" {
        Ok("Hello, World!".into_response())
    } else if let Some(n) = path.strip_prefix("/api/count/") {
        Ok(answer(n, numbers::count))
    } else if let Some(n) = path.strip_prefix("/api/fib/") {
        Ok(answer(n, numbers::fib))
    } else {
        Err(warp::reject::not_found())
    }
}

async fn terminated() {
    let mut term = signal(SignalKind::terminate()).expect("SIGTERM can be listened for");
    term.recv().await;
}

fn setting(name: &str, default: &str) -> String {
    env::var(name).unwrap_or_else(|_| default.to_owned())
}
