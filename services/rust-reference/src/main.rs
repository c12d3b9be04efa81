//! All contracts in one server, HTTP/1.1 and gRPC on the same port: the proof that they can be fulfilled.

mod grpc;
mod person;
mod plain_path;
mod relay;
mod sequence;
mod snoop;

use std::env;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::routing::get;
use axum::serve::ListenerExt;
use axum::{Router, ServiceExt};
use grpc::messages::person_service_server::PersonServiceServer;
use relay::Relay;
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
    let calls = PersonServiceServer::new(grpc::People::read());
    let mut requests = Router::new()
        .route("/api/test", get(async || "Hello, World!"))
        .route("/api/count/{n}", get(sequence::count))
        .route("/api/fib/{n}", get(sequence::fib))
        .route("/", get(snoop::snoop))
        .route("/person", get(person::list).post(person::create))
        .route("/person/{id}", get(person::get))
        .route("/person/{id}/links", get(person::links))
        .route_service(&format!("/{}/{{*call}}", grpc::SERVICE_NAME), calls);
    let backend = setting("BACKEND_URL", "");
    if !backend.is_empty() {
        let relay = backend.parse().ok().and_then(Relay::new).ok_or_else(|| {
            io::Error::other("BACKEND_URL must name the backend, like http://127.0.0.1:9000")
        })?;
        requests = relay_the_rest(requests, relay);
    }
    // The router compares paths as they were sent; this layer stands before it.
    let app = MapRequestLayer::new(plain_path::decode_unreserved).layer(requests);

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

/// Relays what no other contract answers.
fn relay_the_rest(requests: Router, relay: Relay) -> Router {
    let relay = Arc::new(relay);
    let handler = move |mut request: Request| {
        let relay = Arc::clone(&relay);
        plain_path::restore(&mut request);
        async move { relay.answer(request).await.map(Body::new) }
    };
    requests
        .fallback(handler.clone())
        .method_not_allowed_fallback(handler)
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
