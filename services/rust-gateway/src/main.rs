//! A gateway to a language model with hyper on tokio.

mod gateway;
mod server;

use std::convert::Infallible;
use std::env;
use std::sync::Arc;

use gateway::Gateway;
use hyper::service::service_fn;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Ok(workers) = setting("WORKERS", "").parse() {
        runtime.worker_threads(workers);
    }
    runtime.enable_all().build()?.block_on(serve())
}

async fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let address = format!("{}:{}", setting("HOST", "127.0.0.1"), setting("PORT", "8080"));
    let gateway = Arc::new(Gateway::new(&setting("MODEL_URL", ""), &setting("MODEL_KEY", ""))?);
    let service = service_fn(move |request| {
        let gateway = Arc::clone(&gateway);
        async move { Ok::<_, Infallible>(gateway.answer(request).await) }
    });
    Ok(server::run(&address, service).await?)
}

fn setting(name: &str, default: &str) -> String {
    env::var(name).unwrap_or_else(|_| default.to_owned())
}
