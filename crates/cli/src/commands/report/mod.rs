//! `prony report`: renders a run from the store in any format, or many runs as a site.

mod site;

use crate::checkout::{Checkout, StoreArgs, usage};
use crate::exit::{Exit, bad_input};
use crate::output::print;
use crate::reporting::{self, ReportContext};
use anyhow::{Context as _, anyhow};
use prony_report::{CheckRun, Format, Report, interval_log, junit, percentile_tables, render};
use std::path::{Path, PathBuf};

/// Export a run as text, HTML, Markdown, CSV or JSON
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints the paths of the files that it writes. A site loads nothing from elsewhere and uses relative links: it works from a disk and \
from any host.

Examples:
  prony report
  prony report quick --format html
  prony report results/004/report.json --format md
  prony report --format github --top 5 >> \"$GITHUB_STEP_SUMMARY\"
  prony report --site public
  prony report --site public --from results --base-url https://example.org/")]
pub(crate) struct Args {
    /// Run, or exported report.json [default: latest; with --site: all runs]
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value = "terminal")]
    format: ReportFormat,
    /// Print one JSON object
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Output file, or a folder for report.html or similar
    #[arg(long, short, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Services of each ranking in --format github
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    #[command(flatten)]
    site: site::SiteArgs,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ReportFormat {
    /// Aligned text
    Terminal,
    /// One self-contained page with charts
    Html,
    /// Markdown for a README
    Md,
    /// Short Markdown for a comment on a pull request
    Github,
    /// One line per service and metric
    Csv,
    /// All data, for programs
    Json,
    /// One file per chart
    Svg,
    /// Prometheus text format
    Prometheus,
    /// OpenTelemetry metrics as OTLP JSON
    Otlp,
    /// The contract checks as `JUnit` XML
    Junit,
    /// A folder with all of the above
    All,
    /// `HdrHistogram`'s percentiles, one file per service
    Hgrm,
    /// `HdrHistogram`'s interval log, one line per trial
    Hlog,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if let Some(folder) = &args.site.site {
        return site::write(&args.site, folder, &args.runs, &args.store);
    }
    let wanted = match args.runs.as_slice() {
        [] => "latest",
        [one] => one,
        _ => {
            let text = "only one run can be shown at a time → Use --site for several.";
            return Err(bad_input(anyhow!(text)));
        }
    };
    let report = find(wanted, &args.store)?;
    let form = args.form();
    let text = match form {
        ReportFormat::Html | ReportFormat::Svg | ReportFormat::All => return files(args, &report),
        ReportFormat::Junit => junit_of(&report)?,
        ReportFormat::Terminal => render(&report, Format::Terminal, reporting::look())?,
        ReportFormat::Md => render(&report, Format::Markdown, reporting::look())?,
        ReportFormat::Github => render(&report, Format::GithubMarkdown(args.top), reporting::look())?,
        ReportFormat::Csv => render(&report, Format::Csv, reporting::look())?,
        ReportFormat::Json => render(&report, Format::Json, reporting::look())?,
        ReportFormat::Prometheus => render(&report, Format::Prometheus, reporting::look())?,
        ReportFormat::Otlp => render(&report, Format::OpenTelemetry, reporting::look())?,
        ReportFormat::Hgrm => return percentiles(args, &report),
        ReportFormat::Hlog => log_of(wanted, &args.store)?,
    };
    args.write(form, &text)
}

/// The log of the trials of a run.
fn log_of(wanted: &str, store: &StoreArgs) -> anyhow::Result<String> {
    if Path::new(wanted).is_file() {
        return Err(bad_input(anyhow!(
            "{wanted} is an exported report, which has no distributions of single trials → Name a run of the store, or use --format hgrm."
        )));
    }
    let store = store.open_existing()?;
    let run = store.find_run(wanted).map_err(usage)?;
    Ok(interval_log(&store.trials(&run)?)?)
}

