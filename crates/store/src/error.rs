//! What can fail.

use std::path::PathBuf;

/// Why the store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no store.
    #[error("there is no store at {}: `prony run` makes one, or name another with --store", .0.display())]
    Missing(PathBuf),
    /// The folder of the store cannot be made.
    #[error("cannot make the folder {} for the store: {source}; name another store with --store", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file cannot be opened as a store.
    #[error("cannot open the store {}: {source}; if it is no store of prony, name another with --store", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// The store may not be written.
    #[error(
        "the store {} cannot be written: `prony list`, `report`, `compare` and `serve` read it as it is; to measure, name a \
         store of your own with --store, or make the file and its folder writable",
        .0.display()
    )]
    ReadOnly(PathBuf),
    /// An older version of prony made the store, and it cannot be brought up to date.
    #[error(
        "the store {} was made by an older prony and cannot be brought up to date where it may not be written: read a copy of \
         it with --store",
        .0.display()
    )]
    Outdated(PathBuf),
    /// The file is a database of another program.
    #[error("{} is a database of another program: name a store of prony with --store", .0.display())]
    Foreign(PathBuf),
    /// The file is no database at all.
    #[error("{} is no store of prony: name one with --store", .0.display())]
    NoStore(PathBuf),
    /// A newer version of prony wrote the store.
    #[error(
        "the store {} has schema {found}, and this prony knows up to {known}: use the newer prony, or another store with --store",
        path.display()
    )]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: u32,
        /// The newest schema that this version knows.
        known: u32,
    },
    /// SQLite refused a statement.
    #[error("cannot {what} in the store {}: {source}", path.display())]
    Statement {
        /// What was to be done.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// A record that is no JSON of its kind.
    #[error("the {what} {which} cannot be read or written: {source}; a newer prony may have written it")]
    Record {
        /// The kind of record.
        what: &'static str,
        /// Which one.
        which: String,
        /// Why.
        source: serde_json::Error,
    },
    /// A record whose bytes are not those that were written.
    #[error(
        "the {what} {which} cannot be read: {reason}; a newer prony may have written it, or the disk lost it"
    )]
    Damaged {
        /// The kind of record.
        what: &'static str,
        /// Which one.
        which: String,
        /// Why.
        reason: String,
    },
    /// A file that is to be imported and cannot be.
    #[error("line {line} of the export cannot be imported: {reason}")]
    Import {
        /// The line, from 1.
        line: usize,
        /// Why.
        reason: String,
    },
    /// A file that is to be exported cannot be written, or one to be imported not be read.
    #[error("cannot {what} the export: {source}")]
    Transfer {
        /// What was to be done.
        what: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// No run of that name.
    #[error("there is no run `{run}`{}", hint(.known))]
    NoSuchRun {
        /// The name asked for.
        run: String,
        /// The newest runs there are.
        known: Vec<String>,
    },
    /// The start of a name that several runs share.
    #[error("`{run}` is the start of several runs: {}; give more of the name", .matches.join(", "))]
    Ambiguous {
        /// The start asked for.
        run: String,
        /// The runs that begin with it.
        matches: Vec<String>,
    },
    /// Somebody else measures the run.
    #[error(
        "the run `{run}` is being measured{}: let that end, or end it, before you continue or delete the run",
        .holder.map_or_else(String::new, |process| format!(" by process {process}"))
    )]
    RunBusy {
        /// The run.
        run: String,
        /// The process that measures it, where it is known.
        holder: Option<u32>,
    },
    /// The lock of a run cannot be made.
    #[error("cannot make the lock {} of a run: {source}; make its folder writable, or name another store with --store", path.display())]
    Lock {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A label that no list can show in a line.
    #[error("a label is a line of at most {longest} letters, without control characters: give a shorter one")]
    Label {
        /// Letters that it may have.
        longest: usize,
    },
    /// A run of that name is there already.
    #[error("the run `{0}` is in the store already: give the new one another name")]
    RunExists(String),
}

fn hint(known: &[String]) -> String {
    if known.is_empty() {
        ": the store is empty; `prony run` fills it".to_owned()
    } else {
        format!(
            ": the newest are {}; `prony list runs` shows all",
            known.join(", ")
        )
    }
}
