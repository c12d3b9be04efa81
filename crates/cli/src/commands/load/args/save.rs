//! Where a result is kept.

use crate::checkout::StoreArgs;
use prony_store::Store;
use std::path::PathBuf;

/// Where a result is kept
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Result")]
pub(crate) struct SaveArgs {
    /// Keep the result by this name, for `prony compare NAME NAME`; further loads of one name are its repetitions
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) save: Option<String>,
    /// The file that --save keeps results in [default: .prony/store.db of the project]
    #[arg(long, value_name = "FILE", env = "PRONY_STORE", hide_short_help = true)]
    store: Option<PathBuf>,
}

impl SaveArgs {
    /// The name with the store that keeps it.
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
