//! The project of a command: a checkout of prony, or any folder with a `prony.toml`.

mod changes;
pub mod clean;
mod revision;
mod service_selector;
mod shipped;

pub use changes::{ChangedServices, ServiceChange, ServiceChangeKind, changed_services};
pub use prony_config::project::PROJECT_FILE;
pub use revision::ProjectRevision;
pub use service_selector::{SelectedService, ServiceSelector, choose, common, find, is_uncommitted};
pub use shipped::{shipped, shipped_contracts};

use crate::CommandError;
use crate::error::ErrorContext as _;
use crate::git;
use crate::{Folders, room_for};
use prony_config::Catalogue;
use prony_config::project::{STATE_FOLDER, Settings, root_around};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

static CATALOGUE_WARNING: OnceLock<String> = OnceLock::new();

/// The warning about files that were left out because they are broken, if a catalogue was read. A command shows it at its end.
pub fn catalogue_warning() -> Option<&'static str> {
    CATALOGUE_WARNING.get().map(String::as_str)
}

/// The project: a folder with `prony.toml`, with `service.toml` and `.prony/`, or with `services/` and `contracts/`.
#[derive(Debug, Clone)]
pub struct Checkout {
    pub root: PathBuf,
}

impl Checkout {
    /// The project that contains the working directory.
    pub fn find() -> Result<Self, CommandError> {
        let here = std::env::current_dir().failed(|| "cannot find the working directory".to_owned())?;
        Self::around(&here).ok_or_else(|| {
            CommandError::Input(format!(
                "{} is not inside a prony project → `prony init` creates one here; --store FILE names stored runs.",
                here.display()
            ))
        })
    }

    /// The project that contains a folder.
    pub fn around(folder: &Path) -> Option<Self> {
        root_around(folder).map(|root| Self { root })
    }

    /// Everything that the project defines, and what is shipped with prony.
    pub fn catalogue(&self) -> Result<Catalogue, CommandError> {
        let catalogue = Catalogue::read_with(&self.root, Some(&shipped()?))?;
        if let Some(warning) = catalogue.warning() {
            let _ = CATALOGUE_WARNING.set(warning);
        }
        Ok(catalogue)
    }

    /// The file of the run store: the one in `prony.toml`; default: `store.db` in the state folder.
    pub fn store(&self) -> Result<PathBuf, CommandError> {
        let own = self.settings()?.store.map(|store| self.root.join(store));
        Ok(own.unwrap_or_else(|| self.state().join("store.db")))
    }

    /// The testbed file that `prony.toml` names.
    pub fn testbed(&self) -> Result<Option<PathBuf>, CommandError> {
        let testbed = self.settings()?.testbed;
        Ok(testbed.map(|testbed| self.root.join(testbed.into_inner())))
    }

    fn settings(&self) -> Result<Settings, CommandError> {
        Ok(Settings::of(&self.root)?)
    }

    /// The checked-out commit, with `+dirty` if there are changes; `None` if git reports none.
    pub fn commit(&self) -> Option<String> {
        let commit = git::line(&self.root, &["rev-parse", "--short=12", "HEAD"])?;
        let clean = git::output(&self.root, &["status", "--porcelain"])
            .ok()?
            .is_empty();
        Some(if clean { commit } else { format!("{commit}+dirty") })
    }

    /// Address of the repository: `repository-code` in the `CITATION.cff` of the project.
    pub fn repository(&self) -> Option<String> {
        let text = std::fs::read_to_string(self.root.join("CITATION.cff")).ok()?;
        let written = text
            .lines()
            .find_map(|line| line.strip_prefix("repository-code:"))?;
        let address = written.trim().trim_matches(['"', '\'']);
        address.starts_with("http").then(|| address.to_owned())
    }

    /// Whether the disk has enough space to build and run these services.
    pub fn has_room<'a>(&self, services: impl IntoIterator<Item = &'a str>) -> Result<(), CommandError> {
        let state = self.state();
        let names: BTreeSet<&str> = services.into_iter().collect();
        room_for(&Folders::of(&self.root, &state), &state, &names).map_err(CommandError::Input)
    }

    /// The state folder, `.prony/`.
    pub fn state(&self) -> PathBuf {
        self.root.join(STATE_FOLDER)
    }
}
