//! Drafts from curl commands, one on each line.

#![no_main]

mod drafts;

use libfuzzer_sys::fuzz_target;
use prony_config::import::from_curl;

fuzz_target!(|text: &str| {
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if let Ok(draft) = from_curl(&lines) {
        drafts::is_readable(&draft);
    }
});
