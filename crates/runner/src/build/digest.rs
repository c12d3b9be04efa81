//! The digest of a build. Its inputs are the files of the service and those that it copies, its commands and environment, its
//! image, the shared scripts, the versions of its toolchains, and those variables of the caller's environment that change what
//! compilers produce.

use super::sources::{Sources, hash_shared};
use super::{Folders, Tools};
use crate::{Cancel, Failure};
use prony_config::Service;
use prony_host::Container;
use sha2::{Digest as _, Sha256};

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
pub(super) fn of(
    (service, sources): (&Service, &Sources<'_>),
    tools: &Tools,
    (folders, cancel): (&Folders, &Cancel),
    pulled: Option<&Container>,
) -> Result<String, Failure> {
    let text = |part: std::ffi::OsString| part.to_string_lossy().into_owned();
    let callers: Vec<(String, String)> = std::env::vars_os()
        .map(|(name, value)| (text(name), text(value)))
        .filter(|(name, _)| changes_builds(name))
        .collect();
    let mut digest = with(service, (tools, pulled), &callers);
    sources.hash(&mut digest)?;
    hash_shared(&mut digest, &folders.services, cancel)?;
    Ok(short(&digest.finalize()))
}

/// Whether a variable of the caller's environment, which builds inherit, changes the resulting program.
fn changes_builds(name: &str) -> bool {
    CALLERS.iter().any(|begin| name.starts_with(begin))
}

/// The digest of everything but files, for the given variables of the caller.
fn with(
    service: &Service,
    (tools, pulled): (&Tools, Option<&Container>),
    callers: &[(String, String)],
) -> Sha256 {
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
    digest
}

/// The first digits of a digest.
pub(crate) fn short(digest: &[u8]) -> String {
    let first = digest.first_chunk().expect("invariant: a digest has 32 bytes");
    format!("{:016x}", u64::from_be_bytes(*first))[..DIGITS].to_owned()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}
