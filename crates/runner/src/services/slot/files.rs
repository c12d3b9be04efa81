//! The files of a service, and whether they were in the page cache at its start.

use crate::trial::Trial;
use prony_config::StartKind;
use prony_host::PageCacheReport;
use prony_records::{StartFiles, Warning, WarningKind};
use std::path::PathBuf;

/// Share of the files of a service up to which its start counts as cold.
const COLD: f64 = 0.02;

/// The files of a service.
#[derive(Default)]
pub(crate) struct FoundFiles {
    /// Those that it had open or mapped.
    pub(crate) used: Vec<PathBuf>,
    /// Size of the files of its build folder that it used, bytes.
    pub(crate) artefact_used_bytes: Option<u64>,
    /// What was in the page cache before the last start.
    pub(crate) cached: Option<PageCacheReport>,
}

impl FoundFiles {
    /// What is recorded of them; `None` if the page cache was not read.
    pub(super) fn record(&self, trial: &Trial<'_>) -> Option<StartFiles> {
        let cached = self.cached.as_ref()?;
        let folder = &trial.built.folder;
        let in_folder = cached.files.iter().filter(|file| file.path.starts_with(folder));
        let own = cached.files.iter().filter(|file| file.is_own);
        let name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
        Some(StartFiles {
            artefact_used_bytes: self.artefact_used_bytes,
            // Without a file of it the folder is unknown, such as that of an image.
            artefact_bytes: self
                .artefact_used_bytes
                .map(|_| in_folder.map(|file| file.bytes).sum()),
            resident_share: cached.resident_share(),
            dropped_all: cached.dropped_all,
            left_out: own.filter_map(|file| name(&file.path)).collect(),
        })
    }
}

/// Warns about a start that was to be cold and was not, or that may not have been.
pub(super) fn still_cached(trial: &Trial<'_>, files: &StartFiles) -> Option<Warning> {
    let is_cold = trial
        .group()
        .start
        .is_some_and(|start| start.measures == StartKind::Cold);
    let text = match files.resident_share {
        _ if !is_cold => return None,
        Some(share) if share <= COLD => return None,
        Some(share) => format!(
            "Not cold: {:.0} % of its files were still in the page cache.",
            100.0 * share
        ),
        None => "Whether it was cold is unknown: none of its files is known.".to_owned(),
    };
    Some(Warning::new(WarningKind::Note, text))
}
