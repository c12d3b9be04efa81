//! `prony compare`: compares two runs, exported reports or git revisions, with a verdict for each metric.

mod github;
mod headline;
mod input;
mod measure;
mod noise;
mod text;

use crate::checkout::{ClaimArgs, StoreArgs, TestbedArgs};
use crate::exit::{Exit, bad_input};
use crate::option_values::share;
use crate::output::print;
use crate::reporting;
use crate::text::{columns, show};
use anyhow::anyhow;
use headline::HeadlineVerdict;
use input::CompareSide;
use measure::{CompareArgs, CompareMode};
use prony_runner::ServiceSelector;
use prony_statistics::{ChangeOptions, Metric, Mismatch, RunChange, compare, mismatches};
use serde::Serialize;
use std::path::PathBuf;

/// Compare runs, saved loads or git revisions
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  prony compare 2026-11-20T08-30-00-quick latest
  prony compare base.json latest --max-slowdown 3% --format md
  prony compare before after
  prony compare go-gorilla@HEAD~1 go-gorilla
  prony compare go-gorilla@main go-gorilla --at-once --max-slowdown 2%

Services and their git revisions are measured now, in the same rounds; runs, saved loads and files are compared as they are. With \
--at-once both services are loaded at the same time, for machines that are shared with others.

The exit code is 3 if a gated metric became slower by more than --max-slowdown with its whole interval, and with --fail-on \
inconclusive also if that is neither proven nor ruled out. Comparisons of services and revisions are always gated. Two runs are \
gated only with --history, because the intervals of a run do not cover how runs vary.")]
pub(crate) struct Args {
    /// A run, a file of `prony report --json`, or SERVICE[/VARIANT][@REVISION]
    #[arg(value_name = "BASE")]
    base: String,
    /// What to compare with the base, in the same forms
    #[arg(value_name = "NEW")]
    new: String,
    /// Allowed slowdown, e.g. 3%
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0")]
    max_slowdown: f64,
    /// Outcome that fails the comparison (exit code 3)
    #[arg(long, value_enum, value_name = "OUTCOME", default_value = "regression")]
    fail_on: FailOn,
    /// Another metric that may fail; repeatable
    #[arg(long = "gate", value_name = "METRIC", value_parser = metric)]
    gates: Vec<Metric>,
    /// Confidence level, e.g. 95%
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "95%")]
    confidence: f64,
    /// Treat smaller differences as equal, e.g. 1%
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "1%")]
    tie: f64,
    /// Compare despite different circumstances
    #[arg(long)]
    force: bool,
    /// Compare with at least three earlier runs
    #[arg(long)]
    history: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "terminal")]
    format: CompareFormat,
    /// Print one JSON object
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Output file or folder [default: standard output]
    #[arg(long, short, value_name = "PATH")]
    out: Option<PathBuf>,
    #[command(flatten)]
    measuring: CompareArgs,
    #[command(flatten)]
    testbed: TestbedArgs,
    #[command(flatten)]
    claim: ClaimArgs,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FailOn {
    /// A slowdown that is proven to exceed the limit
    Regression,
    /// That, or a slowdown beyond the limit that is neither proven nor ruled out, or nothing being gated
    Inconclusive,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum CompareFormat {
    /// Aligned text
    Terminal,
    /// Markdown, with all metrics
    Md,
    /// Markdown for job summaries and pull request comments, with the verdict first
    Github,
    /// All data, for programs
    Json,
}

/// A comparison and its findings, as printed in JSON.
#[derive(Debug, Serialize)]
struct Comparison {
    schema: u32,
    /// `regression`, `no_regression`, `inconclusive` or `not_gated`.
    verdict: &'static str,
    headline: String,
    exit: u8,
    base: String,
    new: String,
    confidence: f64,
    tie_band: f64,
    max_slowdown: f64,
    /// Whether both were measured side by side in the same rounds.
    paired: bool,
    mismatches: Vec<Mismatch>,
    /// In what two saved loads differ because the user chose so: their requests, or their loads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    differences: Vec<Mismatch>,
    /// Shares of the machine that other programs used during saved loads.
    #[serde(skip_serializing_if = "Option::is_none")]
    others: Option<OtherProcesses>,
    #[serde(flatten)]
    change: RunChange,
    /// How both sides were measured; `None` for stored runs and files.
    measured: Option<CompareMode>,
    history: Vec<input::History>,
    /// Earlier runs that are not in the history.
    #[serde(
        rename = "left_out_of_history",
        skip_serializing_if = "input::LeftOut::is_empty"
    )]
    left_out: input::LeftOut,
}

