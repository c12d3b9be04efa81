//! The files of a command that works on files of any kind, and the projects that they belong to.

use crate::exit::bad_input;
use anyhow::{Context as _, anyhow};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use prony_config::Catalogue;
use prony_config::format::FileKind;
use prony_runner::{Checkout, ProjectFile, known_files, shipped};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files of any kind
#[derive(Debug, clap::Args)]
pub(crate) struct FileArgs {
    /// Files, or folders with files [default: all of the project]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Kind of the files [default: from name, folder and content]
    #[arg(long, value_name = "KIND", value_parser = kind_parser(), requires = "files")]
    kind: Option<FileKind>,
}

/// Parses the name of a kind of file.
pub(crate) fn kind_parser() -> impl TypedValueParser<Value = FileKind> {
    PossibleValuesParser::new(FileKind::ALL.map(FileKind::name)).map(|name| {
        let mut kinds = FileKind::ALL.into_iter();
        kinds
            .find(|kind| kind.name() == name)
            .expect("invariant: one of the possible values")
    })
}

impl FileArgs {
    /// The files of the command line, or all of the project.
    pub(crate) fn files(&self) -> anyhow::Result<Vec<ProjectFile>> {
        if self.files.is_empty() {
            return Ok(Checkout::find()?.files());
        }
        let mut found: Vec<ProjectFile> = Vec::new();
        for path in &self.files {
            for file in self.of(path)? {
                if !found.contains(&file) {
                    found.push(file);
                }
            }
        }
        Ok(found)
    }

    fn of(&self, written: &Path) -> anyhow::Result<Vec<ProjectFile>> {
        let path = std::path::absolute(written)
            .with_context(|| format!("cannot find {}", written.display()))
            .map_err(bad_input)?;
        if path.is_dir() {
            let mut files = known_files(&path, usize::MAX);
            files.retain(|file| self.kind.is_none_or(|kind| file.kind == kind));
            if files.is_empty() {
                return Err(bad_input(anyhow!("no files of prony in {}", written.display())));
            }
            return Ok(files);
        }
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", written.display()))
            .map_err(bad_input)?;
        let Some(kind) = self.kind.or_else(|| FileKind::of(&path, &text)) else {
            return Err(bad_input(anyhow!(
                "cannot tell the kind of {}: files are distinguished by their names (contract.toml, service.toml, toolchains.toml, \
                 backing.toml, testbed.toml, prony.toml), their folders (suites/, testbeds/) or their tables ([[group]] of a suite, \
                 [[step]] of a sequence, [host.NAME] of a testbed, [operation.NAME] of a contract); or give --kind KIND",
                written.display()
            )));
        };
        Ok(vec![ProjectFile { kind, path }])
    }
}

/// The catalogues of projects, each of which is read once.
#[derive(Debug, Default)]
pub(crate) struct Catalogues(BTreeMap<Option<PathBuf>, Catalogue>);

impl Catalogues {
    /// The catalogue of the project that contains a file; without one, only what ships with prony.
    pub(crate) fn around(&mut self, file: &Path) -> anyhow::Result<&Catalogue> {
        let root = file
            .parent()
            .and_then(Checkout::around)
            .map(|checkout| checkout.root);
        if !self.0.contains_key(&root) {
            let shipped = shipped()?;
            let catalogue = match &root {
                Some(root) => Catalogue::read_with(root, Some(&shipped)),
                None => Catalogue::read(&shipped),
            };
            self.0.insert(root.clone(), catalogue.map_err(bad_input)?);
        }
        Ok(&self.0[&root])
    }
}

/// A path relative to the working directory, if it is below it.
pub(crate) fn relative(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    let relative = here.and_then(|here| Some(path.strip_prefix(here).ok()?.to_owned()));
    relative.unwrap_or_else(|| path.to_owned())
}