/// Prints the percentiles of the only service, or writes a file per service.
fn percentiles(args: &Args, report: &Report) -> anyhow::Result<Exit> {
    let tables = percentile_tables(report)?;
    if let [(_, only)] = tables.as_slice() {
        return args.write(ReportFormat::Hgrm, only);
    }
    if tables.is_empty() {
        return Err(bad_input(anyhow!(
            "no trial of the run {} has a valid reply, so there are no percentiles",
            report.run
        )));
    }
    let folder = match &args.out {
        Some(out) => reporting::folder(out)?.to_owned(),
        None => reporting::reports_folder(Checkout::find().ok().as_ref(), &report.run)?.join("percentiles"),
    };
    for (name, text) in &tables {
        reporting::write(&folder.join(format!("{name}.hgrm")), text)?;
    }
    print(&shown(&folder))?;
    Ok(Exit::Fine)
}

/// The report in the file of that name if there is one, else that of the run.
fn find(wanted: &str, store: &StoreArgs) -> anyhow::Result<Report> {
    let path = Path::new(wanted);
    if path.is_file() {
        let read = reporting::read_report(path)?;
        let report = Report::read(read).with_context(|| format!("cannot show {}", path.display()));
        return report.map_err(bad_input);
    }
    let store = store.open_existing()?;
    let run = store.find_run(wanted).map_err(usage)?;
    reporting::report(&store, &run, &ReportContext::read()?)
}

impl Args {
    const fn form(&self) -> ReportFormat {
        if self.json {
            ReportFormat::Json
        } else {
            self.format
        }
    }

    /// Prints the text, or writes it into the file that `--out` names.
    fn write(&self, form: ReportFormat, text: &str) -> anyhow::Result<Exit> {
        match &self.out {
            None => print(text.trim_end())?,
            Some(out) => reporting::write(&reporting::file(out, form.file()), text)?,
        }
        Ok(Exit::Fine)
    }
}

impl ReportFormat {
    /// The name of its file in a folder.
    const fn file(self) -> &'static str {
        match self {
            Self::Terminal => "report.txt",
            Self::Html => "report.html",
            Self::Md => "report.md",
            Self::Github => "comment.md",
            Self::Csv => "report.csv",
            Self::Json => "report.json",
            Self::Prometheus => "report.prom",
            Self::Otlp => "report.otlp.json",
            Self::Junit => "checks.junit.xml",
            Self::Svg => "charts",
            Self::All => "",
            Self::Hgrm => "report.hgrm",
            Self::Hlog => "report.hlog",
        }
    }
}

/// Writes the formats that are files, and prints their path.
fn files(args: &Args, report: &Report) -> anyhow::Result<Exit> {
    let usual = || reporting::reports_folder(Checkout::find().ok().as_ref(), &report.run);
    let place = match (&args.out, args.format) {
        (Some(out), ReportFormat::Html) => reporting::file(out, ReportFormat::Html.file()),
        (Some(out), _) => reporting::folder(out)?.to_owned(),
        (None, ReportFormat::Html) => usual()?.join("report.html"),
        (None, ReportFormat::Svg) => usual()?.join("charts"),
        (None, _) => usual()?,
    };
    match args.format {
        ReportFormat::Html => reporting::write(&place, &prony_report::page(report)?)?,
        ReportFormat::Svg => reporting::write_charts(report, &place)?,
        _ => drop(reporting::write_all(report, &place)?),
    }
    print(&shown(&place))?;
    Ok(Exit::Fine)
}

fn junit_of(report: &Report) -> anyhow::Result<String> {
    match &report.checks {
        Some(checks) => Ok(junit(checks, CheckRun::of(report))),
        None => Err(bad_input(anyhow!(
            "the run {} has no contract checks: `prony check --junit` writes them",
            report.run
        ))),
    }
}

/// The path, relative to the working directory if it is below it.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).display().to_string()
}
