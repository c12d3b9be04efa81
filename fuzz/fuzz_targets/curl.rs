//! curl commands: any text is either parsed or rejected.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_config::input::curl;

fuzz_target!(|text: &str| {
    let no_files = |_: &str| Ok(b"content".to_vec());
    for command in curl::parse_script(text, &no_files).unwrap_or_default() {
        assert!(command.line > 0);
        if let Ok(request) = command.request {
            assert!(request.url.contains("://"), "{request:?}");
        }
    }
});
