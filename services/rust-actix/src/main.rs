//! A server with actix-web.

mod catalog;
mod echo;
mod events;
mod items;
mod sequence;
mod snoop;
mod upload;

use std::env;
use std::thread::available_parallelism;

use actix_web::http::header::ContentType;
use actix_web::{App, HttpResponse, HttpServer, get};

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let port = setting("PORT", "8080").parse().map_err(std::io::Error::other)?;
    let workers = setting("WORKERS", "")
        .parse()
        .or_else(|_| available_parallelism().map(Into::into))?;
    HttpServer::new(|| {
        App::new()
            .service(hello)
            .service(sequence::count)
            .service(sequence::fib)
            .service(snoop::snoop)
            .service(catalog::catalog)
            .service(upload::upload)
            .service(events::events)
            .service(echo::echo)
    })
    .workers(workers)
    // Requests in flight get two seconds to end, not thirty.
    .shutdown_timeout(2)
    .bind((setting("HOST", "127.0.0.1"), port))?
    .run()
    .await
}

#[get("/api/test")]
async fn hello() -> HttpResponse {
    HttpResponse::Ok()
        .content_type(ContentType::plaintext())
        .body("Hello, World!")
}

fn setting(name: &str, default: &str) -> String {
    env::var(name).unwrap_or_else(|_| default.to_owned())
}
