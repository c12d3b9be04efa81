//! The sources of a build: the files of the service's folder, and those that it copies from elsewhere in the project. One list
//! decides what goes into the digest and what is copied to the place where it is built, so that both are the same.

use crate::{Cancel, Failure};
use prony_config::Service;
use prony_files::{Entry, EntryKind, Walk};
use prony_records::TrialStage;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

/// Left in the folder of the service by manual builds; these are not sources.
const LEFT_BEHIND: [&str; 8] = [
    ".git",
    "node_modules",
    "target",
    "venv",
    "__pycache__",
    ".gradle",
    "bin.prony",
    ".DS_Store",
];
/// Copied, but not hashed: the relevant values of the file of the service are added to the digest separately.
const SERVICE_FILE: &str = "service.toml";

pub(crate) fn is_left_behind(name: &str) -> bool {
    LEFT_BEHIND.contains(&name)
}

/// The sources of one service.
pub(super) struct Sources<'a> {
    service: &'a Service,
    /// Everything in the folder of the service that is a source, each folder before its contents.
    entries: Vec<Entry>,
    cancel: &'a Cancel,
}

impl<'a> Sources<'a> {
    /// Lists them. The folder may come from anybody: what cannot be read or copied is an error.
    pub(super) fn of(service: &'a Service, cancel: &'a Cancel) -> Result<Self, Failure> {
        let entries = list(&service.folder, &|| cancel.is_asked());
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
        let hashed = self.hash_folder(digest).and_then(|()| {
            for (destination, source) in &self.service.copies {
                let name = destination.to_string_lossy();
                hash_file(digest, &name, source, &|| self.cancel.is_asked())?;
            }
            Ok(())
        });
        hashed.map_err(|error| failed(self.service, &error))
    }

    fn hash_folder(&self, digest: &mut Sha256) -> io::Result<()> {
        let mut open = 0;
        for entry in &self.entries {
            let depth = entry.path.components().count();
            for _ in depth..=open {
                digest.update("end\n");
            }
            open = depth - 1;
            let name = entry.path.file_name().unwrap_or_default().to_string_lossy();
            match &entry.kind {
                EntryKind::Folder => {
                    digest.update(format!("folder {name}\n"));
                    open = depth;
                }
                EntryKind::Link(target) => digest.update(format!("link {name} {}\n", target.display())),
                _ if entry.path == Path::new(SERVICE_FILE) => {}
                _ => {
                    let path = self.service.folder.join(&entry.path);
                    hash_file(digest, &name, &path, &|| self.cancel.is_asked())?;
                }
            }
        }
        for _ in 0..open {
            digest.update("end\n");
        }
        Ok(())
    }

    /// Copies them into a folder, which is created. Keeps permissions and symbolic links.
    pub(super) fn copy_to(&self, folder: &Path) -> Result<(), Failure> {
        let copied = copy(&self.service.folder, &self.entries, folder, &|| {
            self.cancel.is_asked()
        });
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
                    self.service.folder.display(),
                    folder.display()
                ),
            ),
        })
    }
}

/// Adds the files directly in the folder of all services: a shared script may change the result of a build, another service may
/// not. Toolchains are left out: the relevant values are added separately.
pub(super) fn hash_shared(digest: &mut Sha256, sources: &Sources<'_>) -> Result<(), Failure> {
    let (services, cancel) = (sources.service.shared_scripts(), sources.cancel);
    if !services.is_dir() {
        return Ok(());
    }
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

/// Copies a folder of sources. Output of manual builds is left out.
pub(super) fn copy_tree(from: &Path, to: &Path, stops: &dyn Fn() -> bool) -> io::Result<()> {
    copy(from, &list(from, stops)?, to, stops)
}

/// Copies one file and creates the destination folder if necessary.
pub(super) fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::copy(from, to).map(|_| ())
}

fn list(folder: &Path, stops: &dyn Fn() -> bool) -> io::Result<Vec<Entry>> {
    let skips = |path: &Path| is_left_behind(&path.file_name().unwrap_or_default().to_string_lossy());
    let mut entries = Vec::new();
    Walk::new(folder).skip(&skips).stop(stops).each(|entry| {
        entry.refuse_special(folder)?;
        entry.refuse_outward(folder)?;
        entries.push(entry);
        Ok(())
    })?;
    Ok(entries)
}

fn copy(from: &Path, entries: &[Entry], to: &Path, stops: &dyn Fn() -> bool) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in entries {
        if stops() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let (source, copied) = (from.join(&entry.path), to.join(&entry.path));
        match &entry.kind {
            EntryKind::Folder => fs::create_dir_all(&copied)?,
            EntryKind::Link(target) => symlink(target, &copied)?,
            EntryKind::File | EntryKind::Special(_) => fs::copy(&source, &copied).map(|_| ())?,
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
    let text = match error.kind() {
        io::ErrorKind::Interrupted => return Failure::interrupted(TrialStage::Build),
        io::ErrorKind::InvalidInput => format!(
            "{error}; files from elsewhere in the project get into a build with `copies` in service.toml"
        ),
        _ => format!("cannot read the sources of {}: {error}", service.label()),
    };
    Failure::new(TrialStage::Build, text)
}
