//! Files by actix-web, with actix-files.

use std::env;
use std::thread::available_parallelism;

use actix_files::Files;
use actix_web::{App, HttpServer};

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let port = setting("PORT", "8080").parse().map_err(std::io::Error::other)?;
    let workers = setting("WORKERS", "")
        .parse()
        .or_else(|_| available_parallelism().map(Into::into))?;
    let folder = setting("FILES_DIR", ".");
    HttpServer::new(move || App::new().service(Files::new("/files", &folder)))
        .workers(workers)
        // The last part of a file leaves at once.
        .tcp_nodelay(true)
        // Requests in flight get two seconds to end, not thirty.
        .shutdown_timeout(2)
        .bind((setting("HOST", "127.0.0.1"), port))?
        .run()
        .await
}

fn setting(name: &str, default: &str) -> String {
    env::var(name).unwrap_or_else(|_| default.to_owned())
}
