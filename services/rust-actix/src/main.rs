//! A server with actix-web.

mod catalog;
mod echo;
mod events;
mod items;
mod sequence;
mod snoop;
mod upload;

use std::env;
use std::error::Error;
use std::thread::available_parallelism;

use actix_web::http::header::ContentType;
use actix_web::{App, HttpResponse, HttpServer, get};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let port = setting("PORT", "8080").parse().map_err(std::io::Error::other)?;
    let workers = setting("WORKERS", "")
        .parse()
        .or_else(|_| available_parallelism().map(Into::into))?;
    let server = HttpServer::new(|| {
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
    // The last part of a compressed reply leaves at once.
    .tcp_nodelay(true)
    // Requests in flight get two seconds to end, not thirty.
    .shutdown_timeout(2)
    .bind((setting("HOST", "127.0.0.1"), port))?;
    let server = match env::var("TLS_PORT") {
        Ok(port) => {
            let port = port.parse().map_err(std::io::Error::other)?;
            let tls = tls_config().map_err(std::io::Error::other)?;
            server.bind_rustls_0_23((setting("HOST", "127.0.0.1"), port), tls)?
        }
        Err(_) => server,
    };
    server.run().await
}

/// actix-web adds the protocols: HTTP/2 or HTTP/1.1, as the client prefers.
fn tls_config() -> Result<ServerConfig, Box<dyn Error + Send + Sync>> {
    let certificates = CertificateDer::pem_file_iter(setting("TLS_CERT", ""))?.collect::<Result<_, _>>()?;
    let key = PrivateKeyDer::from_pem_file(setting("TLS_KEY", ""))?;
    let config = ServerConfig::builder().with_no_client_auth();
    Ok(config.with_single_cert(certificates, key)?)
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
