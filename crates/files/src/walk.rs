//! A walk through a folder that somebody else may have prepared: it ends, whatever is in there.

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};
use walkdir::{DirEntry, WalkDir};

/// Bytes of a file that are read before the walk looks again whether it has to stop.
const PIECE: usize = 256 << 10;

/// What a walk refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Files, folders and links.
    pub entries: usize,
    /// Folders within each other.
    pub depth: usize,
    /// Bytes of all files.
    pub bytes: u64,
}

impl Limits {
    /// For folders that prony filled itself.
    pub const NONE: Self = Self {
        entries: usize::MAX,
        depth: usize::MAX,
        bytes: u64::MAX,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            entries: 1_000_000,
            depth: 128,
            bytes: 64 << 30,
        }
    }
}

/// A walk through everything below a folder, in the order of the names, each folder before its contents. Symbolic links are
/// entries of their own and never followed, except for the folder itself.
pub struct Walk<'a> {
    root: &'a Path,
    limits: Limits,
    levels: usize,
    skips: &'a dyn Fn(&Path) -> bool,
    stops: &'a dyn Fn() -> bool,
}

/// A file, folder or link below the folder of a walk.
#[derive(Debug)]
pub struct Entry {
    /// Relative to the folder of the walk.
    pub path: PathBuf,
    pub kind: EntryKind,
    pub metadata: Metadata,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    Folder,
    File,
    /// A symbolic link, with its target as written.
    Link(PathBuf),
    /// A FIFO, a socket or a device, which cannot be read or copied.
    Special(&'static str),
}

impl Entry {
    /// The entry at this path below a folder; `None` if there is nothing.
    pub fn at(root: &Path, path: &Path) -> io::Result<Option<Self>> {
        let place = root.join(path);
        let metadata = match std::fs::symlink_metadata(&place) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(Self {
            path: path.to_owned(),
            kind: kind(metadata.file_type(), &place)?,
            metadata,
        }))
    }

    /// The error of an entry that is none of file, folder and link.
    pub fn refuse_special(&self, root: &Path) -> io::Result<()> {
        let EntryKind::Special(what) = self.kind else {
            return Ok(());
        };
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "{} is {what}: remove it, because only files, folders and links can be read",
                root.join(&self.path).display()
            ),
        ))
    }

    /// The error of a link that leads out of `root`, the folder of the walk. Links are looked at as written and as the system
    /// resolves them, because `..` after another link leads elsewhere.
    pub fn refuse_outward(&self, root: &Path) -> io::Result<()> {
        let EntryKind::Link(target) = &self.kind else {
            return Ok(());
        };
        let link = root.join(&self.path);
        let folder = link.parent().unwrap_or(root);
        let written = stays_below(self.path.parent().unwrap_or(Path::new("")), target);
        let resolved = match (folder.join(target).canonicalize(), root.canonicalize()) {
            (Ok(there), Ok(root)) => there.starts_with(root),
            // It leads nowhere, or in circles.
            _ => true,
        };
        if written && resolved {
            return Ok(());
        }
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "{} is a link to {}, which is not in {}",
                link.display(),
                target.display(),
                root.display()
            ),
        ))
    }
}

/// Whether a relative path that begins in a folder of the walk stays in the walk, without looking at the disk.
fn stays_below(folder: &Path, target: &Path) -> bool {
    let mut depth = folder.components().count();
    target.components().all(|component| match component {
        Component::Prefix(_) | Component::RootDir => false,
        Component::CurDir => true,
        Component::ParentDir => depth.checked_sub(1).map(|less| depth = less).is_some(),
        Component::Normal(_) => {
            depth += 1;
            true
        }
    })
}

impl<'a> Walk<'a> {
    pub fn new(root: &'a Path) -> Self {
        Self {
            root,
            limits: Limits::default(),
            levels: usize::MAX,
            skips: &|_| false,
            stops: &|| false,
        }
    }

    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Leaves out everything further down than this many levels. The first is that of the folder's own entries.
    #[must_use]
    pub fn only_to(self, levels: usize) -> Self {
        Self { levels, ..self }
    }

    /// Leaves out the entries whose path below the folder this accepts, with everything in them.
    #[must_use]
    pub fn skip(self, skips: &'a dyn Fn(&Path) -> bool) -> Self {
        Self { skips, ..self }
    }

    /// Ends the walk with [`io::ErrorKind::Interrupted`] as soon as this is true.
    #[must_use]
    pub fn stop(self, stops: &'a dyn Fn() -> bool) -> Self {
        Self { stops, ..self }
    }

    /// Calls `each` with every entry. The first error ends the walk.
    pub fn each(&self, mut each: impl FnMut(Entry) -> io::Result<()>) -> io::Result<()> {
        let (mut entries, mut bytes) = (0, 0);
        for found in self.found() {
            if (self.stops)() {
                return Err(io::Error::from(io::ErrorKind::Interrupted));
            }
            let found = found?;
            let entry = Entry {
                path: self.below(&found),
                kind: kind(found.file_type(), found.path())?,
                metadata: found.metadata()?,
            };
            entries += 1;
            if entry.kind == EntryKind::File {
                bytes += entry.metadata.len();
            }
            let more = |what: String| {
                let text = format!("{} has more than {what}", self.root.display());
                Err(io::Error::new(io::ErrorKind::FileTooLarge, text))
            };
            if entries > self.limits.entries {
                return more(format!("{} files and folders", self.limits.entries));
            }
            if found.depth() > self.limits.depth {
                return more(format!("{} folders within each other", self.limits.depth));
            }
            if bytes > self.limits.bytes {
                return more(format!("{} bytes", self.limits.bytes));
            }
            each(entry)?;
        }
        Ok(())
    }

