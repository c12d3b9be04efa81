//! Copies files between the controller and this host.

use super::cache;
use super::folders::Folders;
use crate::free_bytes;
use crate::wire::{Entry, EntryKind, Fault, OutboundWriter, Reply};
use prony_files::remove;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Component, Path, PathBuf};

/// Longest header of an entry, bytes.
const MOST_HEAD: usize = 64 << 10;
/// Disk space that is left free for others, bytes.
const SPARE: u64 = 16 << 20;

/// Receives a file or a folder as a stream of entries. Atomic: it appears at its path when complete, or not at all.
pub(super) fn put(
    folders: &Folders,
    to: &Path,
    hash: Option<&str>,
    bytes: u64,
    stream: &mut impl Read,
) -> Result<Reply, Fault> {
    let place = match hash {
        Some(_) => folders.cache().join("kept"),
        None => folders.resolve(to),
    };
    let parent = place.parent().unwrap_or(Path::new("/"));
    let failed = |error: io::Error| Fault::other(format!("cannot write {}: {error}", place.display()));
    if let Some(free) = free_bytes(parent)
        && free < bytes.saturating_add(SPARE)
    {
        return Err(Fault::NoRoom {
            path: place,
            needed: bytes + SPARE,
            free,
        });
    }
    fs::create_dir_all(parent).map_err(failed)?;
    let part = match hash {
        Some(_) => folders.fresh(),
        // Next to its final path, so that a rename is possible.
        None => temporary_sibling(&place, folders),
    };
    let path = take(&part, stream)
        .and_then(|()| match hash {
            Some(hash) => cache::keep(folders, &part, to, hash),
            None => replace(&part, &place).map(|()| place.clone()),
        })
        .inspect_err(|_| {
            let _ = remove(&part);
        })
        .map_err(failed)?;
    Ok(Reply::Path { path: Some(path) })
}

fn temporary_sibling(place: &Path, folders: &Folders) -> PathBuf {
    let fresh = folders.fresh();
    let number = fresh.file_name().unwrap_or_default().to_string_lossy();
    place.with_file_name(format!(
        ".prony-{}{number}-{}",
        std::process::id(),
        place.file_name().unwrap_or_default().to_string_lossy()
    ))
}

fn replace(part: &Path, place: &Path) -> io::Result<()> {
    let before = fs::symlink_metadata(place).is_ok_and(|data| data.is_dir()) || part.is_dir();
    if before {
        // Renaming cannot replace a folder.
        remove(place)?;
    }
    fs::rename(part, place)
}

/// Receives entries until the stream ends, and writes them as files below `root`.
fn take(root: &Path, stream: &mut impl Read) -> io::Result<()> {
    let mut folders = Vec::new();
    let mut any = false;
    while let Some(entry) = head(stream)? {
        let path = below(root, &entry.path, any)?;
        any = true;
        match entry.kind {
            EntryKind::Folder => {
                DirBuilder::new().create(&path)?;
                folders.push((path, entry.mode));
            }
            EntryKind::Link => symlink(entry.target.unwrap_or_default(), &path)?,
            EntryKind::File => {
                let mut file = OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .mode(0o600)
                    .open(&path)?;
                let written = io::copy(&mut stream.take(entry.bytes), &mut file)?;
                if written < entry.bytes {
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "the stream ended in the middle of a file",
                    ));
                }
                file.set_permissions(Permissions::from_mode(entry.mode))?;
            }
        }
    }
    if !any {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the stream was empty",
        ));
    }
    // Innermost first: permissions of files in a folder that forbids access could not be changed any more.
    for (folder, mode) in folders.into_iter().rev() {
        fs::set_permissions(folder, Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// Reads the next header; `None` at the end of the stream.
fn head(stream: &mut impl Read) -> io::Result<Option<Entry>> {
    let mut length = [0; 4];
    let mut read = 0;
    while read < length.len() {
        match stream.read(&mut length[read..])? {
            0 if read == 0 => return Ok(None),
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            more => read += more,
        }
    }
    let length = u32::from_be_bytes(length) as usize;
    if length > MOST_HEAD {
        let text = format!("received a header of {length} bytes, which is too long");
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    let mut head = vec![0; length];
    stream.read_exact(&mut head)?;
    Ok(Some(serde_json::from_slice(&head)?))
}

/// The path of an entry on this host. Only the first entry has an empty path.
fn below(root: &Path, path: &Path, any: bool) -> io::Result<PathBuf> {
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    match (plain, any, path.as_os_str().is_empty()) {
        (true, false, true) => Ok(root.to_owned()),
        (true, true, false) => Ok(root.join(path)),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{} is not a path inside the transferred folder", path.display()),
        )),
    }
}

/// Opens a file for [`send`].
pub(super) fn open(folders: &Folders, from: &Path) -> Result<File, Fault> {
    let path = folders.resolve(from);
    let file = File::open(&path).and_then(|file| {
        if file.metadata()?.is_file() {
            Ok(file)
        } else {
            Err(io::Error::other("it is not a file"))
        }
    });
    file.map_err(|error| Fault::other(format!("cannot read {}: {error}", path.display())))
}

pub(super) fn send(mut file: File, mut stream: OutboundWriter) {
    match io::copy(&mut file, &mut stream).and_then(|_| stream.flush()) {
        Ok(()) => {}
        Err(error) => stream.break_off(&error.to_string()),
    }
}

/// The kind and size of whatever exists at a path.
pub(super) fn look(folders: &Folders, path: &Path) -> Reply {
    let metadata = fs::metadata(folders.resolve(path)).ok();
    let kind = metadata.as_ref().map(|metadata| {
        if metadata.is_dir() {
            EntryKind::Folder
        } else {
            EntryKind::File
        }
    });
    Reply::There {
        kind,
        bytes: metadata.map_or(0, |metadata| metadata.len()),
    }
}

/// Removes a path that is inside one of the agent's folders.
pub(super) fn forget(folders: &Folders, path: &Path) -> Result<Reply, Fault> {
    let path = folders.inside(path).map_err(Fault::other)?;
    remove(&path).map_err(|error| Fault::other(format!("cannot remove {}: {error}", path.display())))?;
    Ok(Reply::Done)
}

/// Searches `PATH` for a program.
pub(super) fn which(program: &str) -> Reply {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let may_run =
        |path: &PathBuf| path.is_file() && nix::unistd::access(path, nix::unistd::AccessFlags::X_OK).is_ok();
    let plain = !program.is_empty() && !program.contains('/');
    Reply::Path {
        path: std::env::split_paths(&path)
            .filter(|_| plain)
            .map(|folder| folder.join(program))
            .find(may_run),
    }
}
