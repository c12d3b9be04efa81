//! `prony compare`: compares two runs, exported reports or git revisions, with a verdict for each metric.

mod github;
mod gitlab;
mod headline;
mod input;
mod junit;
mod measure;
mod noise;
mod outcome;
mod revisions;
mod text;
mod trackers;

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
use outcome::CompareOutcome;
use prony_config::RankBy;
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
  prony compare main HEAD --budget 5m

Services and their git revisions are measured now, in the same rounds; runs, saved loads and files are compared as they are. With \
--at-once both services are loaded at the same time, for machines that are shared with others.

Two git revisions: each service that differs between the last common commit and the new revision is loaded at the same time as its \
base. Without NEW, the files are measured as they are now. If a revision has the name of a run, write refs/heads/NAME.

The exit code is 3 if a gated metric became slower by more than --max-slowdown with its whole interval, and with --fail-on \
inconclusive also if that is neither proven nor ruled out. Comparisons of services and revisions are always gated. Two runs are \
gated only with --history, because the intervals of a run do not cover how runs vary.")]
pub(crate) struct Args {
    /// A run, a file of `prony report --json`, SERVICE[/VARIANT][@REVISION], or a git revision
    #[arg(value_name = "BASE")]
    base: String,
    /// What to compare with the base, in the same forms; without, the files as they are now with a git revision
    #[arg(value_name = "NEW")]
    new: Option<String>,
    /// Allowed slowdown, e.g. 3% [default: 0; 2% for git revisions]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    max_slowdown: Option<f64>,
    /// Outcome that fails the comparison (exit code 3)
    #[arg(long, value_enum, value_name = "OUTCOME", default_value = "regression")]
    fail_on: FailOn,
    /// Another metric that may fail, e.g. goodput or memory; repeatable
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
    /// Output format; several, separated by commas, go to the folder of --out
    #[arg(long, value_enum, value_delimiter = ',', default_value = "terminal")]
    format: Vec<CompareFormat>,
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
    /// A code quality report, which merge requests show
    Gitlab,
    /// JUnit XML, with a test for each gated metric
    Junit,
    /// Bencher Metric Format
    Bencher,
    /// `customSmallerIsBetter` of github-action-benchmark
    GithubActionBenchmark,
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

/// The default of `--max-slowdown` for git revisions: two builds of equal sources may differ by more than nothing.
const MAX_SLOWDOWN_OF_REVISIONS: f64 = 0.02;

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.format.len() > 1 && args.out.is_none() {
        return Err(bad_input(anyhow!(
            "several formats need a folder for their files: --out FOLDER"
        )));
    }
    let outcome = compared(args)?;
    let forms: &[CompareFormat] = if args.json {
        &[CompareFormat::Json]
    } else {
        &args.format
    };
    for &form in forms {
        let (written, usual) = rendered(&outcome, form, args.fail_on)?;
        match &args.out {
            Some(out) if forms.len() > 1 => {
                reporting::write(&reporting::folder(out)?.join(usual), &(written + "\n"))?;
            }
            Some(out) => reporting::write(&reporting::file(out, usual), &(written + "\n"))?,
            None if form == CompareFormat::Terminal => show(written.trim_end())?,
            None => print(written.trim_end())?,
        }
    }
    if let CompareOutcome::One(comparison) = &outcome {
        comparison.check_not_empty()?;
    }
    Ok(outcome.exit(args.fail_on))
}

