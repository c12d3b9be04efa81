//! Where a command keeps its runs.

pub(crate) use prony_runner::Checkout;

use crate::exit::bad_input;
use prony_runner::Claim;
use prony_runner::testbed::LabFile;
use prony_store::{Store, StoreError};
use std::path::PathBuf;

/// Where runs are kept
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct StoreArgs {
    /// The file that keeps the runs [default: .prony/store.db of the project]
    #[arg(long, value_name = "FILE", env = "PRONY_STORE", global = true)]
    pub(crate) store: Option<PathBuf>,
}

/// What is done when another run has the CPUs
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ClaimArgs {
    /// Wait until no other run of prony uses these CPUs, instead of refusing
    #[arg(long)]
    wait: bool,
}

impl ClaimArgs {
    /// The claim of this command.
    pub(crate) fn claim(&self) -> Claim {
        let words: Vec<String> = std::env::args().skip(1).collect();
        Claim {
            what: format!("prony {}", words.join(" ")),
            waits: self.wait,
        }
    }
}

/// On which hosts it is done
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct LabArgs {
    /// The lab: a file that names hosts and what each is for [default: `lab` of prony.toml, else this machine]
    #[arg(long, value_name = "FILE", env = "PRONY_LAB")]
    lab: Option<PathBuf>,
}

impl LabArgs {
    /// Whether this command line names one; what the environment names holds for other commands.
    pub(crate) fn is_given(&self) -> bool {
        let named = std::env::var_os("PRONY_LAB").map(PathBuf::from);
        self.lab.is_some() && self.lab != named
    }

    /// The lab file, where one is given or the project names one.
    pub(crate) fn read(&self, checkout: Option<&Checkout>) -> anyhow::Result<Option<LabFile>> {
        let file = match (&self.lab, checkout) {
            (Some(file), _) => Some(file.clone()),
            (None, Some(checkout)) => checkout.lab()?,
            (None, None) => None,
        };
        file.map(|file| LabFile::read(&file).map_err(bad_input))
            .transpose()
    }
}

impl StoreArgs {
    /// The store's file: as given, else the checkout's.
    pub(crate) fn path(&self) -> anyhow::Result<PathBuf> {
        match &self.store {
            Some(path) => Ok(path.clone()),
            None => Ok(Checkout::find()?.store()?),
        }
    }

    /// Opens the store for a command that adds to it.
    pub(crate) fn open(&self) -> anyhow::Result<Store> {
        Store::open(&self.path()?).map_err(usage)
    }

    /// Opens the store for a command that reads.
    pub(crate) fn open_existing(&self) -> anyhow::Result<Store> {
        Store::open_existing(&self.path()?).map_err(usage)
    }
}

/// What the user can mend is bad input; the rest is a failure.
pub(crate) fn usage(error: StoreError) -> anyhow::Error {
    match error {
        StoreError::Missing(_)
        | StoreError::NoSuchRun { .. }
        | StoreError::Ambiguous { .. }
        | StoreError::Foreign(_)
        | StoreError::NoStore(_)
        | StoreError::ReadOnly(_)
        | StoreError::Outdated(_)
        | StoreError::Folder { .. } => bad_input(error),
        other => other.into(),
    }
}
