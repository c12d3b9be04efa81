//! A server with Iron and its router.

mod numbers;
mod plain_path;
mod sequence;
mod snoop;

use std::env;
use std::io;
use std::time::Duration;

use iron::method::Method;
use iron::prelude::*;
use iron::{mime, status};
use router::{NoRoute, Router};
use signal_hook::consts::SIGTERM;
use signal_hook::iterator::Signals;

/// A connection that is kept alive holds its thread, so that there must be more threads than connections.
const THREADS: usize = 1024;

/// Iron cannot be told to drain: replies in flight get this long after SIGTERM.
const GRACE: Duration = Duration::from_millis(200);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut signals = Signals::new([SIGTERM])?;
    let mut router = Router::new();
    router.get("/api/test", hello, "hello");
    router.get(
        "/api/count/:n",
        |request: &mut Request| sequence::answer(request, numbers::count),
        "count",
    );
    router.get(
        "/api/fib/:n",
        |request: &mut Request| sequence::answer(request, numbers::fib),
        "fib",
    );
    router.get("/", snoop::snoop, "snoop");
    let mut chain = Chain::new(router);
    chain.link_before(read_body);
    chain.link_before(refuse_head);
    chain.link_before(plain_path::decode_unreserved);

    let mut iron = Iron::new(chain);
    iron.threads = THREADS;
    let _listening = iron.http(format!(
        "{}:{}",
        setting("HOST", "127.0.0.1"),
        setting("PORT", "8080")
    ))?;
    signals.forever().next();
    std::thread::sleep(GRACE);
    // Dropping the listener would wait for its threads, which never end.
    std::process::exit(0);
}

fn hello(_: &mut Request) -> IronResult<Response> {
    Ok(text(status::Ok, "Hello, World!".to_owned()))
}

/// What a handler leaves unread would be taken for the next request.
fn read_body(request: &mut Request) -> IronResult<()> {
    let _ = io::copy(&mut request.body, &mut io::sink());
    Ok(())
}

/// The router makes a GET of HEAD, and the body that is then sent would be taken for the next reply.
fn refuse_head(request: &mut Request) -> IronResult<()> {
    match request.method {
        Method::Head => Err(IronError::new(NoRoute, status::MethodNotAllowed)),
        _ => Ok(()),
    }
}

fn text(status: status::Status, text: String) -> Response {
    let plain = mime::Mime(mime::TopLevel::Text, mime::SubLevel::Plain, Vec::new());
    Response::with((status, plain, text))
}

fn setting(name: &str, default: &str) -> String {
    env::var(name).unwrap_or_else(|_| default.to_owned())
}
