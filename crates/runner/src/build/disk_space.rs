//! A rough estimate of the disk space that a run and its builds need, checked before the run starts.

use super::MARK;
use prony_host::free_bytes;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Bytes of records, logs and reports of a run.
const RUN: u64 = 100 << 20;
/// Bytes of a build including its share of the package caches: a few bytes for C, up to 400 MiB for the first build in Rust.
const BUILD: u64 = 150 << 20;

/// Bytes of memory that a build may need: the compilers of Rust, Scala and .NET come close to it.
const MEMORY: u64 = 2 << 30;

/// The folders of a checkout that builds use.
#[derive(Debug, Clone)]
pub struct Folders {
    /// `services/`.
    pub services: PathBuf,
    /// `.prony/build/`.
    pub builds: PathBuf,
    /// `.prony/cache/`.
    pub cache: PathBuf,
    /// `.prony/log/`.
    pub logs: PathBuf,
}

impl Folders {
    /// The folders of the checkout at `root` whose state is in `state` (`.prony`).
    pub fn of(root: &Path, state: &Path) -> Self {
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        Self {
            services: absolute(root.join("services")),
            builds: absolute(state.join("build")),
            cache: absolute(state.join("cache")),
            logs: absolute(state.join("log")),
        }
    }
}

/// How many builds may run in parallel on the CPUs of this process and within the free memory.
pub fn builds_at_once(free_memory: Option<u64>) -> usize {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    within(cpus, free_memory)
}

fn within(cpus: usize, free_memory: Option<u64>) -> usize {
    let fit = free_memory.map_or(2, |bytes| (bytes / MEMORY) as usize);
    fit.clamp(1, cpus.max(1))
}

/// Checks that the disk has space for the builds of these services and for a run. The error says how much is missing and what
/// to do.
pub fn room_for(folders: &Folders, state: &Path, names: &BTreeSet<&str>) -> Result<(), String> {
    let builds = names.iter().filter(|name| !is_built(folders, name)).count();
    free_bytes(state).map_or(Ok(()), |free| enough(free, builds, state))
}

fn enough(free: u64, builds: usize, state: &Path) -> Result<(), String> {
    let needed = RUN + builds as u64 * BUILD;
    if free >= needed {
        return Ok(());
    }
    Err(format!(
        "{} MiB are free for {}, and {builds} builds and a run need about {} MiB: free some space, for example with `prony clean`",
        free >> 20,
        state.display(),
        needed >> 20
    ))
}

/// Whether any build of the service is complete. Another build may still be necessary, but then the package caches are already
/// filled.
fn is_built(folders: &Folders, name: &str) -> bool {
    let entries = fs::read_dir(&folders.builds).into_iter().flatten().flatten();
    let mut of_it = entries.filter(|entry| {
        let file = entry.file_name();
        let digest = file
            .to_str()
            .and_then(|file| file.strip_prefix(name)?.strip_prefix('-'));
        digest.is_some_and(|digest| digest.starts_with(|letter: char| letter.is_ascii_hexdigit()))
    });
    of_it.any(|entry| entry.path().join(MARK).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_with_what_is_needed() {
        let state = Path::new("/here/.prony");
        enough(RUN + 2 * BUILD, 2, state).expect("enough");
        let error = enough(RUN + 2 * BUILD - 1, 2, state).expect_err("too little");
        assert_eq!(
            error,
            "399 MiB are free for /here/.prony, and 2 builds and a run need about 400 MiB: free some space, for example with \
             `prony clean`"
        );
    }

    #[test]
    fn as_many_builds_as_the_memory_holds_run_side_by_side() {
        assert_eq!(within(2, Some(24 << 30)), 2);
        assert_eq!(within(64, Some(24 << 30)), 12);
        assert_eq!(within(4, Some(1 << 30)), 1);
        assert_eq!((within(8, None), within(1, None)), (2, 1));
    }

    #[test]
    fn what_is_built_needs_no_room() {
        let folder = tempfile::tempdir().expect("a folder");
        let folders = Folders::of(folder.path(), folder.path());
        let build = |name: &str| folders.builds.join(name);
        fs::create_dir_all(build("go-nethttp-0a1b2c3d4e5f")).expect("made");
        assert!(!is_built(&folders, "go-nethttp"));
        fs::write(build("go-nethttp-0a1b2c3d4e5f").join(MARK), "").expect("marked");
        assert!(is_built(&folders, "go-nethttp") && !is_built(&folders, "go"));
    }
}
