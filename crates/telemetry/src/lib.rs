//! Live metrics of a load: intervals are summed up. The sums are sent to an OpenTelemetry collector about once a second while the
//! load runs (OTLP over HTTP, in protobuf), or written in the text formats of Prometheus.
//!
//! A collector is a guest. This crate must never block the caller that reports an interval, and never fail a load:
//! metrics that a collector does not accept cost one warning. Start at [`Exporter`].

mod collector;
mod exporter;
mod exposition;
mod figures;
mod http_export;
mod labels;
mod metrics;
mod otlp;
mod settings;

pub use collector::{Collector, CollectorError};
pub use exporter::Exporter;
pub use exposition::{Exposition, TextFormat};
pub use figures::IntervalCounts;
pub use labels::{AttributeValue, Labels};
pub use settings::{Settings, SettingsError, Variables};
