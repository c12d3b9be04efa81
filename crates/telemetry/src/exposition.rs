//! The metrics in the text formats of Prometheus, under the names and labels that Prometheus gives them when it receives them over
//! OTLP. So a query finds them in either way.

use crate::figures::{Exemplar, Figures, Sample};
use crate::labels::Labels;
use crate::metrics::metrics;
use crate::otlp::{
    HistogramDataPoint, KeyValue, Metric, NumberDataPoint, any_value, metric, number_data_point,
};
use crate::settings::HistogramKind;
use prony_records::{Event, Phase};
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A text format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFormat {
    /// The text format of Prometheus.
    Prometheus,
    /// `OpenMetrics`, which has the start of each series and exemplars.
    OpenMetrics,
}

impl TextFormat {
    /// The format that a client prefers, from the header `Accept` of its request.
    pub fn accepted(header: &str) -> Self {
        let quality = |kind: &str| {
            let mut ranges = header.split(',').filter_map(|range| {
                let mut parts = range.split(';').map(str::trim);
                if !parts.next()?.eq_ignore_ascii_case(kind) {
                    return None;
                }
                let quality = parts.find_map(|part| part.strip_prefix("q="));
                quality.map_or(Some(1.0), |text| text.parse::<f64>().ok())
            });
            ranges.next().unwrap_or_default()
        };
        let open = quality("application/openmetrics-text");
        if open > 0.0 && open >= quality("text/plain") {
            Self::OpenMetrics
        } else {
            Self::Prometheus
        }
    }

    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The metrics of a load, for a Prometheus that scrapes them.
#[derive(Debug)]
pub struct Exposition {
    labels: Labels,
    figures: Mutex<Figures>,
}

impl Exposition {
    /// The measurement is at zero from the start, so that the first scrape finds it.
    pub fn new(labels: Labels) -> Self {
        let mut figures = Figures::default();
        figures.phase(&labels, Phase::Measurement, None);
        Self {
            labels,
            figures: Mutex::new(figures),
        }
    }

    /// Updates the metrics from an event.
    pub fn event(&self, event: &Event) {
        self.figures().event(&self.labels, event);
    }

    /// The current values.
    pub fn text(&self, format: TextFormat) -> String {
        let figures = self.figures();
        let samples = figures.current();
        let mut out = String::new();
        for metric in metrics(&samples, HistogramKind::Explicit) {
            Family::of(&metric, format).write(&metric, &samples, &mut out);
        }
        if format == TextFormat::OpenMetrics {
            out.push_str("# EOF\n");
        }
        out
    }

    /// The sums stay valid if a thread panicked.
    fn figures(&self) -> MutexGuard<'_, Figures> {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name of a metric in Prometheus, and how it is written.
struct Family {
    name: String,
    is_open: bool,
}

impl Family {
    fn of(metric: &Metric, format: TextFormat) -> Self {
        let name = translated(&metric.name);
        let name = match unit(&metric.unit) {
            Some(unit) => format!("{name}_{unit}"),
            None => name,
        };
        Self {
            name,
            is_open: format == TextFormat::OpenMetrics,
        }
    }

