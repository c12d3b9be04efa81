//! `prony compare`: two runs, exported reports or git revisions, with a verdict for each metric.

mod github;
mod headline;
mod input;
mod measure;
mod noise;
mod text;

use crate::checkout::{ClaimArgs, LabArgs, StoreArgs};
use crate::exit::{Exit, bad_input};
use crate::output::print;
use crate::parse_share::share;
use crate::reporting;
use anyhow::anyhow;
use headline::Word;
use input::Side;
use measure::{Measuring, Sides};
use prony_runner::Named;
use prony_statistics::{ChangeOptions, Metric, Mismatch, RunChange, compare, mismatches};
use serde::Serialize;
use std::path::PathBuf;

/// Compare two runs: what became faster or slower, is the same, or is inconclusive
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  prony compare 2026-11-20T08-30-00-quick latest
  prony compare base.json latest --max-slowdown 3% --format md
  prony compare go-gorilla@HEAD~1 go-gorilla
  prony compare go-gorilla@main go-gorilla --at-once --budget 5m --max-slowdown 2% --format github

Services or git revisions of them are measured now, side by side in the same rounds; runs and files are compared as they
are; with --at-once both are loaded at the same time, for machines that others use as well. Exit code 3 when something that is gated
became slower by more than --max-slowdown, with its whole interval, and with --fail-on inconclusive also when that is neither
shown nor excluded. Services and revisions always gate.
Two runs gate only with --history, since how runs vary from one to the next is not in their intervals.")]
pub(crate) struct Args {
    /// What to compare with: a run (its name, the start or end of it, `latest`), a file that `prony report --format json`
    /// wrote, or SERVICE[/VARIANT][@REVISION]
    #[arg(value_name = "BASE")]
    base: String,
    /// What to judge, in the same words
    #[arg(value_name = "NEW")]
    new: String,
    /// How much slower the new may be: `3%`
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0")]
    max_slowdown: f64,
    /// What fails the comparison (exit code 3)
    #[arg(long, value_enum, value_name = "OUTCOME", default_value = "regression")]
    fail_on: FailOn,
    /// A metric that may fail the comparison beside the one that the run is ranked by: `cpu_ns_per_request`; may be given
    /// again
    #[arg(long = "gate", value_name = "METRIC", value_parser = metric)]
    gates: Vec<Metric>,
    /// Confidence of all ratios together: `95%`
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "95%")]
    confidence: f64,
    /// Differences below this count as none: `1%`
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "1%")]
    tie: f64,
    /// Compare in spite of different machines, suites, versions or generators
    #[arg(long)]
    force: bool,
    /// Show where the history of each service in the new run changed, and fail where it became slower than at least three
    /// earlier runs of the store lead to expect
    #[arg(long)]
    history: bool,
    /// What to write
    #[arg(long, value_enum, default_value = "terminal")]
    format: Form,
    /// Print JSON: `--format json` in short
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Where to write: a file, or a folder, which takes it as `comparison.md` and so on [default: standard output]
    #[arg(long, short, value_name = "PATH")]
    out: Option<PathBuf>,
    #[command(flatten)]
    measuring: Measuring,
    #[command(flatten)]
    lab: LabArgs,
    #[command(flatten)]
    claim: ClaimArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// The outcomes that fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FailOn {
    /// A slowdown that is surely more than allowed
    Regression,
    /// That, and where a slowdown of more than is allowed is neither shown nor excluded, or nothing is gated
    Inconclusive,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// Aligned text
    Terminal,
    /// Markdown, with all metrics
    Md,
    /// Markdown for the summary of a job and for a comment on a pull request: the verdict first
    Github,
    /// All of it, for programs
    Json,
}

/// What was compared and what was found.
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
    /// What other programs used of the machine during saved loads, as a share of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    others: Option<Others>,
    #[serde(flatten)]
    change: RunChange,
    /// How both were measured, where this command did it.
    measured: Option<Sides>,
    history: Vec<input::History>,
}

