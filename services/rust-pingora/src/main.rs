//! A gateway to a language model with Pingora.

mod gateway;

use std::env;

use gateway::Gateway;
use pingora_core::server::Server;
use pingora_core::server::configuration::ServerConf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut configuration = ServerConf {
        // 128 by default; each stream takes one.
        upstream_keepalive_pool_size: 16_384,
        // Five minutes by default.
        grace_period_seconds: Some(0),
        graceful_shutdown_timeout_seconds: Some(2),
        ..ServerConf::default()
    };
    if let Ok(workers) = setting("WORKERS", "").parse() {
        configuration.threads = workers;
    }
    let mut server = Server::new_with_opt_and_conf(None, configuration);
    server.bootstrap();
    let gateway = Gateway::new(&setting("MODEL_URL", ""), &setting("MODEL_KEY", ""))?;
    let mut service = pingora_proxy::http_proxy_service(&server.configuration, gateway);
    service.add_tcp(&format!("{}:{}", setting("HOST", "127.0.0.1"), setting("PORT", "8080")));
    server.add_service(service);
    server.run_forever()
}

fn setting(name: &str, default: &str) -> String {
    env::var(name).unwrap_or_else(|_| default.to_owned())
}
