//! A server with Salvo on tokio.

mod numbers;

use std::env;
use std::io;
use std::time::Duration;

use salvo::prelude::*;
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
    let router = Router::with_path("api")
        .push(Router::with_path("test").get(hello))
        .push(Router::with_path("count/{n}").get(count))
        .push(Router::with_path("fib/{n}").get(fib));
    let address = format!("{}:{}", setting("HOST", "127.0.0.1"), setting("PORT", "8080"));
    let acceptor = TcpListener::new(address).bind().await;
    let server = Server::new(acceptor);
    let handle = server.handle();
    let mut term = signal(SignalKind::terminate())?;
    tokio::spawn(async move {
        term.recv().await;
        handle.stop_graceful(GRACE);
    });
    server.serve(router).await;
    Ok(())
}

#[handler]
async fn hello() -> &'static str {
    "Hello, World!"
}

#[handler]
async fn count(request: &mut Request) -> Result<String, StatusError> {
    answer(request, numbers::count)
}

#[handler]
async fn fib(request: &mut Request) -> Result<String, StatusError> {
    answer(request, numbers::fib)
}

fn answer(request: &mut Request, compute: impl Fn(u32) -> String) -> Result<String, StatusError> {
    let n = request.param::<String>("n").unwrap_or_default();
    numbers::parse(&n)
        .map(compute)
        .ok_or_else(StatusError::bad_request)
}

fn setting(name: &str, default: &str) -> String {
    env::var(name).unwrap_or_else(|_| default.to_owned())
}
