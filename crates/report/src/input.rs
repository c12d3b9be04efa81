//! The input of a report.

use crate::ReportError;
use prony_records::{CheckMatrix, RunRecord, ServiceInfo, TrialRecord};
use prony_statistics::{Metric, Summary};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Everything that a report is made from.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    pub run: &'a RunRecord,
    /// Its trials so far.
    pub trials: &'a [TrialRecord],
    /// The statistics of the trials.
    pub summary: &'a Summary,
    /// Metadata of the services.
    pub services: &'a [ServiceInfo],
    /// Published results of others.
    pub references: &'a [References],
    pub checks: Option<&'a CheckMatrix>,
    /// Whether the run is still in progress, if it has no end.
    pub running: bool,
}

/// Published figures of one source.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct References {
    /// Short name of the source.
    pub source: String,
    pub title: String,
    /// Date of publication.
    pub date: String,
    pub machine: String,
    /// How the source measured.
    pub parameters: String,
    pub contract: String,
    #[serde(rename = "figure", default)]
    pub figures: Vec<PublishedFigure>,
}

/// One published figure.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PublishedFigure {
    /// The name as the source prints it.
    pub service: String,
    /// Our corresponding service and variant, `name/variant`; `*` matches any text.
    pub ours: String,
    pub workload: String,
    /// Peak rate of users per second, if the source has several loads of arriving users.
    pub users_per_s: Option<f64>,
    /// Why it cannot be compared with ours, if so: it is listed without ours, and has no part in the rank correlation.
    pub incomparable: Option<String>,
    /// Remarks on the figure.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The figures by metric key, mixed with other facts that the source prints.
    #[serde(flatten)]
    pub facts: BTreeMap<String, toml::Value>,
}

impl PublishedFigure {
    /// The published value of a metric, in the unit of the metric.
    pub fn value(&self, metric: Metric) -> Option<f64> {
        let value = self.facts.get(metric.key())?;
        value
            .as_float()
            .or_else(|| value.as_integer().map(|whole| whole as f64))
    }
}

impl References {
    /// Parses a file of published figures; `file` names it in errors.
    pub fn read(file: &Path, text: &str) -> Result<Self, ReportError> {
        toml::from_str(text).map_err(|source| ReportError::References {
            file: file.to_owned(),
            source: Box::new(source),
        })
    }
}
