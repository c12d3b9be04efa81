//! The page cache: how much of some files is in memory, and how to remove them from it. And the files that a process tree uses.

use crate::HostError;
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use nix::libc;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::unistd::{SysconfVar, Uid, sysconf};
use prony_files::{EntryKind, Walk};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Drops the page cache of the whole machine when `1` is written to it.
const DROP: &str = "/proc/sys/vm/drop_caches";
/// Pages of a file that are asked for at once.
const PAGES_AT_ONCE: usize = 1 << 16;

/// Files whose pages are counted, and removed from memory before if `evict` is set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageCacheRequest {
    /// Single files.
    pub files: Vec<PathBuf>,
    /// A folder; all of its regular files.
    pub folder: Option<PathBuf>,
    /// Whether to remove them from memory.
    pub evict: bool,
}

/// A regular file, and how much of it is in memory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CachedFile {
    pub path: PathBuf,
    pub bytes: u64,
    pub resident_bytes: u64,
    /// Whether this program maps it itself, such as the C library: the kernel never removes its pages.
    pub is_own: bool,
}

/// What is in memory of the requested files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageCacheReport {
    /// Each file once, by its path. Files that cannot be read are left out.
    pub files: Vec<CachedFile>,
    /// Whether the page cache of the whole machine was dropped.
    pub dropped_all: bool,
}

impl PageCacheReport {
    /// The share of the bytes of all files that is in memory, without those that this program maps itself; `None` without files.
    pub fn resident_share(&self) -> Option<f64> {
        let others = || self.files.iter().filter(|file| !file.is_own);
        let bytes: u64 = others().map(|file| file.bytes).sum();
        let resident: u64 = others().map(|file| file.resident_bytes).sum();
        (bytes > 0).then(|| resident as f64 / bytes as f64)
    }
}

/// Reads the page cache of files of this machine, after removing them from it if that is requested.
pub(crate) fn page_cache(request: &PageCacheRequest) -> Result<PageCacheReport, HostError> {
    let mut paths: BTreeSet<PathBuf> = request.files.iter().cloned().collect();
    if let Some(folder) = &request.folder {
        let failed = |error| HostError::File {
            what: "read",
            path: folder.clone(),
            error,
        };
        paths.extend(regular_files(folder).map_err(failed)?);
    }
    let own = mapped_by("self");
    let mut dropped_all = false;
    if request.evict {
        for path in &paths {
            // A file that cannot be opened has pages that we can neither remove nor count.
            let _ = evict(path);
        }
        // What a process opened and closed again is only reached in this way.
        dropped_all = Uid::effective().is_root() && fs::write(DROP, "1").is_ok();
    }
    // One file may have several paths.
    let mut seen = BTreeSet::new();
    let files = paths.into_iter().filter_map(|path| {
        let file = File::open(&path).ok()?;
        let facts = file.metadata().ok().filter(fs::Metadata::is_file)?;
        if !seen.insert((facts.dev(), facts.ino())) {
            return None;
        }
        Some(CachedFile {
            resident_bytes: resident_bytes(&file, facts.len()).ok()?,
            bytes: facts.len(),
            is_own: own.contains(&path),
            path,
        })
    });
    Ok(PageCacheReport {
        files: files.collect(),
        dropped_all,
    })
}

fn regular_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::metadata(folder)?;
    let walk = Walk::new(folder);
    let files = walk.readable().filter(|entry| entry.kind == EntryKind::File);
    Ok(files.map(|entry| folder.join(entry.path)).collect())
}

/// Removes the pages of a file from memory. Pages that were not written to disk yet cannot be removed.
fn evict(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    file.sync_all()?;
    posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?;
    Ok(())
}

