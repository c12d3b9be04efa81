//! The digest of a build. Its inputs are the files of the service and those that it copies, its commands and environment, its
//! image, the shared scripts, the versions of its toolchains, and those variables of the caller's environment that change what
//! compilers produce.

use super::{Folders, Tools};
use prony_config::Service;
use prony_host::Container;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Variables of the caller that change the resulting program: cargo profiles and compiler flags.
const CALLERS: [&str; 6] = [
    "CARGO_PROFILE_",
    "RUSTFLAGS",
    "CFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "CGO_CFLAGS",
];
/// Number of hexadecimal digits in use. A collision within one checkout is practically impossible.
const DIGITS: usize = 12;

/// `pulled` is the container of an existing image. Its ID goes into the digest: the same name with another image is
/// another build.
pub(super) fn of(service: &Service, tools: &Tools, folders: &Folders, pulled: Option<&Container>) -> String {
    let text = |part: std::ffi::OsString| part.to_string_lossy().into_owned();
    let callers: Vec<(String, String)> = std::env::vars_os()
        .map(|(name, value)| (text(name), text(value)))
        .filter(|(name, _)| changes_builds(name))
        .collect();
    with(service, (tools, pulled), folders, &callers)
}

/// Whether a variable of the caller's environment, which builds inherit, changes the resulting program.
fn changes_builds(name: &str) -> bool {
    CALLERS.iter().any(|begin| name.starts_with(begin))
}

/// The digest for the given variables of the caller.
fn with(
    service: &Service,
    (tools, pulled): (&Tools, Option<&Container>),
    folders: &Folders,
    callers: &[(String, String)],
) -> String {
    let mut digest = Sha256::new();
    let mut add = |text: &str| {
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text.as_bytes());
    };
    for command in service.build.iter().chain(&service.version_from) {
        add(command);
    }
    if let Some(image) = service.reached.image() {
        add("image");
        add(image.name.as_deref().unwrap_or_default());
        let file = image.containerfile.as_ref();
        add(&file.map(|file| file.to_string_lossy()).unwrap_or_default());
        add(pulled.map_or("", |container| &container.image.id));
    }
    for (name, value) in service
        .env
        .iter()
        .chain(&tools.environment)
        .chain(&tools.versions)
    {
        add(name);
        add(value);
    }
    let mut callers: Vec<&(String, String)> = callers.iter().collect();
    callers.sort();
    for (name, value) in callers {
        add(name);
        add(value);
    }
    add_tree(&mut digest, &service.folder, true);
    for (destination, source) in &service.copies {
        add_file(&mut digest, &destination.to_string_lossy(), source);
    }
    // A shared script may change the result of a build; another service may not.
    add_tree(&mut digest, &folders.services, false);
    short(&digest.finalize())
}

/// The first digits of a digest.
pub(crate) fn short(digest: &[u8]) -> String {
    let first = digest.first_chunk().expect("invariant: a digest has 32 bytes");
    format!("{:016x}", u64::from_be_bytes(*first))[..DIGITS].to_owned()
}

/// Adds names, executable bits and contents in the order of the names. `service.toml` and `toolchains.toml` are left out: their
/// relevant values are added separately.
fn add_tree(digest: &mut Sha256, folder: &Path, deep: bool) {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    entries.sort();
    for path in entries {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if matches!(name.as_str(), "service.toml" | "toolchains.toml") || super::copy::is_left_behind(&name) {
            continue;
        }
        if path.is_dir() {
            if deep {
                digest.update(format!("folder {name}\n"));
                add_tree(digest, &path, true);
                digest.update("end\n");
            }
            continue;
        }
        add_file(digest, &name, &path);
    }
}

fn add_file(digest: &mut Sha256, name: &str, path: &Path) {
    let Ok(content) = fs::read(path) else { return };
    let executable = fs::metadata(path).is_ok_and(|data| data.permissions().mode() & 0o111 != 0);
    digest.update(format!("file {name} {executable} {}\n", content.len()));
    digest.update(&content);
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}
