//! Copies files to and from a host.

use super::connection::Connection;
use super::{Progress, UploadResult};
use crate::HostError;
use crate::wire::{AgentRequest, Entry, EntryKind, InboundReader, OutboundWriter, Reply, hash};
use prony_files::{EntryKind as Kind, Limits, Walk};
use sha2::{Digest as _, Sha256};
use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time for the last bytes to be written and moved to their final path.
const PLACED: Duration = Duration::from_mins(2);
/// Timeout for the first reply about a file.
const SOON: Duration = Duration::from_secs(30);
/// Maximum number of files, folders and links in one transfer.
const MOST_ENTRIES: usize = 1_000_000;
/// Size of one read, bytes.
const PIECE: usize = 64 << 10;

/// Copies a file or a folder to a path, or into the cache.
pub(super) fn put(
    connection: &Connection,
    from: &Path,
    to: Option<&Path>,
    tell: &dyn Fn(Progress),
) -> Result<UploadResult, HostError> {
    let entries = survey(from).map_err(|(path, error)| read(path, error))?;
    let total = entries.iter().map(|entry| entry.bytes).sum();
    let (to, hash) = if let Some(to) = to {
        (to.to_owned(), None)
    } else {
        let name = PathBuf::from(from.file_name().unwrap_or(from.as_os_str()));
        let hash = digest(from, &name, &entries).map_err(|(path, error)| read(path, error))?;
        let request = AgentRequest::Kept { hash: hash.clone() };
        if let Some(path) = connection.path(&request, "search its cache", SOON)? {
            return Ok(UploadResult { path, bytes: 0 });
        }
        (name, Some(hash))
    };
    let stream = connection.number();
    let mut outgoing = OutboundWriter::open(connection.link(), stream);
    let asked = connection.send(&AgentRequest::Put {
        to,
        hash,
        bytes: total,
        stream,
    })?;
    let sent = send(&mut outgoing, from, &entries, &mut |sent| {
        tell(Progress { sent, total });
    });
    let failed = match sent {
        Ok(()) => {
            drop(outgoing);
            None
        }
        Err((path, error)) => {
            outgoing.break_off("reading it failed");
            Some(read(path, error))
        }
    };
    // The host's error is the cause if it refused the rest.
    match (connection.answer(&asked, "receive the files", PLACED), failed) {
        (Ok(Reply::Path { path: Some(path) }), None) => Ok(UploadResult { path, bytes: total }),
        (Ok(other), None) => Err(connection.unexpected_reply(&other)),
        (Err(error), None) | (Ok(_), Some(error)) => Err(error),
        (Err(theirs), Some(ours)) => Err(match ours {
            HostError::File { ref error, .. } if error.kind() == io::ErrorKind::BrokenPipe => theirs,
            _ => ours,
        }),
    }
}

/// Copies a file from the host.
pub(super) fn get(connection: &Connection, from: &Path, to: &Path) -> Result<u64, HostError> {
    let stream = connection.number();
    let mut incoming = InboundReader::open(connection.link(), stream);
    let request = AgentRequest::Get {
        from: from.to_owned(),
        stream,
    };
    // The reply arrives before the first byte.
    connection.done(&request, "send a file", SOON)?;
    let write = |error| HostError::File {
        what: "write",
        path: to.to_owned(),
        error,
    };
    let mut file = File::create(to).map_err(write)?;
    let mut buffer = vec![0; PIECE];
    let mut bytes = 0;
    loop {
        let length = incoming.read(&mut buffer).map_err(|error| {
            connection.lost().unwrap_or_else(|| HostError::There {
                host: connection.host().to_owned(),
                text: format!("cannot read {}: {error}", from.display()),
            })
        })?;
        if length == 0 {
            return Ok(bytes);
        }
        file.write_all(&buffer[..length]).map_err(write)?;
        bytes += length as u64;
    }
}

