//! `prony store`: moves runs from a store into a file, and into another store.

use crate::checkout::{StoreArgs, usage};
use crate::exit::{Exit, bad_input};
use crate::output::print;
use anyhow::{Context as _, anyhow};
use clap::Subcommand;
use prony_store::{ExportSummary, ImportSummary, Store, StoreError};
use serde_json::json;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};

/// Stands for standard input or output.
const STREAM: &str = "-";
/// The first bytes of an SQLite file.
const DATABASE: &[u8] = b"SQLite format 3\0";

/// Export, import and merge runs
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  prony store export runs.jsonl
  prony store export - 2026-11-20T08-30-00-quick | gzip > quick.jsonl.gz
  prony store import runs.jsonl
  prony store import ../other/.prony/store.db

An export is JSON Lines: the first line has the version of the format, which later versions of prony can read. Importing twice is \
harmless: a run that is already in the store is skipped. A run whose name belongs to a different run in the store is skipped and \
reported, and the exit code is 3; with --rename it is stored under a new name. An imported run never becomes `latest` while the store \
has runs of its own. Another store is only read, even if it has to be upgraded for that.")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: StoreCommand,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Subcommand)]
enum StoreCommand {
    /// Write runs to a file
    Export {
        /// File to write; `-` is standard output
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Only these runs [default: all]
        #[arg(value_name = "RUN")]
        runs: Vec<String>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Read runs from an exported file, or from another store
    Import {
        /// File to read; `-` is standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Store a run under a new name if its name is taken
        #[arg(long)]
        rename: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.what {
        StoreCommand::Export { file, runs, json } => export(&args.store, file, runs, *json),
        StoreCommand::Import { file, rename, json } => import(&args.store, file, *rename, *json),
    }
}

fn export(store: &StoreArgs, file: &Path, runs: &[String], json: bool) -> anyhow::Result<Exit> {
    let store = store.open_existing()?;
    let named: Vec<String> = runs
        .iter()
        .map(|run| store.find_run(run).map_err(usage))
        .collect::<anyhow::Result<_>>()?;
    let runs = (!named.is_empty()).then_some(named.as_slice());
    let version = env!("CARGO_PKG_VERSION");
    if file == Path::new(STREAM) {
        if json {
            let text = "the export is written to standard output, so --json cannot be used → Name a file.";
            return Err(bad_input(anyhow!(text)));
        }
        let mut out = BufWriter::new(std::io::stdout().lock());
        store.export(runs, version, &mut out)?;
        return Ok(Exit::Fine);
    }
    if file.exists() {
        let text = format!(
            "{} already exists and is not overwritten → Name another file.",
            file.display()
        );
        return Err(bad_input(anyhow!(text)));
    }
    // An incomplete export never has the final name.
    let mut aside = file.as_os_str().to_owned();
    aside.push(".part");
    let aside = PathBuf::from(aside);
    let written = write(&store, runs, version, &aside);
    let exported = written.and_then(|exported| {
        std::fs::rename(&aside, file).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(exported)
    });
    if exported.is_err() {
        let _ = std::fs::remove_file(&aside);
    }
    let exported = exported?;
    print(&if json {
        let mut output = json!(exported);
        output["schema"] = prony_records::SCHEMA.into();
        output["file"] = json!(file);
        output.to_string()
    } else {
        format!(
            "{} runs with {} trials in {}",
            exported.runs,
            exported.trials,
            file.display()
        )
    })?;
    Ok(Exit::Fine)
}

fn write(
    store: &Store,
    runs: Option<&[String]>,
    version: &str,
    file: &Path,
) -> anyhow::Result<ExportSummary> {
    let out = File::create(file).with_context(|| format!("cannot write {}", file.display()));
    let mut out = BufWriter::new(out.map_err(bad_input)?);
    let exported = store.export(runs, version, &mut out as &mut dyn Write)?;
    out.into_inner()?.sync_all()?;
    Ok(exported)
}

fn import(store: &StoreArgs, file: &Path, rename: bool, json: bool) -> anyhow::Result<Exit> {
    let imported = if file == Path::new(STREAM) {
        read(&store.open()?, &mut std::io::stdin().lock(), rename)?
    } else {
        let mut input = File::open(file)
            .with_context(|| format!("cannot read {}", file.display()))
            .map_err(bad_input)?;
        let mut begin = Vec::new();
        let read_so_far = (&mut input).take(DATABASE.len() as u64).read_to_end(&mut begin);
        read_so_far.with_context(|| format!("cannot read {}", file.display()))?;
        if begin == DATABASE {
            let other = Store::open_copy(file).map_err(usage)?;
            store.open()?.merge(&other, rename).map_err(usage)?
        } else {
            let input = std::io::Cursor::new(begin).chain(input);
            read(&store.open()?, &mut BufReader::new(input), rename)?
        }
    };
    print(&if json {
        let mut output = json!(imported);
        output["schema"] = prony_records::SCHEMA.into();
        output.to_string()
    } else {
        text(&imported)
    })?;
    Ok(if imported.different.is_empty() {
        Exit::Fine
    } else {
        Exit::ObjectiveFailed
    })
}

fn read(store: &Store, input: &mut dyn BufRead, rename: bool) -> anyhow::Result<ImportSummary> {
    store.import(input, rename).map_err(|error| match error {
        StoreError::Import { .. } => bad_input(error),
        other => other.into(),
    })
}

fn text(imported: &ImportSummary) -> String {
    let mut lines = vec![format!(
        "{} runs with {} trials imported, {} already in the store",
        imported.runs.len(),
        imported.trials,
        imported.known
    )];
    let renamed = imported.renamed.iter();
    lines.extend(
        renamed.map(|(old, new)| format!("{old} is stored as {new}, because another run has its name")),
    );
    let different = imported.different.iter();
    lines.extend(different.map(|run| {
        format!("skipped {run}: another run in the store has this name; use --rename to keep both")
    }));
    lines.join("\n")
}
