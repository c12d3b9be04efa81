//! The checkout that a command works in, and where its state lies.

use crate::exit::bad_input;
use anyhow::{Context as _, anyhow};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The checkout: the folder with `services/` and `contracts/`.
#[derive(Debug, Clone)]
pub(crate) struct Checkout {
    /// The folder.
    pub(crate) root: PathBuf,
}

/// Where runs are kept
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct StoreArgs {
    /// The file that keeps the runs [default: .prony/store.db of the checkout]
    #[arg(long, value_name = "FILE", env = "PRONY_STORE", global = true)]
    pub(crate) store: Option<PathBuf>,
}

impl Checkout {
    /// The nearest folder from the working directory upwards that is a checkout.
    pub(crate) fn find() -> anyhow::Result<Self> {
        let here = std::env::current_dir().context("cannot tell the working directory")?;
        let is_checkout =
            |folder: &Path| folder.join("services").is_dir() && folder.join("contracts").is_dir();
        match here.ancestors().find(|folder| is_checkout(folder)) {
            Some(root) => Ok(Self {
                root: root.to_owned(),
            }),
            None => Err(bad_input(anyhow!(
                "{} lies in no checkout of prony: go to a folder that has services/ and contracts/",
                here.display()
            ))),
        }
    }

    /// The commit that the checkout is at, with `+dirty` where it has changes; `None` where git does not say.
    pub(crate) fn commit(&self) -> Option<String> {
        let git = |arguments: &[&str]| {
            let output = Command::new("git")
                .arg("-C")
                .arg(&self.root)
                .args(arguments)
                .output()
                .ok()?;
            output
                .status
                .success()
                .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
        let clean = git(&["status", "--porcelain"])?.is_empty();
        Some(if clean { commit } else { format!("{commit}+dirty") })
    }

    /// The state folder, `.prony/`.
    pub(crate) fn state(&self) -> PathBuf {
        self.root.join(".prony")
    }
}

impl StoreArgs {
    /// The store's file: as given, else the checkout's.
    pub(crate) fn path(&self) -> anyhow::Result<PathBuf> {
        match &self.store {
            Some(path) => Ok(path.clone()),
            None => Ok(Checkout::find()?.state().join("store.db")),
        }
    }
}