/// Shares of the machine; `null` where a share is unknown.
#[derive(Debug, Clone, Copy, Serialize)]
struct OtherProcesses {
    base: Option<f64>,
    new: Option<f64>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let options = ChangeOptions {
        confidence: args.confidence,
        tie_band: args.tie,
        gate: args.gates.clone(),
        max_slowdown: args.max_slowdown,
        fail_on_inconclusive: args.fail_on == FailOn::Inconclusive,
        ..ChangeOptions::default()
    };
    let comparison = match (
        ServiceSelector::read(&args.base)?,
        ServiceSelector::read(&args.new)?,
    ) {
        (Some(base), Some(new)) => measure::measured(args, (&base, &new), &options)?,
        (None, None) => found(args, &options)?,
        (Some(_), None) | (None, Some(_)) => {
            let text = "a service can only be compared with a service, and a run with a run: `prony list runs` shows \
                        the runs, `prony list services` the services";
            return Err(bad_input(anyhow!(text)));
        }
    };
    let comparison = comparison.with_verdict(args.fail_on);
    let form = if args.json {
        CompareFormat::Json
    } else {
        args.format
    };
    let (written, usual) = match form {
        CompareFormat::Terminal => (text::terminal(&comparison, columns()), "comparison.txt"),
        CompareFormat::Md => (text::markdown(&comparison), "comparison.md"),
        CompareFormat::Github => (github::markdown(&comparison), "comparison.md"),
        CompareFormat::Json => (serde_json::to_string_pretty(&comparison)?, "comparison.json"),
    };
    match &args.out {
        Some(out) => reporting::write(&reporting::file(out, usual), &(written + "\n"))?,
        None if form == CompareFormat::Terminal => show(written.trim_end())?,
        None => print(written.trim_end())?,
    }
    if comparison
        .change
        .groups
        .iter()
        .all(|group| group.services.is_empty())
    {
        let text = format!(
            "nothing could be compared: {}",
            comparison.change.missing.join("; ")
        );
        return Err(bad_input(anyhow!(text)));
    }
    Ok(comparison.outcome(args.fail_on))
}

impl Comparison {
    fn outcome(&self, fail_on: FailOn) -> Exit {
        let fails = match headline::word(self) {
            HeadlineVerdict::Regression => true,
            HeadlineVerdict::NoRegression => false,
            HeadlineVerdict::Inconclusive | HeadlineVerdict::NotGated => fail_on == FailOn::Inconclusive,
        };
        if fails { Exit::ObjectiveFailed } else { Exit::Fine }
    }

    /// Fills in the verdict, the headline and the exit code.
    fn with_verdict(self, fail_on: FailOn) -> Self {
        Self {
            verdict: headline::word(&self).key(),
            headline: headline::headline(&self),
            exit: self.outcome(fail_on).code(),
            ..self
        }
    }
}

/// Compares two runs or files.
fn found(args: &Args, options: &ChangeOptions) -> anyhow::Result<Comparison> {
    let mut base = CompareSide::find(&args.base, &args.store, args.confidence)?;
    let new = CompareSide::find(&args.new, &args.store, args.confidence)?;
    let are_loads = base.are_loads() && new.are_loads();
    let differences = if are_loads {
        base.align_with(&new)
    } else {
        Vec::new()
    };
    let mismatches = mismatches(&base.circumstances(), &new.circumstances());
    // Saved loads are gated only with a history, so their mismatches are warnings.
    if !mismatches.is_empty() && !args.force && !are_loads {
        let named: Vec<String> = mismatches
            .iter()
            .map(|mismatch| format!("  {mismatch}"))
            .collect();
        let text = format!(
            "the two runs differ in more than the services, so differences in their numbers may have other causes:\n{}\n\
             use --force to compare them anyway",
            named.join("\n")
        );
        return Err(bad_input(anyhow!(text)));
    }
    let change = compare(&base.summary, &new.summary, options).map_err(bad_input)?;
    let (change, history) = if args.history {
        let history = new.history(&args.store, &options.gate, options.confidence)?;
        let earlier: Vec<_> = history
            .lines
            .iter()
            .map(|line| line.before(&base, &new))
            .collect();
        let gated = change.gated_by(&earlier, options).map_err(bad_input)?;
        let is_comparable = mismatches.is_empty() || args.force;
        (if is_comparable { gated } else { gated.undecided() }, history)
    } else {
        (change.ungated(), input::RunHistory::default())
    };
    let others = are_loads.then_some(OtherProcesses {
        base: base.others,
        new: new.others,
    });
    let mut comparison = comparison(args, (base.name, new.name), mismatches, change);
    comparison.history = history.lines;
    comparison.left_out = history.left_out;
    comparison.others = others;
    comparison.differences = differences;
    Ok(comparison)
}

fn comparison(
    args: &Args,
    (base, new): (String, String),
    mismatches: Vec<Mismatch>,
    change: RunChange,
) -> Comparison {
    Comparison {
        schema: 1,
        verdict: "",
        headline: String::new(),
        exit: 0,
        base,
        new,
        confidence: args.confidence,
        tie_band: args.tie,
        max_slowdown: args.max_slowdown,
        paired: false,
        mismatches,
        differences: Vec::new(),
        others: None,
        change,
        measured: None,
        history: Vec::new(),
        left_out: input::LeftOut::default(),
    }
}

fn metric(text: &str) -> Result<Metric, String> {
    let found = Metric::of_key(text);
    found.ok_or_else(|| {
        let known: Vec<&str> = Metric::ALL.iter().map(|metric| metric.key()).collect();
        format!("unknown metric; known metrics are {}", known.join(", "))
    })
}
