//! Builds reports from the store, for every command that shows a run.

use crate::checkout::Checkout;
use crate::colour;
use crate::exit::bad_input;
use crate::text::columns_of;
use crate::variance_text;
use anyhow::Context as _;
use prony_config::contract::Contract;
use prony_records::bounded_json::{self, LONGEST};
use prony_records::{RunRecord, SAVED_LOADS, TrialRecord, check_run_name};
use prony_report::{
    CheckRun, Format, Input, References, Report, ServiceInfo, TerminalStyle, charts, junit, render,
};
pub(crate) use prony_runner::summary;
use prony_runner::{add_ceilings, service_infos};
use prony_statistics::{Calibration, RunConditions, generators, machine_name};
use prony_store::Store;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{IsTerminal, Read as _};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

/// A run without an end that was silent for this long was killed.
const SILENT: Duration = Duration::from_mins(2);
/// Number of rounds for which a report cites the smallest difference.
const CITED_ROUNDS: u32 = 10;

/// What a report needs in addition to the store: data of the checkout, if there is one.
#[derive(Debug, Default)]
pub(crate) struct ReportContext {
    checkout: Option<Checkout>,
    /// Read on first use: it takes longer than a report, and only runs of an earlier version need it.
    offers: OnceLock<CheckoutContents>,
    references: Vec<References>,
}

/// Services and contracts of the checkout as it is now.
#[derive(Debug, Default)]
struct CheckoutContents {
    services: Vec<ServiceInfo>,
    contracts: BTreeMap<String, Contract>,
}

impl ReportContext {
    /// Reads the checkout around the working directory; outside of one the result is empty.
    pub(crate) fn read() -> anyhow::Result<Self> {
        let Ok(checkout) = Checkout::find() else {
            return Ok(Self::default());
        };
        Ok(Self {
            references: references(&checkout.root.join("reference"))?,
            checkout: Some(checkout),
            offers: OnceLock::new(),
        })
    }

    fn offers(&self) -> &CheckoutContents {
        self.offers.get_or_init(|| {
            // A report of an old run must not fail because a service file is being edited.
            let catalogue = self
                .checkout
                .as_ref()
                .and_then(|checkout| checkout.catalogue().ok());
            let read = catalogue.map(|all| CheckoutContents {
                services: service_infos(&all.services),
                contracts: all.contracts,
            });
            read.unwrap_or_default()
        })
    }
}

fn references(folder: &Path) -> anyhow::Result<Vec<References>> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Ok(Vec::new());
    };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    let read = |file: &PathBuf| {
        let text =
            std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        References::read(file, &text).map_err(bad_input)
    };
    files.iter().map(read).collect()
}

/// The report of a run in its current state.
pub(crate) fn report(store: &Store, run: &str, context: &ReportContext) -> anyhow::Result<Report> {
    let mut record = store.run(run)?;
    // A run of an earlier version did not record them.
    add_ceilings(&mut record.plan, |name| context.offers().contracts.get(name));
    let trials = store.trials(run)?;
    let summary = summary(&record, &trials)?;
    let checks = store.check_matrix(Some(run))?;
    let services = services_of(&record, context);
    let input = Input {
        run: &record,
        trials: &trials,
        summary: &summary,
        services: &services,
        references: &context.references,
        checks: checks.as_ref(),
        running: is_running(store, &record)?,
    };
    let mut report = Report::new(&input).with_context(|| format!("cannot report the run {run}"))?;
    let varying = variance_text::sentences(&report);
    report.method.extend(varying);
    report.method.extend(calibration_sentence(store, &record)?);
    Ok(report)
}

/// A sentence on the last calibration of the run's machine or testbed; `None` if it was never calibrated.
fn calibration_sentence(store: &Store, run: &RunRecord) -> anyhow::Result<Option<String>> {
    let stored = store.calibration::<Calibration>(&machine_name(&run.environment))?;
    let what = if run.environment.hosts.is_empty() {
        "machine"
    } else {
        "testbed"
    };
    Ok(stored.map(|stored| {
        let calibration = stored.value;
        let verdict = if calibration.passed {
            "every check passed"
        } else {
            "A CHECK FAILED, so the results may be wrong"
        };
        let smallest_difference = calibration
            .noise
            .smallest_differences
            .iter()
            .find(|smallest_difference| smallest_difference.rounds == CITED_ROUNDS);
        let smallest = smallest_difference.map_or_else(String::new, |smallest_difference| {
            format!(
                "; {} rounds show differences of {:.1} % or more",
                smallest_difference.rounds,
                100.0 * smallest_difference.difference
            )
        });
        let short = if calibration.short {
            ", with stages too short to be reliable"
        } else {
            ""
        };
        format!(
            "This {what} was calibrated at {}{short}: {verdict}{smallest}.",
            stored.calibrated_at
        )
    }))
}

/// The services that a run itself has recorded; `None` if it recorded none.
pub(crate) fn recorded_services(run: &RunRecord) -> Option<Vec<ServiceInfo>> {
    let recorded = run.plan.get("services").cloned()?;
    serde_json::from_value(recorded).ok()
}

/// The services as recorded when the run began, or as they are in the checkout now if the run did not record them.
pub(crate) fn services_of(run: &RunRecord, context: &ReportContext) -> Vec<ServiceInfo> {
    recorded_services(run).unwrap_or_else(|| context.offers().services.clone())
}