/// The resident bytes of a file, by mincore(2). Mapping a file reads none of it.
fn resident_bytes(file: &File, bytes: u64) -> io::Result<u64> {
    let page = sysconf(SysconfVar::PAGE_SIZE)?.unwrap_or(4_096) as u64;
    let Some(length) = NonZeroUsize::new(bytes as usize) else {
        return Ok(0);
    };
    // SAFETY: a new mapping at an address that the kernel chooses; no code reads or writes through it.
    let mapped = unsafe { mmap(None, length, ProtFlags::PROT_READ, MapFlags::MAP_SHARED, file, 0) }?;
    let pages = bytes.div_ceil(page) as usize;
    let mut states = vec![0_u8; pages.min(PAGES_AT_ONCE)];
    let mut resident = 0;
    let mut result = Ok(());
    for first in (0..pages).step_by(PAGES_AT_ONCE) {
        let some = PAGES_AT_ONCE.min(pages - first);
        let start = mapped.as_ptr().cast::<u8>().wrapping_add(first * page as usize);
        // SAFETY: the range is within the mapping, and `states` has a byte for each of its pages.
        let failed = unsafe { libc::mincore(start.cast(), some * page as usize, states.as_mut_ptr()) } != 0;
        if failed {
            result = Err(io::Error::last_os_error());
            break;
        }
        resident += states[..some].iter().filter(|&&state| state & 1 == 1).count() as u64;
    }
    // SAFETY: the mapping of this function, which nothing uses any more.
    unsafe { munmap(mapped, length.get()) }?;
    result.map(|()| (resident * page).min(bytes))
}

/// The regular files that these processes have mapped or opened now, as they are seen from this process. Files that have no path
/// any more, or another one here, are left out.
pub(crate) fn used_files(pids: &[i32]) -> Vec<PathBuf> {
    let mut files = BTreeSet::new();
    for pid in pids {
        files.extend(mapped_by(&pid.to_string()));
        let opened = fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten()
            .flatten();
        files.extend(opened.filter_map(|entry| fs::read_link(entry.path()).ok()));
    }
    files
        .into_iter()
        .filter(|path| path.is_absolute() && path.metadata().is_ok_and(|facts| facts.is_file()))
        .filter(|path| !path.starts_with("/proc") && !path.starts_with("/sys") && !path.starts_with("/dev"))
        .collect()
}

/// The files that a process has mapped, from the last column of its `maps`.
fn mapped_by(pid: &str) -> BTreeSet<PathBuf> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let path = |line: &str| line.find('/').map(|at| PathBuf::from(&line[at..]));
    maps.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of this size, which is in memory because it was just written.
    fn cached_file(folder: &Path, bytes: usize) -> PathBuf {
        let path = folder.join("large");
        fs::write(&path, vec![7; bytes]).expect("written");
        path
    }

    fn request(path: &Path, evict: bool) -> PageCacheReport {
        let request = PageCacheRequest {
            files: vec![path.to_owned()],
            folder: None,
            evict,
        };
        page_cache(&request).expect("readable")
    }

    #[test]
    fn a_file_that_was_just_written_is_in_memory() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = cached_file(folder.path(), (4 << 20) + 1);
        let report = request(&path, false);
        assert_eq!(report.files.len(), 1);
        assert_eq!(report.files[0].bytes, (4 << 20) + 1);
        assert_eq!(report.resident_share(), Some(1.0));
        assert!(!report.dropped_all);
    }

    #[test]
    fn the_pages_of_a_file_can_be_removed_without_root() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("a folder on disk");
        let path = cached_file(folder.path(), 4 << 20);
        evict(&path).expect("evicted");
        let share = request(&path, false).resident_share();
        assert!(share.is_some_and(|share| share <= 0.02), "{share:?}");
        fs::read(&path).expect("read again");
        assert_eq!(request(&path, false).resident_share(), Some(1.0));
    }

    #[test]
    fn a_file_that_this_program_maps_is_not_counted() {
        let own = std::env::current_exe().expect("known");
        let report = request(&own, false);
        assert!(report.files[0].is_own, "{report:?}");
        assert_eq!(report.resident_share(), None);
    }

    #[test]
    fn a_folder_is_all_of_its_regular_files_each_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = cached_file(folder.path(), 10);
        fs::create_dir(folder.path().join("inner")).expect("made");
        fs::hard_link(&path, folder.path().join("inner/again")).expect("linked");
        fs::write(folder.path().join("inner/empty"), "").expect("written");
        let request = PageCacheRequest {
            folder: Some(folder.path().to_owned()),
            ..PageCacheRequest::default()
        };
        let report = page_cache(&request).expect("readable");
        let bytes: Vec<u64> = report.files.iter().map(|file| file.bytes).collect();
        assert_eq!(bytes, [10, 0], "{report:?}");
    }

    #[test]
    fn open_and_mapped_files_are_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = cached_file(folder.path(), 10);
        let _open = File::open(&path).expect("opened");
        let used = used_files(&[std::process::id() as i32]);
        assert!(used.contains(&path), "{used:?}");
        assert!(
            used.contains(&std::env::current_exe().expect("known")),
            "{used:?}"
        );
    }
}