fn compared(args: &Args) -> anyhow::Result<CompareOutcome> {
    let options = |max_slowdown: f64| ChangeOptions {
        confidence: args.confidence,
        tie_band: args.tie,
        gate: args.gates.clone(),
        max_slowdown: args.max_slowdown.unwrap_or(max_slowdown),
        fail_on_inconclusive: args.fail_on == FailOn::Inconclusive,
        ..ChangeOptions::default()
    };
    let base = ServiceSelector::read(&args.base)?;
    let new = args.new.as_deref().map(ServiceSelector::read).transpose()?;
    let comparison = match (base, new) {
        (Some(base), Some(Some(new))) => measure::measured(args, [&base, &new], &options(0.0))?,
        (None, None | Some(None)) if revisions::are_named(args) => {
            let comparison = revisions::compared(args, &options(MAX_SLOWDOWN_OF_REVISIONS))?;
            return Ok(CompareOutcome::Revisions(Box::new(comparison)));
        }
        (None, Some(None)) => found(args, &options(0.0))?,
        (_, None) => {
            let text = format!(
                "`{}` is no git revision, so it is not known what to compare it with → Name that as a second argument.",
                args.base
            );
            return Err(bad_input(anyhow!(text)));
        }
        (Some(_), Some(None)) | (None, Some(Some(_))) => {
            let text = "a service can only be compared with a service, and a run with a run: `prony list runs` shows \
                        the runs, `prony list services` the services";
            return Err(bad_input(anyhow!(text)));
        }
    };
    Ok(CompareOutcome::One(Box::new(
        comparison.with_verdict(args.fail_on),
    )))
}

/// The text in a format, and the usual name of its file.
fn rendered(
    outcome: &CompareOutcome,
    form: CompareFormat,
    fail_on: FailOn,
) -> anyhow::Result<(String, &'static str)> {
    let json = serde_json::to_string_pretty::<serde_json::Value>;
    Ok(match form {
        CompareFormat::Terminal => (text::terminal(outcome, columns()), "comparison.txt"),
        CompareFormat::Md => (text::markdown(outcome), "comparison.md"),
        CompareFormat::Github => (github::markdown(outcome), "comparison.md"),
        CompareFormat::Gitlab => (
            json(&gitlab::code_quality(outcome))?,
            "gl-code-quality-report.json",
        ),
        CompareFormat::Junit => (junit::xml(outcome, fail_on), "comparison.xml"),
        CompareFormat::Bencher => (json(&trackers::bencher(outcome))?, "bencher.json"),
        CompareFormat::GithubActionBenchmark => (
            json(&trackers::github_action_benchmark(outcome))?,
            "github-action-benchmark.json",
        ),
        CompareFormat::Json => (serde_json::to_string_pretty(outcome)?, "comparison.json"),
    })
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

    /// Fails if the two have nothing in common.
    fn check_not_empty(&self) -> anyhow::Result<()> {
        let mut groups = self.change.groups.iter();
        if groups.any(|group| !group.services.is_empty()) {
            return Ok(());
        }
        let text = format!("nothing could be compared: {}", self.change.missing.join("; "));
        Err(bad_input(anyhow!(text)))
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
    let new = args.new.as_deref().unwrap_or_default();
    let mut base = CompareSide::find(&args.base, &args.store, args.confidence)?;
    let new = CompareSide::find(new, &args.store, args.confidence)?;
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
    let mut comparison = comparison(
        args,
        options.max_slowdown,
        (base.name, new.name),
        (mismatches, change),
    );
    comparison.history = history.lines;
    comparison.left_out = history.left_out;
    comparison.others = others;
    comparison.differences = differences;
    Ok(comparison)
}

fn comparison(
    args: &Args,
    max_slowdown: f64,
    (base, new): (String, String),
    (mismatches, change): (Vec<Mismatch>, RunChange),
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
        max_slowdown,
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
    // Suites have short names for those that services are ranked by.
    let ranked = RankBy::ALL.iter().find(|ranked| ranked.name() == text);
    let found = Metric::of_key(ranked.map_or(text, |ranked| ranked.key()));
    found.ok_or_else(|| {
        let short = RankBy::ALL.iter().map(|ranked| ranked.name());
        let known: Vec<&str> = short
            .chain(Metric::ALL.iter().map(|metric| metric.key()))
            .collect();
        format!("unknown metric; known metrics are {}", known.join(", "))
    })
}
