//! A server with ntex on tokio.

mod numbers;

use std::env;
use std::thread::available_parallelism;

use ntex::time::Seconds;
use ntex::web::types::Path;
use ntex::web::{self, App, HttpResponse};

#[ntex::main]
async fn main() -> std::io::Result<()> {
    let port: u16 = setting("PORT", "8080").parse().map_err(std::io::Error::other)?;
    let workers = setting("WORKERS", "")
        .parse()
        .or_else(|_| available_parallelism().map(Into::into))?;
    web::server(async || App::new().service((hello, count, fib)))
        .workers(workers)
        // Requests in flight get two seconds to end, not thirty.
        .shutdown_timeout(Seconds(2))
        .bind((setting("HOST", "127.0.0.1"), port))?
        .run()
        .await
}

#[web::get("/api/test")]
async fn hello() -> HttpResponse {
    HttpResponse::Ok().content_type("text/plain").body("Hello, World!")
}

#[web::get("/api/count/{n}")]
async fn count(n: Path<String>) -> HttpResponse {
    answer(&n, numbers::count)
}

#[web::get("/api/fib/{n}")]
async fn fib(n: Path<String>) -> HttpResponse {
    answer(&n, numbers::fib)
}

fn answer(n: &str, compute: impl Fn(u32) -> String) -> HttpResponse {
    match numbers::parse(n) {
        Some(n) => HttpResponse::Ok().content_type("text/plain").body(compute(n)),
        None => HttpResponse::BadRequest().body("n must be an integer from 0 to 10000"),
    }
}

fn setting(name: &str, default: &str) -> String {
    env::var(name).unwrap_or_else(|_| default.to_owned())
}
