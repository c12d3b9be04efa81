//! The person contract over gRPC with tonic.

mod person;

use std::env;
use std::net::{AddrParseError, SocketAddr};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tonic::transport::Server;

use person::messages::person_service_server::PersonServiceServer;

/// What calls in flight get to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Ok(workers) = setting("WORKERS", "").parse() {
        runtime.worker_threads(workers);
    }
    runtime.enable_all().build()?.block_on(serve())
}

async fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::builder()
        .add_service(PersonServiceServer::new(person::People::read()))
        .serve_with_shutdown(address()?, terminated());
    tokio::select! {
        ended = server => Ok(ended?),
        () = async { terminated().await; tokio::time::sleep(GRACE).await } => Ok(()),
    }
}

fn address() -> Result<SocketAddr, AddrParseError> {
    format!("{}:{}", setting("HOST", "127.0.0.1"), setting("PORT", "8080")).parse()
}

async fn terminated() {
    let mut term = signal(SignalKind::terminate()).expect("SIGTERM can be listened for");
    term.recv().await;
}

fn setting(name: &str, default: &str) -> String {
    env::var(name).unwrap_or_else(|_| default.to_owned())
}
