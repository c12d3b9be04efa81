//! Live metrics of a load for OpenTelemetry: intervals are summed up, and the sums are sent to a collector about once a
//! second while the load runs (OTLP over HTTP, in protobuf).
//!
//! A collector is a guest. This crate must never block the caller that reports an interval, and never fail a load:
//! metrics that a collector does not accept cost one warning. Start at [`Exporter`].

mod collector;
mod exporter;
mod http_export;
mod metrics;
mod otlp;

pub use collector::{Collector, CollectorError};
pub use exporter::Exporter;
pub use metrics::Labels;