fn read(path: PathBuf, error: io::Error) -> HostError {
    HostError::File {
        what: "read",
        path,
        error,
    }
}

type TransferError = (PathBuf, io::Error);

/// Lists everything at and below a path, each folder before its contents, in a deterministic order. Sockets and pipes belong to
/// processes on this machine and are left out.
fn survey(from: &Path) -> Result<Vec<Entry>, TransferError> {
    let failed = |error| (from.to_owned(), error);
    // The root itself may be a symbolic link, which is followed.
    let root = fs::metadata(from).map_err(failed)?;
    let kind = if root.is_dir() { Kind::Folder } else { Kind::File };
    let mut entries: Vec<Entry> = entry(PathBuf::new(), kind, &root).into_iter().collect();
    if !root.is_dir() {
        return Ok(entries);
    }
    let limits = Limits {
        entries: MOST_ENTRIES,
        ..Limits::NONE
    };
    let walk = Walk::new(from).limits(limits);
    let walked = walk.each(|found| {
        entries.extend(entry(found.path, found.kind, &found.metadata));
        Ok(())
    });
    walked.map_err(failed)?;
    Ok(entries)
}

fn entry(path: PathBuf, kind: Kind, metadata: &fs::Metadata) -> Option<Entry> {
    let (kind, target) = match kind {
        Kind::Folder => (EntryKind::Folder, None),
        Kind::File => (EntryKind::File, None),
        Kind::Link(target) => (EntryKind::Link, Some(target)),
        Kind::Special(_) => return None,
    };
    let bytes = match kind {
        EntryKind::File => metadata.len(),
        EntryKind::Folder | EntryKind::Link => 0,
    };
    Some(Entry {
        path,
        kind,
        mode: metadata.permissions().mode() & 0o7777,
        bytes,
        target,
    })
}

fn join(from: &Path, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() {
        from.to_owned()
    } else {
        from.join(path)
    }
}

fn head(entry: &Entry) -> io::Result<Vec<u8>> {
    // A name may be any bytes; JSON must be UTF-8.
    serde_json::to_vec(entry).map_err(|error| io::Error::other(format!("{error}; use file names in UTF-8")))
}

/// SHA-256 of names, kinds, permissions and contents.
fn digest(from: &Path, name: &Path, entries: &[Entry]) -> Result<String, TransferError> {
    let mut all = Sha256::new();
    all.update(name.as_os_str().as_encoded_bytes());
    for entry in entries {
        let whole = join(from, &entry.path);
        let failed = |error| (whole.clone(), error);
        let head = head(entry).map_err(failed)?;
        all.update((head.len() as u32).to_be_bytes());
        all.update(head);
        if entry.kind == EntryKind::File {
            all.update(hash::of_file(&whole).map_err(failed)?);
        }
    }
    Ok(hash::hex(&all.finalize()))
}

fn send(
    outgoing: &mut OutboundWriter,
    from: &Path,
    entries: &[Entry],
    tell: &mut dyn FnMut(u64),
) -> Result<(), TransferError> {
    let mut buffer = vec![0; PIECE];
    let mut sent = 0;
    for entry in entries {
        let whole = join(from, &entry.path);
        let failed = |error| (whole.clone(), error);
        let head = head(entry).map_err(failed)?;
        outgoing
            .write_all(&(head.len() as u32).to_be_bytes())
            .and_then(|()| outgoing.write_all(&head))
            .map_err(failed)?;
        if entry.kind != EntryKind::File {
            continue;
        }
        let mut file = File::open(&whole).map_err(failed)?.take(entry.bytes);
        let mut left = entry.bytes;
        while left > 0 {
            let length = file.read(&mut buffer).map_err(failed)?;
            if length == 0 {
                return Err(failed(io::Error::other("the file changed during the transfer")));
            }
            outgoing.write_all(&buffer[..length]).map_err(failed)?;
            left -= length as u64;
            sent += length as u64;
            tell(sent);
        }
    }
    Ok(())
}