    /// The entries that can be read, without limits. What cannot be read counts as absent.
    pub fn readable(&self) -> impl Iterator<Item = Entry> + '_ {
        self.found().flatten().filter_map(|found| {
            Some(Entry {
                path: self.below(&found),
                kind: kind(found.file_type(), found.path()).ok()?,
                metadata: found.metadata().ok()?,
            })
        })
    }

    fn found(&self) -> impl Iterator<Item = walkdir::Result<DirEntry>> + '_ {
        let walk = WalkDir::new(self.root)
            .min_depth(1)
            .max_depth(self.levels)
            .sort_by_file_name();
        walk.into_iter()
            .filter_entry(|entry| !(self.skips)(&self.below(entry)))
    }

    /// The path of an entry below the folder.
    fn below(&self, found: &DirEntry) -> PathBuf {
        let path = found.path();
        path.strip_prefix(self.root).unwrap_or(path).to_owned()
    }

    /// All entries.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        self.each(|entry| {
            entries.push(entry);
            Ok(())
        })?;
        Ok(entries)
    }

    /// Gives the content of a file to `each`, piece by piece.
    pub fn read(&self, path: &Path, each: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut options = OpenOptions::new();
        // It may have been replaced since the walk found it.
        options.read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK);
        let mut file: File = options.open(path)?;
        let mut piece = vec![0; PIECE];
        loop {
            if (self.stops)() {
                return Err(io::Error::from(io::ErrorKind::Interrupted));
            }
            match file.read(&mut piece)? {
                0 => return Ok(()),
                length => each(&piece[..length])?,
            }
        }
    }
}

fn kind(kind: FileType, path: &Path) -> io::Result<EntryKind> {
    Ok(if kind.is_symlink() {
        EntryKind::Link(std::fs::read_link(path)?)
    } else if kind.is_dir() {
        EntryKind::Folder
    } else if kind.is_file() {
        EntryKind::File
    } else if kind.is_fifo() {
        EntryKind::Special("a FIFO")
    } else if kind.is_socket() {
        EntryKind::Special("a socket")
    } else {
        EntryKind::Special("a device")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn paths(walk: &Walk<'_>) -> Vec<String> {
        let entries = walk.entries().expect("walked");
        entries
            .iter()
            .map(|entry| entry.path.display().to_string())
            .collect()
    }

    #[test]
    fn links_to_the_folder_itself_are_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("b")).expect("made");
        fs::write(folder.path().join("b/x"), "x").expect("written");
        fs::write(folder.path().join("b.c"), "x").expect("written");
        symlink(".", folder.path().join("a")).expect("linked");
        symlink("..", folder.path().join("b/up")).expect("linked");
        let walk = Walk::new(folder.path());
        assert_eq!(paths(&walk), ["a", "b", "b/up", "b/x", "b.c"]);
        assert_eq!(
            walk.entries().expect("walked")[0].kind,
            EntryKind::Link(".".into())
        );
        let skips = |path: &Path| path == Path::new("b");
        assert_eq!(paths(&Walk::new(folder.path()).skip(&skips)), ["a", "b.c"]);
    }

    #[test]
    fn a_walk_is_bounded_and_can_be_stopped() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("a/b/c")).expect("made");
        fs::write(folder.path().join("a/b/c/d"), "12345").expect("written");
        let limits = Limits {
            entries: 4,
            depth: 4,
            bytes: 5,
        };
        let refused = |limits| {
            Walk::new(folder.path())
                .limits(limits)
                .entries()
                .err()
                .map(|error| error.kind())
        };
        assert_eq!(refused(limits), None);
        for less in [
            Limits { entries: 3, ..limits },
            Limits { depth: 3, ..limits },
            Limits { bytes: 4, ..limits },
        ] {
            assert_eq!(refused(less), Some(io::ErrorKind::FileTooLarge), "{less:?}");
        }
        let stopped = Walk::new(folder.path()).stop(&|| true).entries();
        assert_eq!(stopped.expect_err("stopped").kind(), io::ErrorKind::Interrupted);
    }

    #[test]
    fn a_fifo_is_refused_and_never_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        nix::unistd::mkfifo(&folder.path().join("pipe"), nix::sys::stat::Mode::S_IRWXU).expect("made");
        let entries = Walk::new(folder.path()).entries().expect("walked");
        let refused = entries[0]
            .refuse_special(folder.path())
            .expect_err("a FIFO")
            .to_string();
        assert!(refused.contains("pipe is a FIFO: remove it"), "{refused}");
    }

    #[test]
    fn a_link_must_stay_in_the_folder() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path().join("service");
        fs::create_dir_all(folder.join("s/t")).expect("made");
        fs::write(place.path().join("secret"), "x").expect("written");
        for (target, link, stays) in [
            (".", "s/self", true),
            ("../..", "s/t/root", true),
            ("nowhere/x", "s/dangling", true),
            ("loop", "s/loop", true),
            ("../secret", "up", false),
            ("../../../nowhere", "s/t/gone", false),
            ("/etc/hostname", "absolute", false),
            // As written it stays, but `root` leads to the top.
            ("root/../secret", "s/t/around", false),
        ] {
            symlink(target, folder.join(link)).expect("linked");
            let entries = Walk::new(&folder).entries().expect("walked");
            let entry = entries
                .iter()
                .find(|entry| entry.path == Path::new(link))
                .expect("found");
            assert_eq!(entry.refuse_outward(&folder).is_ok(), stays, "{link} -> {target}");
        }
    }
}
