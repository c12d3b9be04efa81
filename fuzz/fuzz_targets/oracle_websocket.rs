//! Frames of a WebSocket: what we read to its end, tungstenite reads as well, and the same.

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
    let one = ours::websocket(bytes, bytes.len().max(1));
    if !one.contains("malformed") {
        assert_eq!(one, oracles::tungstenite(bytes));
    }
});
