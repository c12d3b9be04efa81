//! The sources of a build: the files of its source, and those that it copies from elsewhere in the project.

use crate::source_files::{SourceEntry, is_left_behind, source_files};
use crate::{Cancel, Failure};
use prony_config::project::SERVICE_FILE;
use prony_config::{Service, SourceFiles};
use prony_files::{EntryKind, Walk};
use prony_records::TrialStage;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

/// The sources of one build.
pub(super) struct Sources<'a> {
    service: &'a Service,
    /// In the order of their paths.
    entries: Vec<SourceEntry>,
    cancel: &'a Cancel,
}

impl<'a> Sources<'a> {
    /// Lists them. The folder may come from anybody: what cannot be read or copied is an error.
    pub(super) fn of(service: &'a Service, cancel: &'a Cancel) -> Result<Self, Failure> {
        let entries = source_files(service, &|| cancel.is_asked());
        Ok(Self {
            service,
            entries: entries.map_err(|error| failed(service, &error))?,
            cancel,
        })
    }

    pub(super) const fn service(&self) -> &'a Service {
        self.service
    }

    /// Adds names, executable bits, contents and the targets of links in the order of the names.
    pub(super) fn hash(&self, digest: &mut Sha256) -> Result<(), Failure> {
        let hashed = self.hash_files(digest).and_then(|()| {
            for (destination, source) in &self.service.copies {
                let name = destination.to_string_lossy();
                hash_file(digest, &name, source, &|| self.cancel.is_asked())?;
            }
            Ok(())
        });
        hashed.map_err(|error| failed(self.service, &error))
    }

    /// Folders are left out: git has none that are empty.
    fn hash_files(&self, digest: &mut Sha256) -> io::Result<()> {
        for entry in self.entries.iter().filter(|entry| entry.is_measured) {
            let name = entry.path.to_string_lossy();
            match &entry.kind {
                EntryKind::Folder | EntryKind::Special(_) => {}
                EntryKind::Link(target) => digest.update(format!("link {name} {}\n", target.display())),
                EntryKind::File => {
                    hash_file(digest, &name, &entry.from, &|| self.cancel.is_asked())?;
                }
            }
        }
        Ok(())
    }

    /// Copies them into a folder, which is created. Keeps permissions and symbolic links.
    pub(super) fn copy_to(&self, folder: &Path) -> Result<(), Failure> {
        let copied = copy(&self.entries, folder, &|| self.cancel.is_asked());
        let copied = copied.and_then(|()| {
            for (destination, source) in &self.service.copies {
                copy_file(source, &folder.join(destination))?;
            }
            Ok(())
        });
        copied.map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => Failure::interrupted(TrialStage::Build),
            _ => Failure::infrastructure(
                TrialStage::Build,
                format!(
                    "cannot copy {} to {}: {error}",
                    self.service.source.folder.display(),
                    folder.display()
                ),
            ),
        })
    }
}

/// Adds the files directly in the folder of all services: a shared script may change the result of a build, another service may
/// not. Toolchains are left out: the relevant values are added separately.
pub(super) fn hash_shared(digest: &mut Sha256, sources: &Sources<'_>) -> Result<(), Failure> {
    let cancel = sources.cancel;
    let services = sources.service.shared_scripts.as_deref();
    let Some(services) = services.filter(|services| services.is_dir()) else {
        return Ok(());
    };
    let stops = || cancel.is_asked();
    let skips = |path: &Path| {
        let name = path.to_string_lossy();
        name == "toolchains.toml" || name == SERVICE_FILE || is_left_behind(&name)
    };
    let walk = Walk::new(services).only_to(1).skip(&skips).stop(&stops);
    let hashed = walk.each(|entry| {
        let path = services.join(&entry.path);
        // Commands read a script through its link.
        if path.is_dir() {
            return Ok(());
        }
        entry.refuse_special(services)?;
        hash_file(digest, &entry.path.to_string_lossy(), &path, &stops)
    });
    hashed.map_err(|error| match error.kind() {
        io::ErrorKind::Interrupted => Failure::interrupted(TrialStage::Build),
        _ => Failure::infrastructure(
            TrialStage::Build,
            format!("cannot read the shared scripts: {error}"),
        ),
    })
}

/// Copies a folder without the usual output of builds.
pub(super) fn copy_tree(from: &Path, to: &Path, stops: &dyn Fn() -> bool) -> io::Result<()> {
    let skips = |path: &Path| is_left_behind(&path.file_name().unwrap_or_default().to_string_lossy());
    let mut entries = Vec::new();
    Walk::new(from).skip(&skips).stop(stops).each(|entry| {
        entry.refuse_special(from)?;
        entry.refuse_outward(from)?;
        entries.push(SourceEntry {
            from: from.join(&entry.path),
            path: entry.path,
            kind: entry.kind,
            is_measured: true,
        });
        Ok(())
    })?;
    copy(&entries, to, stops)
}

/// Copies one file and creates the destination folder if necessary.
pub(super) fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::copy(from, to).map(|_| ())
}

/// Copies sources into a folder, which is created.
pub(super) fn copy(entries: &[SourceEntry], to: &Path, stops: &dyn Fn() -> bool) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in entries {
        if stops() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let copied = to.join(&entry.path);
        match &entry.kind {
            EntryKind::Folder => fs::create_dir_all(&copied)?,
            EntryKind::Link(target) => {
                copied.parent().map_or(Ok(()), fs::create_dir_all)?;
                match symlink(target, &copied) {
                    // Services may have the same source.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    linked => linked?,
                }
            }
            EntryKind::File => copy_file(&entry.from, &copied)?,
            EntryKind::Special(_) => {}
        }
    }
    Ok(())
}

fn hash_file(digest: &mut Sha256, name: &str, path: &Path, stops: &dyn Fn() -> bool) -> io::Result<()> {
    // A file that is copied from elsewhere may be named by a link.
    let at = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let path: PathBuf = path.canonicalize().map_err(at)?;
    let data = fs::metadata(&path).map_err(at)?;
    let executable = data.permissions().mode() & 0o111 != 0;
    digest.update(format!("file {name} {executable} {}\n", data.len()));
    let add = &mut |piece: &[u8]| {
        digest.update(piece);
        Ok(())
    };
    let read = Walk::new(Path::new("")).stop(stops).read(&path, add);
    read.map_err(|error| match error.kind() {
        io::ErrorKind::Interrupted => error,
        _ => at(error),
    })
}

/// What is in the folder of a service is the service's own fault.
fn failed(service: &Service, error: &io::Error) -> Failure {
    let remedy = match service.source.files {
        SourceFiles::All => {
            "files from elsewhere in the project get into a build with `copies` in service.toml"
        }
        SourceFiles::NotIgnored => "name it in `ignore` of service.toml, or a larger folder in `source`",
    };
    let text = match error.kind() {
        io::ErrorKind::Interrupted => return Failure::interrupted(TrialStage::Build),
        io::ErrorKind::InvalidInput => format!("{error}; {remedy}"),
        _ => format!("cannot read the sources of {}: {error}", service.label()),
    };
    Failure::new(TrialStage::Build, text)
}
