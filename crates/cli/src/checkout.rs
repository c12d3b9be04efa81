//! Options that several commands share: the store, the testbed, and the claim on CPUs.

pub(crate) use prony_runner::Checkout;

use crate::exit::bad_input;
use crate::former_names;
use prony_runner::Claim;
use prony_runner::testbed::TestbedFile;
use prony_store::{Store, StoreError};
use std::path::PathBuf;

/// Where runs are kept
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct StoreArgs {
    /// File that stores the runs [default: .prony/store.db in the project]
    #[arg(long, value_name = "FILE", env = "PRONY_STORE", global = true)]
    pub(crate) store: Option<PathBuf>,
}

/// What to do when another run holds the CPUs
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ClaimArgs {
    /// Wait until no other run of prony uses these CPUs, instead of failing
    #[arg(long)]
    wait: bool,
}

impl ClaimArgs {
    pub(crate) fn claim(&self) -> Claim {
        let words: Vec<String> = std::env::args().skip(1).collect();
        Claim {
            what: format!("prony {}", words.join(" ")),
            waits: self.wait,
        }
    }
}

/// Hosts to run on
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct TestbedArgs {
    /// Testbed file, which lists hosts and their roles [default: `testbed` in prony.toml, else this machine]
    #[arg(long, alias = "lab", value_name = "FILE", env = "PRONY_TESTBED")]
    testbed: Option<PathBuf>,
}

impl TestbedArgs {
    /// Whether the command line itself names a testbed. `PRONY_TESTBED` does not count: it is set for other commands as well.
    pub(crate) fn is_given(&self) -> bool {
        let named = std::env::var_os("PRONY_TESTBED").map(PathBuf::from);
        self.testbed.is_some() && self.testbed != named
    }

    /// Reads the testbed file of the command line, else that of the project.
    pub(crate) fn read(&self, checkout: Option<&Checkout>) -> anyhow::Result<Option<TestbedFile>> {
        let named = self
            .testbed
            .clone()
            .or_else(|| former_names::variable("PRONY_TESTBED").map(PathBuf::from));
        let file = match (named, checkout) {
            (Some(file), _) => Some(file),
            (None, Some(checkout)) => checkout.testbed()?,
            (None, None) => None,
        };
        file.map(|file| TestbedFile::read(&file).map_err(bad_input))
            .transpose()
    }
}

impl StoreArgs {
    /// Path of the store: `--store`, else the checkout's own.
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

/// Errors that the user can fix are bad input; all others are failures.
pub(crate) fn usage(error: StoreError) -> anyhow::Error {
    match error {
        StoreError::Missing(_)
        | StoreError::NoSuchRun { .. }
        | StoreError::Ambiguous { .. }
        | StoreError::Foreign(_)
        | StoreError::NoStore(_)
        | StoreError::ReadOnly(_)
        | StoreError::Outdated(_)
        | StoreError::RunName(_)
        | StoreError::Folder { .. } => bad_input(error),
        other => other.into(),
    }
}
