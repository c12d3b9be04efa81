//! The contracts person and stream over gRPC with tonic.

mod person;
mod stream;

use std::env;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{SignalKind, signal};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use person::messages::person_service_server::PersonServiceServer;
use stream::messages::stream_service_server::StreamServiceServer;

/// What calls in flight get to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// Hundreds of connections may come at the same moment; tokio's own queue holds 128.
const BACKLOG: u32 = 4096;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Ok(workers) = setting("WORKERS", "").parse() {
        runtime.worker_threads(workers);
    }
    runtime.enable_all().build()?.block_on(serve())
}

async fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let address = format!("{}:{}", setting("HOST", "127.0.0.1"), setting("PORT", "8080"));
    let incoming = TcpIncoming::from(listen(&address)?).with_nodelay(Some(true));
    let server = Server::builder()
        .add_service(PersonServiceServer::new(person::People::read()))
        .add_service(StreamServiceServer::new(stream::Streams))
        .serve_with_incoming_shutdown(incoming, terminated());
    tokio::select! {
        ended = server => Ok(ended?),
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