    fn write(&self, metric: &Metric, samples: &[Sample<'_>], out: &mut String) {
        match &metric.data {
            Some(metric::Data::Sum(sum)) => {
                let name = format!("{}_total", self.name);
                self.head(metric, "counter", out);
                for point in &sum.data_points {
                    let labels = labels(&point.attributes);
                    line(out, &name, &labels, &value(point));
                    self.created(&labels, point.start_time_unix_nano, out);
                }
            }
            Some(metric::Data::Gauge(gauge)) => {
                self.head(metric, "gauge", out);
                for point in &gauge.data_points {
                    line(out, &self.name, &labels(&point.attributes), &value(point));
                }
            }
            Some(metric::Data::Histogram(histogram)) => {
                self.head(metric, "histogram", out);
                // One load has one set of labels: each sample has a point.
                for (point, sample) in histogram.data_points.iter().zip(samples) {
                    self.buckets(point, &sample.counts.exemplars, out);
                }
            }
            Some(metric::Data::ExponentialHistogram(_)) | None => {}
        }
    }

    /// `OpenMetrics` names a counter without `_total`.
    fn head(&self, metric: &Metric, kind: &str, out: &mut String) {
        let end = if kind == "counter" && !self.is_open {
            "_total"
        } else {
            ""
        };
        let name = format!("{}{end}", self.name);
        let _ = writeln!(out, "# HELP {name} {}\n# TYPE {name} {kind}", metric.description);
        if let Some(unit) = unit(&metric.unit).filter(|_| self.is_open) {
            let _ = writeln!(out, "# UNIT {name} {unit}");
        }
    }

    fn buckets(&self, point: &HistogramDataPoint, exemplars: &[Option<Exemplar>], out: &mut String) {
        let labels = labels(&point.attributes);
        let name = format!("{}_bucket", self.name);
        let bounds = point.explicit_bounds.iter().map(ToString::to_string);
        let bounds = bounds.chain(["+Inf".to_owned()]);
        let mut sum = 0;
        for ((count, bound), exemplar) in point.bucket_counts.iter().zip(bounds).zip(exemplars) {
            sum += count;
            let exemplar = exemplar.filter(|_| self.is_open).map(|one| {
                let at = one.at_ns as f64 / 1e9;
                format!(" # {{}} {} {at:.3}", one.seconds)
            });
            let value = format!("{sum}{}", exemplar.unwrap_or_default());
            line(out, &name, &format!("{labels},le=\"{bound}\""), &value);
        }
        line(
            out,
            &format!("{}_sum", self.name),
            &labels,
            &point.sum.unwrap_or_default().to_string(),
        );
        line(
            out,
            &format!("{}_count", self.name),
            &labels,
            &point.count.to_string(),
        );
        self.created(&labels, point.start_time_unix_nano, out);
    }

    /// The start of a series.
    fn created(&self, labels: &str, at_ns: u64, out: &mut String) {
        if self.is_open {
            let at = format!("{:.3}", at_ns as f64 / 1e9);
            line(out, &format!("{}_created", self.name), labels, &at);
        }
    }
}

fn line(out: &mut String, name: &str, labels: &str, value: &str) {
    let _ = writeln!(out, "{name}{{{labels}}} {value}");
}

fn value(point: &NumberDataPoint) -> String {
    match point.value {
        Some(number_data_point::Value::AsInt(value)) => value.to_string(),
        Some(number_data_point::Value::AsDouble(value)) => value.to_string(),
        None => "NaN".to_owned(),
    }
}

/// Letters that a name in Prometheus cannot have become `_`.
fn translated(name: &str) -> String {
    name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_")
}

/// The word that a unit adds to a name. Units in braces add none.
fn unit(unit: &str) -> Option<&'static str> {
    match unit {
        "s" => Some("seconds"),
        _ => None,
    }
}

fn labels(attributes: &[KeyValue]) -> String {
    let pairs = attributes.iter().map(|attribute| {
        let value = match attribute.value.as_ref().and_then(|value| value.value.as_ref()) {
            Some(any_value::Value::StringValue(text)) => quoted(text),
            Some(any_value::Value::IntValue(number)) => number.to_string(),
            None => String::new(),
        };
        format!("{}=\"{value}\"", translated(&attribute.key))
    });
    pairs.collect::<Vec<String>>().join(",")
}

/// Escapes the backslash, the quote and the line feed in a label value.
fn quoted(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_accepts_openmetrics_gets_it() {
        let prometheus = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                          text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!(TextFormat::accepted(prometheus), TextFormat::OpenMetrics);
        for header in [
            "",
            "*/*",
            "text/plain",
            "text/plain, application/openmetrics-text;q=0.5",
            "application/openmetrics-text;q=0",
        ] {
            assert_eq!(TextFormat::accepted(header), TextFormat::Prometheus, "{header}");
        }
    }
}
