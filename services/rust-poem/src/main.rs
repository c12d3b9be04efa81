//! A server with Poem on tokio.

mod numbers;
mod plain_path;

use std::env;
use std::io;
use std::time::Duration;

use poem::http::StatusCode;
use poem::listener::TcpListener;
use poem::web::Path;
use poem::{EndpointExt, Request, Response, Route, Server, get, handler};
use tokio::signal::unix::{SignalKind, signal};

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
    let app = Route::new()
        .at("/api/test", get(hello))
        .at("/api/count/:n", get(count))
        .at("/api/fib/:n", get(fib))
        // The router compares paths as they were sent.
        .before(async |mut request: Request| {
            if let Some(plain) = plain_path::decode_unreserved(request.uri()) {
                *request.uri_mut() = plain;
            }
            Ok(request)
        });
    let address = format!("{}:{}", setting("HOST", "127.0.0.1"), setting("PORT", "8080"));
    let mut term = signal(SignalKind::terminate())?;
    let terminated = async move {
        term.recv().await;
    };
    Server::new(TcpListener::bind(address))
        .run_with_graceful_shutdown(app, terminated, Some(GRACE))
        .await
}

#[handler]
const fn hello() -> &'static str {
    "Hello, World!"
}

#[handler]
fn count(Path(n): Path<String>) -> Response {
    answer(&n, numbers::count)
}

#[handler]
fn fib(Path(n): Path<String>) -> Response {
    answer(&n, numbers::fib)
}

fn answer(n: &str, compute: impl Fn(u32) -> String) -> Response {
    match numbers::parse(n) {
        Some(n) => Response::builder().content_type("text/plain").body(compute(n)),
        None => StatusCode::BAD_REQUEST.into(),
    }
}

fn setting(name: &str, default: &str) -> String {
    env::var(name).unwrap_or_else(|_| default.to_owned())
}
