//! Live metrics for Prometheus during a load (`--metrics`): the text format, over HTTP.

use crate::http_server::{HttpServer, exposition};
use anyhow::Context as _;
use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use prony_records::{Event, Interval, Phase};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

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

/// Totals so far, and the last interval.
#[derive(Debug, Default)]
struct Figures {
    phase: Option<Phase>,
    completed: u64,
    valid: u64,
    errors: u64,
    /// `None` without streams.
    messages: Option<u64>,
    connections: u64,
    last: Option<Interval>,
}

/// The metrics, served by a thread until the process ends.
#[derive(Clone, Default)]
pub(super) struct Metrics(Arc<Mutex<Figures>>);

impl Metrics {
    /// Starts serving. Prints the address on standard error, because the kernel may have chosen the port.
    pub(super) fn serve(address: MetricsAddress) -> anyhow::Result<Self> {
        let server = HttpServer::bind(address.0)
            .with_context(|| format!("cannot serve the metrics of --metrics on {}", address.0))?;
        eprintln!("prony: metrics at http://{}/metrics", server.address());
        let metrics = Self::default();
        let routes = metrics.routes();
        // A server that fails must not end the measurement.
        std::thread::spawn(move || server.serve(routes));
        Ok(metrics)
    }

    fn routes(&self) -> Router {
        let metrics = self.clone();
        let page = get(async move || exposition(metrics.text()));
        Router::new()
            .route("/metrics", page.clone())
            .route("/", page)
            .fallback((StatusCode::NOT_FOUND, "the metrics are at /metrics\n"))
    }

    /// Updates the metrics from an event.
    pub(super) fn take(&self, event: &Event) {
        let mut figures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Phase { phase, established } => {
                figures.phase = Some(*phase);
                figures.connections = *established;
            }
            Event::Interval { interval, .. } => {
                figures.completed += interval.completed;
                figures.valid += interval.valid;
                figures.errors += interval.errors;
                if let Some(messages) = interval.messages {
                    *figures.messages.get_or_insert_default() += messages;
                }
                figures.last = Some(*interval);
            }
            // Single workers of a testbed are not scraped: their totals arrive as intervals.
            Event::IntervalPart { .. }
            | Event::Workers { .. }
            | Event::Part { .. }
            | Event::Recording { .. }
            | Event::Failed { .. } => {}
        }
    }

    fn text(&self) -> String {
        let figures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        counters(&figures, &mut text);
        gauge(
            &mut text,
            "prony_connections",
            "Connections when the phase began.",
            figures.connections as f64,
        );
        let _ = writeln!(
            text,
            "# HELP prony_phase The current phase.\n# TYPE prony_phase gauge"
        );
        for (name, phase) in [
            ("warm_up", Phase::WarmUp),
            ("measurement", Phase::Measurement),
            ("drain", Phase::Drain),
        ] {
            let on = u8::from(figures.phase == Some(phase));
            let _ = writeln!(text, "prony_phase{{phase=\"{name}\"}} {on}");
        }
        if let Some(last) = figures.last {
            gauge(
                &mut text,
                "prony_replies_per_second",
                "Complete replies in the last interval.",
                last.throughput_per_s(),
            );
            for (name, quantile, ns) in [
                (
                    "prony_response_time_p50_seconds",
                    "Median",
                    last.response_time_ns_p50,
                ),
                (
                    "prony_response_time_p99_seconds",
                    "99th percentile",
                    last.response_time_ns_p99,
                ),
            ] {
                if let Some(ns) = ns {
                    let help = format!("{quantile} of the response time in the last interval.");
                    gauge(&mut text, name, &help, ns as f64 / 1e9);
                }
            }
        }
        text
    }
}

/// Writes the counters, which only grow.
fn counters(figures: &Figures, text: &mut String) {
    let counters = [
        (
            "prony_replies_total",
            "Complete replies since the load began.",
            Some(figures.completed),
        ),
        (
            "prony_valid_replies_total",
            "Valid replies since the load began.",
            Some(figures.valid),
        ),
        (
            "prony_errors_total",
            "Requests that failed since the load began.",
            Some(figures.errors),
        ),
        (
            "prony_messages_total",
            "Messages of streams since the load began.",
            figures.messages,
        ),
    ];
    for (name, help, value) in counters {
        if let Some(value) = value {
            let _ = writeln!(
                text,
                "# HELP {name} {help}\n# TYPE {name} counter\n{name} {value}"
            );
        }
    }
}

fn gauge(text: &mut String, name: &str, help: &str, value: f64) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_records::CompactHistogram;

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

    #[test]
    fn figures_add_up_over_the_intervals() {
        let metrics = Metrics::default();
        let interval = Interval {
            start_s: 0.0,
            length_s: 0.5,
            completed: 10,
            valid: 9,
            errors: 2,
            messages: None,
            response_time_ns_p50: Some(1_000_000),
            response_time_ns_p99: None,
        };
        for _ in 0..2 {
            metrics.take(&Event::Interval {
                phase: Phase::Measurement,
                interval,
                times: CompactHistogram::default(),
            });
        }
        let text = metrics.text();
        for line in [
            "prony_replies_total 20",
            "prony_valid_replies_total 18",
            "prony_errors_total 4",
            "prony_replies_per_second 20",
            "prony_response_time_p50_seconds 0.001",
        ] {
            assert!(text.lines().any(|one| one == line), "{line} in {text}");
        }
        assert!(!text.contains("p99"));
    }
}
