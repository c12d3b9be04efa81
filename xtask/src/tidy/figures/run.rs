//! The circumstances of a run: when, with which prony, on which machine.

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use std::fmt;

/// A run of `results/`.
pub(super) struct Run {
    pub(super) suite: String,
    /// The day on which it started, `2026-11-23`.
    pub(super) date: String,
    environment: Environment,
}

#[derive(PartialEq, Eq, Deserialize)]
struct Environment {
    /// The version.
    prony: String,
    commit: Option<String>,
    cpu: Cpu,
}

#[derive(PartialEq, Eq, Deserialize)]
struct Cpu {
    model: Option<String>,
    online: u32,
}

#[derive(Deserialize)]
struct Report {
    suite: String,
    started_at: String,
    environment: Environment,
}

impl Run {
    /// From the texts of report.json and environment.json.
    pub(super) fn read(report: &str, environment: &str) -> Result<Self> {
        let report: Report = serde_json::from_str(report).context("report.json")?;
        let environment: Environment = serde_json::from_str(environment).context("environment.json")?;
        ensure!(
            report.environment == environment,
            "report.json and environment.json have different machines, versions or commits"
        );
        let date = report.started_at.get(..10).context("report.json has no date")?;
        Ok(Self {
            date: date.to_owned(),
            suite: report.suite,
            environment,
        })
    }

    pub(super) fn machine(&self) -> String {
        let Cpu { model, online } = &self.environment.cpu;
        let unit = if *online == 1 { "CPU" } else { "CPUs" };
        format!("{}, {online} {unit}", model.as_deref().unwrap_or("unknown CPU"))
    }

    /// The version of prony.
    pub(super) fn version(&self) -> &str {
        &self.environment.prony
    }

    /// The commit, with `mark` on both sides, and whether files differed from it.
    pub(super) fn commit(&self, mark: &str) -> String {
        let commit = self.environment.commit.as_deref().unwrap_or("unknown");
        match commit.strip_suffix("+dirty") {
            Some(commit) => format!("{mark}{commit}{mark} with changes"),
            None => format!("{mark}{commit}{mark}"),
        }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (date, version) = (&self.date, self.version());
        write!(
            out,
            "{date}, prony {version}, commit {}, {}",
            self.commit(""),
            self.machine()
        )
    }
}
