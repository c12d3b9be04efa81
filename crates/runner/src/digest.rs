//! Digests as text.

/// Number of hexadecimal digits in use. A collision within one checkout is practically impossible.
const DIGITS: usize = 12;

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
