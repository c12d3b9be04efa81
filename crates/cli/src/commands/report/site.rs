//! `prony report --site`: static pages of stored runs and of exported reports.

use super::shown;
use crate::checkout::{StoreArgs, usage};
use crate::exit::{Exit, bad_input};
use crate::output::print;
use crate::reporting::{self, ReportContext};
use anyhow::{Context as _, anyhow};
use prony_report::{SiteFile, SiteRun};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The name of an exported report in its folder.
const EXPORTED: &str = "report.json";
/// The first page.
const FIRST: &str = "index.html";

/// Static pages of many runs
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "For a site")]
pub(super) struct SiteArgs {
    /// Write static pages of several runs into this folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["format", "json", "out"])]
    pub(super) site: Option<PathBuf>,
    /// With --site: exported reports, or folders of them; repeatable
    #[arg(long, value_name = "PATH", requires = "site")]
    from: Vec<PathBuf>,
    /// With --site: URL of the published site
    #[arg(long, value_name = "URL", requires = "site", value_parser = base)]
    base_url: Option<String>,
}

/// The pages that are written so far.
struct SiteOutput<'a> {
    folder: &'a Path,
    runs: Vec<SiteRun>,
    names: BTreeSet<String>,
    files: usize,
    bytes: usize,
}

pub(super) fn write(
    args: &SiteArgs,
    folder: &Path,
    runs: &[String],
    store: &StoreArgs,
) -> anyhow::Result<Exit> {
    let began = Instant::now();
    if folder.is_file() {
        let text = format!("{} is a file → Name a folder with --site.", folder.display());
        return Err(bad_input(anyhow!(text)));
    }
    let mut made = SiteOutput {
        folder,
        runs: Vec::new(),
        names: BTreeSet::new(),
        files: 0,
        bytes: 0,
    };
    if args.from.is_empty() || !runs.is_empty() {
        made.of_store(store, runs)?;
    }
    for path in &args.from {
        for file in report_files(path)? {
            made.of_file(&file)?;
        }
    }
    let site = prony_report::site(&made.runs, args.base_url.as_deref())?;
    site.iter().try_for_each(|file| made.write(file))?;
    print(&shown(&folder.join(FIRST)))?;
    eprintln!(
        "prony: {} run{} in {} files, {:.1} MB, in {:.1} s",
        made.runs.len(),
        if made.runs.len() == 1 { "" } else { "s" },
        made.files,
        made.bytes as f64 / 1e6,
        began.elapsed().as_secs_f64()
    );
    Ok(Exit::Fine)
}

impl SiteOutput<'_> {
    /// Adds the named runs of the store, or all that have trials.
    fn of_store(&mut self, store: &StoreArgs, runs: &[String]) -> anyhow::Result<()> {
        let store = store.open_existing()?;
        let named: Vec<String> = if runs.is_empty() {
            let all = store.runs()?.into_iter().filter(|entry| entry.trials > 0);
            all.map(|entry| entry.id).collect()
        } else {
            let each = runs.iter().map(|run| store.find_run(run).map_err(usage));
            each.collect::<anyhow::Result<_>>()?
        };
        let context = ReportContext::read()?;
        for run in named {
            let report = reporting::report(&store, &run, &context)?;
            let read = SiteRun::read(serde_json::to_value(&report)?);
            self.add(read.with_context(|| format!("cannot show the run {run}"))?)?;
        }
        Ok(())
    }

    fn of_file(&mut self, file: &Path) -> anyhow::Result<()> {
        let read = reporting::read_report(file).and_then(|report| Ok(SiteRun::read(report)?));
        let read = read.with_context(|| format!("cannot show {}", file.display()));
        self.add(read.map_err(bad_input)?)
    }

    /// Adds a run, unless one of the same name was added before.
    fn add(&mut self, (run, page): (SiteRun, SiteFile)) -> anyhow::Result<()> {
        if self.names.insert(run.name().to_owned()) {
            self.write(&page)?;
            self.runs.push(run);
        } else {
            eprintln!(
                "prony: the run {} was found twice; the first one is shown",
                run.name()
            );
        }
        Ok(())
    }

    fn write(&mut self, file: &SiteFile) -> anyhow::Result<()> {
        self.files += 1;
        self.bytes += file.text.len();
        reporting::write(&self.folder.join(&file.path), &file.text)
    }
}

/// The reports at a path: the file itself, or the reports of the folder and of its subfolders.
fn report_files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path)
        .with_context(|| {
            format!(
                "cannot read {} → Name a report or a folder of reports with --from.",
                path.display()
            )
        })
        .map_err(bad_input)?;
    let below = entries.filter_map(|entry| Some(entry.ok()?.path().join(EXPORTED)));
    let mut files: Vec<PathBuf> = std::iter::once(path.join(EXPORTED)).chain(below).collect();
    files.retain(|file| file.is_file());
    files.sort();
    if files.is_empty() {
        let text = format!(
            "there is no {EXPORTED} in {} or in its subfolders: `prony report RUN --json --out FOLDER/` writes one",
            path.display()
        );
        return Err(bad_input(anyhow!(text)));
    }
    Ok(files)
}

fn base(text: &str) -> Result<String, String> {
    let known = text.starts_with("https://") || text.starts_with("http://");
    if !known || text.contains(|character: char| character.is_whitespace() || character.is_control()) {
        return Err("a URL begins with https:// or http:// and has no spaces".to_owned());
    }
    Ok(format!("{}/", text.trim_end_matches('/')))
}
