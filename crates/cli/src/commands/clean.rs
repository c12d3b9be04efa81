//! `prony clean`: frees disk space by removing files that prony can create again.

use crate::checkout::Checkout;
use crate::exit::Exit;
use crate::output::print;
use crate::text::{self, Column};
use anyhow::bail;
use prony_load::DurationText;
use prony_runner::project::clean::{CleanOptions, CleanOutcome, Entry, KINDS, Kind, clean, clean_containers};
use serde_json::json;
use std::path::Path;
use std::time::Duration;

/// Delete builds, caches and logs; keep runs
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to remove [default: all of it]
    #[arg(value_enum)]
    what: Vec<CleanTarget>,
    /// Only what has not changed for this time, e.g. 7d
    #[arg(long, value_name = "TIME")]
    older_than: Option<DurationText>,
    /// List what would be removed, then exit
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum CleanTarget {
    /// Builds of services that no process uses
    Builds,
    /// Git revisions of services, checked out for comparisons
    Revisions,
    /// Toolchains and packages from registries, and data of backing services
    Cache,
    /// Logs of finished commands
    Logs,
    /// Leftovers of killed commands
    Leftovers,
}

impl From<CleanTarget> for Kind {
    fn from(what: CleanTarget) -> Self {
        match what {
            CleanTarget::Builds => Self::Builds,
            CleanTarget::Revisions => Self::Revisions,
            CleanTarget::Cache => Self::Cache,
            CleanTarget::Logs => Self::Logs,
            CleanTarget::Leftovers => Self::Leftovers,
        }
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let state = Checkout::find()?.state();
    let named: Vec<Kind> = args.what.iter().copied().map(Kind::from).collect();
    let options = CleanOptions {
        kinds: if named.is_empty() { &KINDS } else { &named },
        unchanged_for: args.older_than.map_or(Duration::ZERO, |time| time.0),
        dry: args.dry_run,
    };
    let mut entries = clean(&state, &options)?;
    entries.extend(clean_containers(&options));
    if args.json {
        let bytes = removed_entries(&entries).map(|entry| entry.bytes).sum::<u64>();
        let output = json!({ "schema": prony_records::SCHEMA, "dry_run": args.dry_run, "bytes": bytes, "entries": entries });
        print(&output.to_string())?;
    } else {
        print(&text(args, &entries, &state))?;
    }
    let failed = entries.iter().find_map(|entry| match &entry.fate {
        CleanOutcome::Failed(reason) => Some((entry, reason)),
        _ => None,
    });
    if let Some((entry, reason)) = failed {
        bail!(
            "cannot remove {}: {reason} → Remove it as the user who owns it.",
            entry.path.display()
        );
    }
    Ok(Exit::Fine)
}

fn removed_entries(entries: &[Entry]) -> impl Iterator<Item = &Entry> {
    entries.iter().filter(|entry| entry.fate == CleanOutcome::Removed)
}

fn text(args: &Args, entries: &[Entry], state: &Path) -> String {
    let shown = |entry: &Entry| {
        let path = entry.path.strip_prefix(state).unwrap_or(&entry.path);
        path.display().to_string()
    };
    let mut parts = Vec::new();
    if args.dry_run && !entries.is_empty() {
        const HEADINGS: [Column<'static>; 2] = [Column::number("size", 0), Column::text("path", 0)];
        let rows = removed_entries(entries).map(|entry| vec![size(entry.bytes), shown(entry)]);
        parts.push(text::table(
            &HEADINGS,
            &rows.collect::<Vec<_>>(),
            0,
            text::columns(),
        ));
    }
    for entry in entries {
        if let CleanOutcome::Kept(reason) | CleanOutcome::Failed(reason) = &entry.fate {
            parts.push(format!("kept {}: {reason}", shown(entry)));
        }
    }
    let bytes = removed_entries(entries).map(|entry| entry.bytes).sum::<u64>();
    let word = if args.dry_run { "would remove" } else { "removed" };
    parts.push(format!(
        "{word} {} in {} folders and files of {}",
        size(bytes),
        removed_entries(entries).count(),
        state.display()
    ));
    parts.join("\n")
}

fn size(bytes: u64) -> String {
    let mib = bytes as f64 / f64::from(1 << 20);
    if mib < 1024.0 {
        format!("{mib:.1} MiB")
    } else {
        format!("{:.1} GiB", mib / 1024.0)
    }
}
