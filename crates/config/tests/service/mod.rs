//! Services, toolchains and backing services, and what a catalogue makes of broken ones.

mod backing;
mod catalogue;
mod files;
mod shipped;
mod toolchains;

use prony_config::{Catalogue, Service};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const TOOLCHAINS: &str = r#"format = 1

[go]
title = "Go"
probe = "go version"
version = 'go(\d+(?:\.\d+)+)'
packages = { debian = ["golang-go"] }
"#;

/// A project with the shipped contracts and backing services, and services of its own.
pub(crate) struct Project(TempDir);

impl Project {
    pub(crate) fn new() -> Self {
        let project = Self(TempDir::new().expect("a temporary folder"));
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contracts");
        for contract in ["hello", "sequence"] {
            let from = shipped.join(contract).canonicalize().expect("a contract");
            let to = project.path("contracts").join(contract);
            std::fs::create_dir_all(project.path("contracts")).expect("a folder");
            std::os::unix::fs::symlink(from, to).expect("a link");
        }
        project.write("services/toolchains.toml", TOOLCHAINS);
        project
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.path(name).parent().expect("a folder")).expect("a folder");
        std::fs::write(self.path(name), text).expect("a file");
    }

    /// With a service.
    pub(crate) fn with(self, service: &str, text: &str) -> Self {
        self.write(&format!("services/{service}/service.toml"), text);
        self
    }

    pub(crate) fn catalogue(&self) -> Catalogue {
        Catalogue::read(self.0.path()).expect("readable folders")
    }

    /// The text of an error, without the temporary folder.
    pub(crate) fn text(&self, error: &impl ToString) -> String {
        error
            .to_string()
            .replace(&format!("{}/", self.0.path().display()), "")
    }

    /// The errors of all files.
    pub(crate) fn errors(&self) -> String {
        self.text(&self.catalogue().verify().expect_err("an error"))
    }
}

/// The only service of a project.
pub(crate) fn only(catalogue: &Catalogue) -> &Service {
    catalogue.verify().unwrap_or_else(|error| panic!("{error}"));
    let [service] = &catalogue.services[..] else {
        panic!("{} services", catalogue.services.len())
    };
    service
}
