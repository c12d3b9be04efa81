//! Errors of the store, with advice for the user.

use prony_records::RunNameError;
use rusqlite::ErrorCode;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("there is no store at {} → `prony run` and `prony load --save` create one; --store names another.", .0.display())]
    Missing(PathBuf),
    #[error("cannot create the folder {} for the store: {source} → Name another store with --store.", folder.display())]
    Folder { folder: PathBuf, source: std::io::Error },
    #[error("cannot open the store {}: {source} → If it is not a prony store, name another with --store.", path.display())]
    Open { path: PathBuf, source: rusqlite::Error },
    #[error(
        "the store {} is not writable: `prony list`, `report`, `compare` and `serve` can still read it; to measure, name a \
         store of your own with --store, or make the file and its folder writable",
        .0.display()
    )]
    ReadOnly(PathBuf),
    #[error(
        "the store {} was made by an older prony and cannot be upgraded, because it is not writable: read a copy of \
         it with --store",
        .0.display()
    )]
    Outdated(PathBuf),
    #[error("the store {} was written while it was read → Repeat the import.", .0.display())]
    Changed(PathBuf),
    #[error("cannot copy the store {} to read it: {source}; the copy is in $TMPDIR or /var/tmp", path.display())]
    Copy { path: PathBuf, source: rusqlite::Error },
    #[error("{} is a database of another program → Name a prony store with --store.", .0.display())]
    Foreign(PathBuf),
    #[error("{} is not a prony store → Name one with --store.", .0.display())]
    NoStore(PathBuf),
    #[error(
        "the store {} has schema {found}, but this prony supports schemas up to {known} → Use a newer prony, or another store with --store.",
        path.display()
    )]
    TooNew { path: PathBuf, found: u32, known: u32 },
    #[error("cannot {what} in the store {}: {source}", path.display())]
    Statement {
        /// The action, as it follows "cannot".
        what: &'static str,
        path: PathBuf,
        source: rusqlite::Error,
    },
    #[error("the {what} {which} cannot be read or written: {source}; a newer prony may have written it")]
    Record {
        what: &'static str,
        which: String,
        source: serde_json::Error,
    },
    #[error(
        "the {what} {which} cannot be read: {reason}; a newer prony may have written it, or the file is damaged"
    )]
    Damaged {
        what: &'static str,
        which: String,
        reason: String,
    },
    #[error("the {what} {which} cannot be kept: {reason}")]
    TooLong {
        what: &'static str,
        which: String,
        reason: String,
    },
    #[error(transparent)]
    RunName(#[from] RunNameError),
    #[error("line {line} of the export cannot be imported: {reason}")]
    Import {
        /// From 1.
        line: usize,
        reason: String,
    },
    #[error("cannot {what} the export: {source}")]
    Transfer {
        /// The action, as it follows "cannot".
        what: &'static str,
        source: std::io::Error,
    },
    #[error("there is no run `{run}`{}", hint(.known))]
    NoSuchRun {
        run: String,
        /// The newest runs in the store.
        known: Vec<String>,
    },
    #[error("`{run}` is the start of several runs: {} → Give a longer part of the name.", .matches.join(", "))]
    Ambiguous { run: String, matches: Vec<String> },
    #[error(
        "the run `{run}` is being measured{} → Wait for that to end, or end it, before you continue or delete the run.",
        .holder.map_or_else(String::new, |process| format!(" by process {process}"))
    )]
    RunBusy {
        run: String,
        /// The process that measures it, if it is known.
        holder: Option<u32>,
    },
    #[error("cannot lock {}, which keeps other processes out of the run: {source} → If its folder cannot be used, name another store with --store.", path.display())]
    Lock { path: PathBuf, source: std::io::Error },
    #[error(
        "a label is one line of at most {longest} letters, without control characters → Give a shorter one."
    )]
    Label { longest: usize },
    #[error(
        "a note is one line of at most {longest} letters, without control characters → Give a shorter one."
    )]
    Note { longest: usize },
    #[error("the run `{0}` is already in the store → Give the new run another name.")]
    RunExists(String),
}

impl StoreError {
    /// Whether the store could not be written for a reason that may pass: the disk is full, or it reported an error.
    pub fn may_pass(&self) -> bool {
        let Self::Statement { source, .. } = self else {
            return false;
        };
        matches!(
            source.sqlite_error_code(),
            Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure)
        )
    }
}

fn hint(known: &[String]) -> String {
    if known.is_empty() {
        ": the store is empty → `prony run` and `prony load --save` add runs.".to_owned()
    } else {
        format!(
            ": the newest are {} → `prony list runs` shows all.",
            known.join(", ")
        )
    }
}