/// Shares of the machine; `null` where one is not known.
#[derive(Debug, Clone, Copy, Serialize)]
struct Others {
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
    let comparison = match (Named::read(&args.base)?, Named::read(&args.new)?) {
        (Some(base), Some(new)) => measure::measured(args, (&base, &new), &options)?,
        (None, None) => found(args, &options)?,
        (Some(_), None) | (None, Some(_)) => {
            let text = "a service can only be compared with a service, and a run with a run: `prony list runs` shows \
                        the runs, `prony list services` the services";
            return Err(bad_input(anyhow!(text)));
        }
    };
    let comparison = comparison.concluded(args.fail_on);
    let form = if args.json { Form::Json } else { args.format };
    let (written, usual) = match form {
        Form::Terminal => (text::terminal(&comparison), "comparison.txt"),
        Form::Md => (text::markdown(&comparison), "comparison.md"),
        Form::Github => (github::markdown(&comparison), "comparison.md"),
        Form::Json => (serde_json::to_string_pretty(&comparison)?, "comparison.json"),
    };
    match &args.out {
        Some(out) => reporting::write(&reporting::file(out, usual), &(written + "\n"))?,
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
            Word::Regression => true,
            Word::NoRegression => false,
            Word::Inconclusive | Word::NotGated => fail_on == FailOn::Inconclusive,
        };
        if fails { Exit::ObjectiveFailed } else { Exit::Fine }
    }

    /// With its verdict.
    fn concluded(self, fail_on: FailOn) -> Self {
        Self {
            verdict: headline::word(&self).key(),
            headline: headline::headline(&self),
            exit: self.outcome(fail_on).code(),
            ..self
        }
    }
}

/// Two runs or files.
fn found(args: &Args, options: &ChangeOptions) -> anyhow::Result<Comparison> {
    let base = Side::find(&args.base, &args.store, args.confidence)?;
    let new = Side::find(&args.new, &args.store, args.confidence)?;
    let mismatches = mismatches(&base.circumstances(), &new.circumstances());
    let are_loads = base.are_loads() && new.are_loads();
    // Saved loads gate nothing: there the differences are warnings.
    if !mismatches.is_empty() && !args.force && !are_loads {
        let named: Vec<String> = mismatches
            .iter()
            .map(|mismatch| format!("  {mismatch}"))
            .collect();
        let text = format!(
            "the two runs differ in more than the services, so a difference of their numbers may come from there:\n{}\n\
             compare them all the same with --force",
            named.join("\n")
        );
        return Err(bad_input(anyhow!(text)));
    }
    let change = compare(&base.summary, &new.summary, options).map_err(bad_input)?;
    let (change, history) = if args.history {
        let history = new.history(&args.store, &options.gate, options.confidence)?;
        let earlier: Vec<_> = history.iter().map(|history| history.before(&new.name)).collect();
        let gated = change.gated_by(&earlier, options.confidence);
        (gated.map_err(bad_input)?, history)
    } else {
        (change.ungated(), Vec::new())
    };
    let others = are_loads.then_some(Others {
        base: base.others,
        new: new.others,
    });
    let mut comparison = comparison(args, (base.name, new.name), mismatches, change, history);
    comparison.others = others;
    Ok(comparison)
}

fn comparison(
    args: &Args,
    (base, new): (String, String),
    mismatches: Vec<Mismatch>,
    change: RunChange,
    history: Vec<input::History>,
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
        others: None,
        change,
        measured: None,
        history,
    }
}

fn metric(text: &str) -> Result<Metric, String> {
    let found = Metric::of_key(text);
    found.ok_or_else(|| {
        let known: Vec<&str> = Metric::ALL.iter().map(|metric| metric.key()).collect();
        format!("there is no such metric; known are {}", known.join(", "))
    })
}
