//! A server with actix-web on PostgreSQL, with tokio-postgres.

mod database;
mod draft;
mod fortunes;
mod orders;
mod shop;

use std::env;
use std::thread::available_parallelism;

use actix_web::error::{ErrorBadRequest, ErrorInternalServerError};
use actix_web::web::{Data, Html, JsonConfig, Query};
use actix_web::{App, HttpServer, Result, get};
use askama::Template;
use deadpool_postgres::Pool;
use serde::Deserialize;

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let port = setting("PORT", "8080").parse().map_err(std::io::Error::other)?;
    let workers = setting("WORKERS", "")
        .parse()
        .or_else(|_| available_parallelism().map(Into::into))?;
    // One pool for all workers.
    let pool = Data::new(database::connect());
    HttpServer::new(move || {
        App::new()
            .app_data(pool.clone())
            .app_data(JsonConfig::default().error_handler(|error, _| ErrorBadRequest(error)))
            .service(shop::create)
            .service(shop::list)
            .service(shop::get)
            .service(shop::set_status)
            .service(shop::delete)
            .service(page)
    })
    .workers(workers)
    // Small replies leave at once.
    .tcp_nodelay(true)
    // Requests in flight get two seconds to end, not thirty.
    .shutdown_timeout(2)
    .bind((setting("HOST", "127.0.0.1"), port))?
    .run()
    .await
}

#[derive(Deserialize)]
struct Asked {
    nonce: String,
}

#[get("/fortunes")]
async fn page(pool: Data<Pool>, asked: Query<Asked>) -> Result<Html> {
    let page = fortunes::read(&pool, &asked.nonce).await?;
    page.render().map(Html::new).map_err(ErrorInternalServerError)
}

fn setting(name: &str, default: &str) -> String {
    env::var(name).unwrap_or_else(|_| default.to_owned())
}
