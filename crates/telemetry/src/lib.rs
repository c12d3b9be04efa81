//! What a load does now, as metrics of OpenTelemetry: intervals are summed up, and the sums go to a collector about once a
//! second while the load goes on (OTLP over HTTP, in protobuf).
//!
//! A collector is a guest. This crate must never hold up whoever tells it an interval, and never fail a load: what a collector
//! does not take costs one warning. Start at [`Exporter`].

mod collector;
mod exporter;
mod http_export;
mod metrics;
mod otlp;

pub use collector::{Collector, CollectorError};
pub use exporter::Exporter;
pub use metrics::Labels;
