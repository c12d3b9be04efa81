//! Live metrics of the commands that make a load (`--otlp`): the exporter, and its labels.

use crate::exit::bad_input;
use prony_load::{Job, Order};
use prony_records::{Event, load_id};
use prony_report::describe_load;
use prony_runner::secrets;
use prony_telemetry::{Collector, Exporter, Labels};

/// The standard variable with headers for OpenTelemetry collectors: secrets must not be in arguments.
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";

/// The exporter for a collector, if one is given.
pub(crate) fn exporter(collector: Option<&Collector>) -> anyhow::Result<Option<Exporter>> {
    let Some(mut collector) = collector.cloned() else {
        return Ok(None);
    };
    if let Ok(headers) = std::env::var(HEADERS) {
        let with = collector.with_headers(&headers);
        collector = with.map_err(|error| bad_input(anyhow::Error::new(error).context(HEADERS)))?;
    }
    secrets::add(|known| known.add_target(&collector.target()));
    let host = prony_host::hostname().unwrap_or_else(|| "localhost".to_owned());
    let instance = format!("{host}-{}", std::process::id());
    Ok(Some(Exporter::new(collector, instance).map_err(bad_input)?))
}

/// Sends the metrics of a command's loads on a URL.
pub(crate) struct LiveMetrics(Exporter);

impl LiveMetrics {
    /// `None` without a collector.
    pub(crate) fn to(collector: Option<&Collector>) -> anyhow::Result<Option<Self>> {
        Ok(exporter(collector)?.map(Self))
    }

    /// Sends the metrics of an event.
    pub(crate) fn take(&self, labels: &Labels, event: &Event) {
        if let Event::Interval {
            phase,
            interval,
            times,
        } = event
        {
            self.0.interval(labels, *phase, interval, times);
        }
    }

    /// Why the collector does not receive the metrics; returned only once.
    pub(crate) fn warning(&self) -> Option<String> {
        self.0.warning().map(|text| format!("warning: {text}"))
    }

    /// Sends the remaining metrics after the last load.
    pub(crate) fn finish(&self) {
        self.0.finish();
        if let Some(text) = self.warning() {
            eprintln!("{text}");
        }
    }
}

/// The labels of a load on a URL; `run` is the name under which it is saved.
pub(crate) fn labels(job: &Job, run: Option<&str>) -> Labels {
    let load = serde_json::to_value(&job.load).unwrap_or_default();
    let is_sequence = matches!(job.workload.order, Order::Sequence(_));
    let mut attributes = vec![
        ("service", job.target.authority.clone()),
        ("workload", job.workload.name.clone()),
        ("load", describe_load(&load, is_sequence)),
        ("load_id", load_id(&load)),
        ("server.address", job.target.host.clone()),
        ("server.port", job.target.port.to_string()),
    ];
    attributes.extend(run.map(|run| ("run", run.to_owned())));
    Labels {
        protocol: job.protocol,
        attributes,
    }
}
