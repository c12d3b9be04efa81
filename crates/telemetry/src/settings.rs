//! The standard variables of OpenTelemetry that configure an exporter.

use crate::collector::{Collector, CollectorError};
use percent_encoding::percent_decode_str;

/// The variables, by the name that the specification gives them. Those for metrics take precedence over those for all signals.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const METRICS_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT";
const HEADERS: [&str; 2] = ["OTEL_EXPORTER_OTLP_METRICS_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];
const COMPRESSION: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_METRICS_COMPRESSION",
    "OTEL_EXPORTER_OTLP_COMPRESSION",
];
const HISTOGRAM: &str = "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION";
const RESOURCE: &str = "OTEL_RESOURCE_ATTRIBUTES";
const SERVICE: &str = "OTEL_SERVICE_NAME";

/// How response times are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum HistogramKind {
    /// In buckets with fixed bounds.
    #[default]
    Explicit,
    /// In buckets that grow by a constant factor: Prometheus stores them as a native histogram.
    Exponential,
}

/// What the sender says about itself, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// The attributes of the resource.
    pub(crate) resource: Vec<(String, String)>,
    pub(crate) histogram: HistogramKind,
    /// Whether requests are compressed with gzip.
    pub(crate) compresses: bool,
}

/// Why a variable is invalid. It has the name of the variable; a value may be secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error("{0}: {1}")]
    Collector(&'static str, CollectorError),
    #[error("{0} is `{1}`: use {2}")]
    Value(&'static str, String, &'static str),
    #[error("{RESOURCE}: entry {0} is invalid: write KEY=VALUE, percent-encoded, separated by commas")]
    Resource(usize),
    #[error(
        "--otlp has no URL, and neither {METRICS_ENDPOINT} nor {ENDPOINT} is set: set one, or write --otlp URL"
    )]
    NoEndpoint,
}

/// Reads variables; an empty one counts as absent.
pub struct Variables<'a>(pub &'a dyn Fn(&str) -> Option<String>);

impl Variables<'_> {
    fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|value| !value.trim().is_empty())
    }

    /// The first that is set, with its name.
    fn first(&self, names: [&'static str; 2]) -> Option<(&'static str, String)> {
        names.into_iter().find_map(|name| Some((name, self.get(name)?)))
    }

    /// The collector: that of `--otlp URL`, else that of the variables. The headers come from the variables, because secrets must
    /// not be in arguments.
    pub fn collector(&self, url: Option<&Collector>) -> Result<Collector, SettingsError> {
        let collector = match url {
            Some(url) => url.clone(),
            None => self.endpoint()?,
        };
        let Some((name, headers)) = self.first(HEADERS) else {
            return Ok(collector);
        };
        let with = collector.with_headers(&headers);
        with.map_err(|error| SettingsError::Collector(name, error))
    }

    fn endpoint(&self) -> Result<Collector, SettingsError> {
        // The URL for metrics is used as it is.
        let (name, collector) = match (self.get(METRICS_ENDPOINT), self.get(ENDPOINT)) {
            (Some(url), _) => (METRICS_ENDPOINT, Collector::at(&url)),
            (None, Some(url)) => (ENDPOINT, url.parse()),
            (None, None) => return Err(SettingsError::NoEndpoint),
        };
        collector.map_err(|error| SettingsError::Collector(name, error))
    }

    /// The settings of a sender that `instance` identifies.
    pub fn settings(&self, instance: &str) -> Result<Settings, SettingsError> {
        let histogram = match self.get(HISTOGRAM) {
            None => HistogramKind::default(),
            Some(kind) if kind == "explicit_bucket_histogram" => HistogramKind::Explicit,
            Some(kind) if kind == "base2_exponential_bucket_histogram" => HistogramKind::Exponential,
            Some(other) => {
                let known = "explicit_bucket_histogram or base2_exponential_bucket_histogram";
                return Err(SettingsError::Value(HISTOGRAM, other, known));
            }
        };
        let compresses = match self.first(COMPRESSION) {
            None => false,
            Some((_, kind)) if kind == "none" => false,
            Some((_, kind)) if kind == "gzip" => true,
            Some((name, other)) => return Err(SettingsError::Value(name, other, "gzip or none")),
        };
        Ok(Settings {
            resource: self.resource(instance)?,
            histogram,
            compresses,
        })
    }

    fn resource(&self, instance: &str) -> Result<Vec<(String, String)>, SettingsError> {
        let mut attributes = vec![
            ("service.name".to_owned(), "prony".to_owned()),
            ("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            ("service.instance.id".to_owned(), instance.to_owned()),
        ];
        let mut set = |key: String, value: String| {
            attributes.retain(|(known, _)| *known != key);
            attributes.push((key, value));
        };
        let written = self.get(RESOURCE).unwrap_or_default();
        let entries = written
            .split(',')
            .map(str::trim)
            .filter(|entry| !entry.is_empty());
        for (number, entry) in (1..).zip(entries) {
            let (key, value) = entry.split_once('=').ok_or(SettingsError::Resource(number))?;
            let value = percent_decode_str(value.trim()).decode_utf8();
            let value = value.map_err(|_| SettingsError::Resource(number))?;
            set(key.trim().to_owned(), value.into_owned());
        }
        if let Some(name) = self.get(SERVICE) {
            set("service.name".to_owned(), name);
        }
        Ok(attributes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(set: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        let get = |name: &str| {
            let found = set.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Variables(&get).settings("here-1")
    }

    #[test]
    fn the_resource_comes_from_the_variables() {
        let read = settings(&[
            (
                RESOURCE,
                "deployment.environment.name=ci, service.name=nightly,team=a%2Cb",
            ),
            (SERVICE, "bench"),
        ]);
        let read = read.expect("valid").resource;
        let value = |key: &str| {
            let found: Vec<&str> = read
                .iter()
                .filter(|(known, _)| known == key)
                .map(|(_, value)| value.as_str())
                .collect();
            found.join("+")
        };
        assert_eq!(value("service.name"), "bench");
        assert_eq!(value("deployment.environment.name"), "ci");
        assert_eq!(value("team"), "a,b");
        assert_eq!(value("service.instance.id"), "here-1");
        assert_eq!(settings(&[(RESOURCE, "a=b,c")]), Err(SettingsError::Resource(2)));
    }

    #[test]
    fn unknown_values_name_their_variable() {
        for name in [COMPRESSION[0], COMPRESSION[1], HISTOGRAM] {
            let refused = settings(&[(name, "zstd")]).expect_err("unknown").to_string();
            assert!(
                refused.starts_with(&format!("{name} is `zstd`: use ")),
                "{refused}"
            );
        }
        let read = settings(&[
            (COMPRESSION[1], "gzip"),
            (HISTOGRAM, "base2_exponential_bucket_histogram"),
        ]);
        let read = read.expect("valid");
        assert_eq!(
            (read.compresses, read.histogram),
            (true, HistogramKind::Exponential)
        );
    }
}
