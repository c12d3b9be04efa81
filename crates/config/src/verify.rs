//! Verifies a file of any kind, and what it refers to.

use crate::contract::{Contract, SequenceFile};
use crate::format::{Faults, FileKind, SourceFile};
use crate::{Catalogue, ConfigError, Plan, PlanOverrides, Suite, backing, service, toolchain};
use prony_load::Protocol;
use std::path::Path;

impl Catalogue {
    /// All errors of a file, and of the files that it needs. Kinds that another crate reads are not verified.
    pub fn verify_file(&self, kind: FileKind, file: &SourceFile) -> Result<(), ConfigError> {
        let folder = file.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or_else(|| Path::new("."));
        // Whether a service is in the root of its project is seen from whole paths.
        let folder = &std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        match kind {
            FileKind::Contract => {
                let contract = Contract::of(folder, file.clone())?;
                self.verify_backing_services(&contract)
            }
            FileKind::Service => service::of(file, (folder, &self.root), &self.known_names()).map(drop),
            FileKind::Suite => self.verify_suite(file),
            FileKind::Toolchains => toolchain::of(file).map(drop),
            FileKind::Backing => backing::of(file, folder).map(drop),
            FileKind::Sequence => SequenceFile::of(file.clone(), Protocol::Http1).map(drop),
            FileKind::Testbed | FileKind::Project => Ok(()),
        }
    }

    /// A suite in all its profiles, as it would be run on a machine without limits.
    fn verify_suite(&self, file: &SourceFile) -> Result<(), ConfigError> {
        let without = Suite::of(file.clone(), None)?;
        let mut faults = Faults::default();
        let profiles = without.profiles.iter().map(|profile| Some(profile.as_str()));
        for profile in std::iter::once(None).chain(profiles) {
            if let Some(suite) = faults.keep(Suite::of(file.clone(), profile)) {
                faults.keep(Plan::of(self, &suite, &PlanOverrides::default()));
            }
        }
        faults.or(())
    }
}
