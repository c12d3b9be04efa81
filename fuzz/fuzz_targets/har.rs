//! HAR files: any text becomes a draft or an error.

#![no_main]

mod drafts;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|content: &[u8]| drafts::of_file(content, prony_config::import::from_har));
