//! Digests of the constant part of generated bodies.

use sha2::{Digest as _, Sha256};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Most digests that a thread keeps.
const MOST: usize = 64;

thread_local! {
    /// Digests by the length of the body: its filler depends on nothing else, and a long one takes time.
    static KEPT: RefCell<BTreeMap<u64, Sha256>> = const { RefCell::new(BTreeMap::new()) };
}

/// The unfinished digest of the filler of a body with this many bytes.
pub(super) fn of_filler(bytes: u64, filler: impl FnOnce() -> Vec<u8>) -> Sha256 {
    KEPT.with_borrow_mut(|kept| {
        if let Some(digest) = kept.get(&bytes) {
            return digest.clone();
        }
        let digest = Sha256::new_with_prefix(filler());
        if kept.len() == MOST {
            kept.clear();
        }
        kept.insert(bytes, digest.clone());
        digest
    })
}
