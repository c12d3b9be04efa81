//! Frames of HTTP/2: where h2 reads a reply as well, it reads the same status and body.

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

fuzz_target!(|bytes: &[u8]| {
    let (one, other) = (
        entries::in_short(&ours::http2("GET", bytes, bytes.len().max(1))),
        oracles::h2("GET", bytes),
    );
    if one != "refused" && other != "refused" {
        assert_eq!(one, other);
    }
});