/// Whether a run without an end is still active, according to the times of its last trial and its progress.
pub(crate) fn is_running(store: &Store, run: &RunRecord) -> anyhow::Result<bool> {
    if run.ended_at.is_some() {
        return Ok(false);
    }
    let (sequence, _) = store.trial_count(&run.id)?;
    let last = store.trials_after(&run.id, sequence - 1)?;
    let progress = store.progress(&run.id)?.map(|progress| progress.at);
    let signs_of_life = [
        Some(&run.started_at),
        progress.as_ref(),
        last.last().map(|stored| &stored.trial.started_at),
    ];
    Ok(signs_of_life.into_iter().flatten().any(|at| is_recent(at)))
}

fn is_recent(at: &str) -> bool {
    humantime::parse_rfc3339_weak(at)
        .ok()
        .and_then(|time| SystemTime::now().duration_since(time).ok())
        .is_some_and(|ago| ago < SILENT)
}

/// How text is formatted for standard output.
pub(crate) fn look() -> TerminalStyle {
    look_of(&std::io::stdout())
}

/// How text is formatted for standard error.
pub(crate) fn look_of_errors() -> TerminalStyle {
    look_of(&std::io::stderr())
}

fn look_of(stream: &(impl IsTerminal + AsFd)) -> TerminalStyle {
    TerminalStyle {
        colour: colour::is_wanted(stream),
        columns: columns_of(stream),
    }
}

/// Writes the report in every format into a folder, and returns the path of the page.
pub(crate) fn write_all(report: &Report, folder: &Path) -> anyhow::Result<PathBuf> {
    let files = [
        ("report.html", Format::Html),
        ("report.md", Format::Markdown),
        ("report.csv", Format::Csv),
        ("report.json", Format::Json),
        ("report.prom", Format::Prometheus),
        ("report.otlp.json", Format::OpenTelemetry),
    ];
    for (name, format) in files {
        write(
            &folder.join(name),
            &render(report, format, TerminalStyle::default())?,
        )?;
    }
    write_charts(report, &folder.join("charts"))?;
    if let Some(checks) = &report.checks {
        write(
            &folder.join("checks.junit.xml"),
            &junit(checks, CheckRun::of(report)),
        )?;
    }
    Ok(folder.join("report.html"))
}

/// Writes each chart as SVG into a folder.
pub(crate) fn write_charts(report: &Report, folder: &Path) -> anyhow::Result<()> {
    charts(report)
        .iter()
        .try_for_each(|(name, svg)| write(&folder.join(name).with_extension("svg"), svg))
}

/// The folder for the reports of a run, unless `--out` names another; outside of a project it is in the working directory. A run of
/// an imported recording may have any name.
pub(crate) fn reports_folder(checkout: Option<&Checkout>, run: &str) -> anyhow::Result<PathBuf> {
    check_run_name(run)
        .context("the run cannot name a folder → Name one with --out.")
        .map_err(bad_input)?;
    let reports = match checkout {
        Some(checkout) => checkout.state().join("reports"),
        None => PathBuf::from("prony-reports"),
    };
    Ok(reports.join(run))
}

/// Reads an exported report, which may come from anyone.
pub(crate) fn read_report(file: &Path) -> anyhow::Result<serde_json::Value> {
    let mut text = Vec::new();
    // One byte more than a report may have: then it is refused.
    File::open(file)
        .and_then(|opened| opened.take(LONGEST as u64 + 1).read_to_end(&mut text))
        .with_context(|| format!("cannot read {}", file.display()))?;
    bounded_json::parse(&text).map_err(|error| {
        bad_input(anyhow::anyhow!(
            "{} is not a prony report ({error}) → Write one with `prony report --format json`",
            file.display()
        ))
    })
}

/// The file that `--out` means: in a folder it gets its usual name.
pub(crate) fn file(out: &Path, usual: &str) -> PathBuf {
    let says_folder = out.as_os_str().as_encoded_bytes().ends_with(b"/");
    if says_folder || out.is_dir() {
        out.join(usual)
    } else {
        out.to_owned()
    }
}

/// The folder that `--out` means if several files are written.
pub(crate) fn folder(out: &Path) -> anyhow::Result<&Path> {
    if out.is_file() {
        return Err(bad_input(anyhow::anyhow!(
            "{} is a file, but several are written → Name a folder with --out.",
            out.display()
        )));
    }
    Ok(out)
}

/// Writes a file, and creates the folders above it.
pub(crate) fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).with_context(|| {
            format!(
                "cannot create the folder {} → Name another path with --out.",
                folder.display()
            )
        })?;
    }
    std::fs::write(file, text)
        .with_context(|| format!("cannot write {} → Name another path with --out.", file.display()))
}

/// The conditions of a run with these trials.
pub(crate) fn conditions<'a>(run: &'a RunRecord, trials: &[TrialRecord]) -> RunConditions<'a> {
    RunConditions {
        suite: &run.suite,
        environment: &run.environment,
        generators: Some(generators(trials)),
        settings: settings(run),
        others: share_of_others(run, trials),
        fingerprints: run.fingerprints().unwrap_or_default(),
    }
}

/// The URL that the saved loads of a run went to; `None` for other runs.
pub(crate) fn target(run: &RunRecord) -> Option<String> {
    target_in(&run.plan)
}

/// The same from the plan of a run.
pub(crate) fn target_in(plan: &serde_json::Value) -> Option<String> {
    plan["target"].as_str().map(ToOwned::to_owned)
}

/// The settings of the saved loads of a run, by name; empty for other runs.
pub(crate) fn settings(run: &RunRecord) -> BTreeMap<String, String> {
    serde_json::from_value(run.plan["settings"].clone()).unwrap_or_default()
}

/// Share of the machine that other programs used during saved loads; `None` for other runs.
pub(crate) fn share_of_others(run: &RunRecord, trials: &[TrialRecord]) -> Option<f64> {
    let share = prony_statistics::share_of_others(trials, run.environment.cpu.online);
    share.filter(|_| run.suite == SAVED_LOADS)
}
