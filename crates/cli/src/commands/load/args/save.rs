//! Options for saving a result.

use crate::checkout::StoreArgs;
use prony_store::Store;
use std::path::PathBuf;

/// Where a result is saved
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Result")]
pub(crate) struct SaveArgs {
    /// Save the result under this name, for `prony compare NAME NAME`; further loads under the name are repetitions
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) save: Option<String>,
    /// File in which --save stores results [default: .prony/store.db in the project]
    #[arg(long, value_name = "FILE", env = "PRONY_STORE", hide_short_help = true)]
    store: Option<PathBuf>,
}

impl SaveArgs {
    /// The name of the result and the store for it; `None` without `--save`.
    pub(crate) fn wanted(&self) -> anyhow::Result<Option<(&str, Store)>> {
        let Some(name) = &self.save else {
            return Ok(None);
        };
        let store = StoreArgs {
            store: self.store.clone(),
        };
        Ok(Some((name, store.open()?)))
    }
}
