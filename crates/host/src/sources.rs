//! Which sources this program was built from: an agent of another build must not be mistaken for this one.

use std::sync::OnceLock;

static SOURCES: OnceLock<&'static str> = OnceLock::new();

/// Sets the digest of the sources. The first call counts; without one, builds are not distinguished.
pub fn set_sources(digest: &'static str) {
    let _ = SOURCES.set(digest);
}

/// The digest of the sources; empty if it is not known.
pub(crate) fn sources() -> &'static str {
    SOURCES.get().copied().unwrap_or_default()
}
