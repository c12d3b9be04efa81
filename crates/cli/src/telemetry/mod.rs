//! Live metrics of the commands that make a load (`--otlp`, `--metrics`): the exporter, and the labels.

use crate::exit::bad_input;
use prony_load::{Job, Order};
use prony_records::{Event, load_id};
use prony_report::describe_load;
use prony_runner::secrets;
use prony_telemetry::{Collector, CollectorError, Exporter, Labels, Variables};
use std::str::FromStr;

/// The value of `--otlp`: a collector, or nothing if the standard variables name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CollectorArg(Option<Collector>);

impl FromStr for CollectorArg {
    type Err = CollectorError;

    fn from_str(text: &str) -> Result<Self, CollectorError> {
        let collector = (!text.is_empty()).then(|| text.parse()).transpose()?;
        Ok(Self(collector))
    }
}

/// The exporter, if metrics are to be sent.
pub(crate) fn exporter(wanted: Option<&CollectorArg>) -> anyhow::Result<Option<Exporter>> {
    let Some(CollectorArg(url)) = wanted else {
        return Ok(None);
    };
    let read = |name: &str| std::env::var(name).ok();
    let variables = Variables(&read);
    let collector = variables.collector(url.as_ref()).map_err(bad_input)?;
    secrets::add(|known| known.add_target(&collector.target()));
    let host = prony_host::hostname().unwrap_or_else(|| "localhost".to_owned());
    let instance = format!("{host}-{}", std::process::id());
    let settings = variables.settings(&instance).map_err(bad_input)?;
    Ok(Some(Exporter::new(collector, settings).map_err(bad_input)?))
}

/// Sends the metrics of a command's loads on a URL.
pub(crate) struct LiveMetrics(Exporter);

impl LiveMetrics {
    /// `None` without a collector.
    pub(crate) fn to(wanted: Option<&CollectorArg>) -> anyhow::Result<Option<Self>> {
        Ok(exporter(wanted)?.map(Self))
    }

    /// Sends the metrics of an event.
    pub(crate) fn take(&self, labels: &Labels, event: &Event) {
        self.0.event(labels, event);
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
    let mut labels = Labels::of(job.protocol, &job.workload);
    labels.set("prony.service", job.target.authority.clone());
    labels.set("prony.workload", job.workload.name.clone());
    labels.set("prony.load", describe_load(&load, is_sequence));
    labels.set("prony.load_id", load_id(&load));
    labels.set("server.address", job.target.host.clone());
    labels.set("server.port", job.target.port);
    if let Some(run) = run {
        labels.set("prony.run", run);
    }
    labels
}
