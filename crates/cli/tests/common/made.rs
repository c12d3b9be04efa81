//! Stores with a sample run.

#[allow(dead_code, reason = "each test binary uses a part of it")]
#[path = "../../../report/tests/sample/mod.rs"]
pub(crate) mod sample;

use prony_records::{RunRecord, TrialRecord};
use prony_store::Store;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A store in this folder that holds the sample run.
#[allow(dead_code, reason = "each test binary uses its own part")]
pub(crate) fn filled(folder: &Path) -> PathBuf {
    let path = folder.join("store.db");
    let store = Store::open(&path).expect("opens");
    keep(&store, &sample::run(), &sample::trials());
    path
}

/// Runs prony in the folder of this store.
pub(crate) fn prony(store: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(arguments)
        .env("PRONY_STORE", store)
        .current_dir(store.parent().expect("lies in a folder"))
        .output()
        .expect("runs")
}

/// Adds a run with these trials.
pub(crate) fn keep(store: &Store, run: &RunRecord, trials: &[TrialRecord]) {
    store.begin_run(run).expect("begins");
    for trial in trials {
        store.append_trial(&run.id, trial).expect("appends");
    }
}

/// The sample run, as one that has just begun and is in progress.
#[allow(dead_code, reason = "each test binary uses its own part")]
pub(crate) fn going_on() -> RunRecord {
    let mut run = sample::run();
    "next".clone_into(&mut run.id);
    run.started_at = humantime::format_rfc3339(std::time::SystemTime::now()).to_string();
    run.ended_at = None;
    run
}
