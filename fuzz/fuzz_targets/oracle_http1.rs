//! Replies of HTTP/1.1: where hyper reads one as well, it reads the same status and body; and httparse accepts the heads that we
//! accept.

#![no_main]

#[path = "../../crates/protocols/tests/corpus/entries.rs"]
#[allow(dead_code, reason = "each target uses its own part")]
mod entries;
#[path = "../../crates/protocols/tests/corpus/oracles.rs"]
#[allow(dead_code, reason = "each target uses its own part")]
mod oracles;
#[path = "../../crates/protocols/tests/corpus/ours.rs"]
#[allow(dead_code, reason = "each target uses its own part")]
mod ours;

use libfuzzer_sys::fuzz_target;

/// What `differences.toml` of the corpus lists: other control characters, a minor version above 1, lists of codings.
fn is_known(bytes: &[u8]) -> bool {
    let is_control = |byte: &u8| byte.is_ascii_control() && !b"\t\r\n".contains(byte);
    let lower = bytes.to_ascii_lowercase();
    let holds = |text: &[u8]| lower.windows(text.len()).any(|some| some == text);
    bytes.iter().any(is_control)
        || !(bytes.starts_with(b"HTTP/1.0") || bytes.starts_with(b"HTTP/1.1"))
        || (holds(b"transfer-encoding") && holds(b","))
}

fuzz_target!(|bytes: &[u8]| {
    if is_known(bytes) {
        return;
    }
    if ours::head("GET", bytes) == "complete" {
        assert_ne!(oracles::httparse(bytes), "partial");
    }
    let (one, other) = (
        entries::in_short(&ours::http1("GET", bytes, bytes.len().max(1))),
        oracles::hyper("GET", bytes),
    );
    if one != "refused" && other != "refused" {
        assert_eq!(one, other);
    }
});
