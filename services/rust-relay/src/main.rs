//! A filtering reverse proxy with hyper on tokio.

mod relay;
mod server;

use std::convert::Infallible;
use std::env;
use std::sync::Arc;

use hyper::service::service_fn;
use relay::Relay;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Ok(workers) = setting("WORKERS", "").parse() {
        runtime.worker_threads(workers);
    }
    runtime.enable_all().build()?.block_on(serve())
}

async fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let address = format!("{}:{}", setting("HOST", "127.0.0.1"), setting("PORT", "8080"));
    let backend = setting("BACKEND_URL", "").parse()?;
    let relay =
        Arc::new(Relay::new(backend).ok_or("BACKEND_URL must name the backend, like http://127.0.0.1:9000")?);
    let service = service_fn(move |request| {
        let relay = Arc::clone(&relay);
        async move { Ok::<_, Infallible>(relay.answer(request).await) }
    });
    Ok(server::run(&address, service).await?)
}

fn setting(name: &str, default: &str) -> String {
    env::var(name).unwrap_or_else(|_| default.to_owned())
}
