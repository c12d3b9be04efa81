//! The least that a server in Rust can do for orders and fortunes: sockets, and PostgreSQL's protocol as tokio-postgres
//! speaks it.

mod database;
mod draft;
mod fortunes;
mod http;
mod json;
mod orders;

use std::env;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use http::{Parsed, Reply};
use orders::Shop;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

/// What requests in flight get to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// Hundreds of connections may come at the same moment.
const BACKLOG: u32 = 4096;

/// Requests that were read and not answered yet.
static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);

fn main() -> io::Result<()> {
    let address: SocketAddr = format!("{}:{}", setting("HOST", "127.0.0.1"), setting("PORT", "8080"))
        .parse()
        .map_err(io::Error::other)?;
    let processors = thread::available_parallelism()?.get();
    let connections = number("DATABASE_POOL", 16);
    let workers = number("WORKERS", processors).min(connections);
    for worker in 0..workers {
        let runtime = event_loop()?;
        let listener = {
            let _inside = runtime.enter();
            listen(address)?
        };
        let share = connections / workers + usize::from(worker < connections % workers);
        thread::spawn(move || runtime.block_on(accept(&listener, &Arc::new(Shop::new(share)))));
    }
    event_loop()?.block_on(terminated())
}

fn event_loop() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// Each worker listens for itself, and the kernel shares the connections out.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

async fn accept(listener: &TcpListener, shop: &Arc<Shop>) {
    loop {
        match listener.accept().await {
            Ok((socket, _)) => {
                let shop = Arc::clone(shop);
                tokio::spawn(async move { serve(socket, &shop).await });
            }
            // Too many files are open, say; some may be closed soon.
            Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    }
}

/// What became of the bytes that have come.
enum Step {
    Incomplete,
    Answered(usize),
    Refused,
}

/// Answers the requests of a connection, one after the other.
async fn serve(mut socket: TcpStream, shop: &Shop) -> Option<()> {
    socket.set_nodelay(true).ok()?;
    let mut input = Vec::with_capacity(4096);
    let mut reply = Reply::default();
    loop {
        let step = match http::parse(&input) {
            Parsed::Incomplete => Step::Incomplete,
            Parsed::Refused(status) => {
                reply.close = true;
                reply.begin(status);
                Step::Refused
            }
            Parsed::Whole(request, used) => {
                UNDER_WAY.fetch_add(1, Ordering::Relaxed);
                reply.close = request.close;
                shop.answer(&request, &mut reply).await;
                Step::Answered(used)
            }
        };
        if let Step::Incomplete = step {
            if socket.read_buf(&mut input).await.ok()? == 0 {
                return None;
            }
            continue;
        }
        let sent = socket.write_all(reply.bytes()).await;
        if let Step::Answered(used) = step {
            UNDER_WAY.fetch_sub(1, Ordering::Relaxed);
            input.drain(..used);
        }
        if sent.is_err() || reply.close {
            return None;
        }
    }
}

async fn terminated() -> io::Result<()> {
    signal(SignalKind::terminate())?.recv().await;
    let end = Instant::now() + GRACE;
    while UNDER_WAY.load(Ordering::Relaxed) > 0 && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}

fn number(name: &str, default: usize) -> usize {
    let given = setting(name, "").parse().ok();
    given.filter(|number| *number > 0).unwrap_or(default)
}

fn setting(name: &str, default: &str) -> String {
    env::var(name).unwrap_or_else(|_| default.to_owned())
}
