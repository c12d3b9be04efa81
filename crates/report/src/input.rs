//! What a report is made from.

use crate::ReportError;
use prony_records::{CheckMatrix, RunRecord, ServiceInfo, TrialRecord};
use prony_statistics::{Metric, Summary};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// What a report is made from.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The run.
    pub run: &'a RunRecord,
    /// Its trials so far.
    pub trials: &'a [TrialRecord],
    /// What they say.
    pub summary: &'a Summary,
    /// What is known of the services beside their numbers.
    pub services: &'a [ServiceInfo],
    /// Published figures of others.
    pub references: &'a [References],
    /// The contract checks of the run.
    pub checks: Option<&'a CheckMatrix>,
    /// Whether the run still goes on, where it has no end.
    pub running: bool,
}

/// Published figures of one source.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct References {
    /// Short name of the source.
    pub source: String,
    /// Its title.
    pub title: String,
    /// When it was published.
    pub date: String,
    /// The machine that it used.
    pub machine: String,
    /// How it measured.
    pub parameters: String,
    /// The contract that the figures are about.
    pub contract: String,
    /// The figures.
    #[serde(rename = "figure", default)]
    pub figures: Vec<PublishedFigure>,
}

/// One published figure.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PublishedFigure {
    /// The name that the source prints.
    pub service: String,
    /// Our service and variant that it is about, `name/variant`; `*` stands for any text.
    pub ours: String,
    /// The workload of the contract.
    pub workload: String,
    /// Users per second at the peak, where a source has several loads of arriving users.
    pub users_per_s: Option<f64>,
    /// What to know about the figure.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The figures, each under the key of its metric, among other facts that the source prints.
    #[serde(flatten)]
    pub facts: BTreeMap<String, toml::Value>,
}

impl PublishedFigure {
    /// What the source prints of a metric, in the unit of the metric.
    pub fn value(&self, metric: Metric) -> Option<f64> {
        let value = self.facts.get(metric.key())?;
        value
            .as_float()
            .or_else(|| value.as_integer().map(|whole| whole as f64))
    }
}

impl References {
    /// Reads a file of published figures; `file` names it in an error.
    pub fn read(file: &Path, text: &str) -> Result<Self, ReportError> {
        toml::from_str(text).map_err(|source| ReportError::References {
            file: file.to_owned(),
            source: Box::new(source),
        })
    }
}
