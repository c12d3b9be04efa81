//! Live metrics for Prometheus during a load (`--metrics`): the text formats, over HTTP.

use crate::http_server::HttpServer;
use anyhow::Context as _;
use axum::Router;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use prony_records::Event;
use prony_telemetry::{Exposition, Labels, TextFormat};
use std::net::SocketAddr;
use std::sync::Arc;

/// The value of `--metrics`; a port alone is a port of the loopback address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MetricsAddress(SocketAddr);

impl std::str::FromStr for MetricsAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let port = text.strip_prefix(':').unwrap_or(text).parse::<u16>();
        let address = match port {
            Ok(port) => Ok(SocketAddr::from(([127, 0, 0, 1], port))),
            Err(_) => text.parse(),
        };
        address.map(Self).map_err(|_| {
            format!("`{text}` is not an address → Use a port, as in 9100, or an address and a port, as in 0.0.0.0:9100.")
        })
    }
}

/// The metrics, served by a thread until the process ends.
#[derive(Clone)]
pub(super) struct Metrics(Arc<Exposition>);

impl Metrics {
    /// `None` without an address.
    pub(super) fn wanted(address: Option<MetricsAddress>, labels: &Labels) -> anyhow::Result<Option<Self>> {
        let serve = |address| Self::serve(address, labels.clone());
        address.map(serve).transpose()
    }

    /// Starts serving. Prints the address on standard error, because the kernel may have chosen the port.
    fn serve(address: MetricsAddress, labels: Labels) -> anyhow::Result<Self> {
        let server = HttpServer::bind(address.0)
            .with_context(|| format!("cannot serve the metrics of --metrics on {}", address.0))?;
        eprintln!("prony: metrics at http://{}/metrics", server.address());
        let metrics = Self(Arc::new(Exposition::new(labels)));
        let routes = metrics.routes();
        // A server that fails must not end the measurement.
        std::thread::spawn(move || server.serve(routes));
        Ok(metrics)
    }

    fn routes(&self) -> Router {
        let metrics = Arc::clone(&self.0);
        let page = get(async move |headers: HeaderMap| {
            let accepted = headers
                .get_all(ACCEPT)
                .iter()
                .filter_map(|value| value.to_str().ok());
            let format = TextFormat::accepted(&accepted.collect::<Vec<&str>>().join(","));
            ([(CONTENT_TYPE, format.content_type())], metrics.text(format))
        });
        Router::new()
            .route("/metrics", page.clone())
            .route("/", page)
            .fallback((StatusCode::NOT_FOUND, "the metrics are at /metrics\n"))
    }

    /// Updates the metrics from an event.
    pub(super) fn take(&self, event: &Event) {
        self.0.event(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_one_of_the_loopback_address() {
        let read = |text: &str| text.parse::<MetricsAddress>();
        for text in ["9100", ":9100", "127.0.0.1:9100"] {
            assert_eq!(
                read(text),
                Ok(MetricsAddress(SocketAddr::from(([127, 0, 0, 1], 9100))))
            );
        }
        assert!(read("0.0.0.0:9100").is_ok() && read("[::1]:9100").is_ok());
        assert!(read("here").is_err() && read("99999").is_err());
    }
}
