//! Options that several commands share: the store, the testbed, and the claim on CPUs.

pub(crate) use prony_runner::Checkout;

use crate::exit::bad_input;
use crate::former_names;
use prony_runner::Claim;
use prony_runner::testbed::TestbedFile;
use prony_store::{Store, StoreError};
use std::ffi::OsString;
use std::path::PathBuf;

/// Where runs are kept
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct StoreArgs {
    /// File that stores runs [default: that of the project, else ~/.local/share/prony/store.db]
    #[arg(long, value_name = "FILE", env = "PRONY_STORE", global = true)]
    pub(crate) store: Option<PathBuf>,
}

/// What to do when another run holds the CPUs
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ClaimArgs {
    /// Wait for other measurements on these CPUs
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
    /// Use the hosts in this file [default: `testbed` in prony.toml]
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
    /// Path of the store: `--store`, else that of the project, else that of the user.
    pub(crate) fn path(&self) -> anyhow::Result<PathBuf> {
        if let Some(path) = &self.store {
            return Ok(path.clone());
        }
        match Checkout::find() {
            Ok(checkout) => Ok(checkout.store()?),
            Err(error) => user_store(|name| std::env::var_os(name)).ok_or_else(|| error.into()),
        }
    }

    /// Whether the results are neither in a file that the user named, nor in a project.
    pub(crate) fn is_of_user(&self) -> bool {
        self.store.is_none() && Checkout::find().is_err()
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

/// The store of a user who has no project, in the folder for data (XDG Base Directory Specification).
fn user_store(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    // A relative path in the variable must be ignored.
    let folder = |name: &str| {
        variable(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let data = folder("XDG_DATA_HOME").or_else(|| Some(folder("HOME")?.join(".local/share")))?;
    Some(data.join("prony/store.db"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_without_a_project_has_a_store_in_the_data_folder() {
        let of = |set: &[(&str, &str)]| {
            let variable = |name: &str| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            };
            user_store(variable).map(|path| path.display().to_string())
        };
        assert_eq!(
            of(&[("HOME", "/home/a")]).as_deref(),
            Some("/home/a/.local/share/prony/store.db")
        );
        assert_eq!(
            of(&[("HOME", "/home/a"), ("XDG_DATA_HOME", "/data")]).as_deref(),
            Some("/data/prony/store.db")
        );
        assert_eq!(
            of(&[("HOME", "/home/a"), ("XDG_DATA_HOME", "data")]).as_deref(),
            Some("/home/a/.local/share/prony/store.db")
        );
        assert_eq!(of(&[]), None);
    }
}
