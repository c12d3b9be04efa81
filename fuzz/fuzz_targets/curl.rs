//! curl commands: any text is either parsed or rejected.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_config::input::curl::{self, FileAccess};

fuzz_target!(|text: &str| {
    let files = FileAccess {
        read: &|path| if path.is_empty() { Err("none".to_owned()) } else { Ok(b"content".to_vec()) },
        is_lenient: true,
    };
    for command in curl::parse_script(text, files).unwrap_or_default() {
        assert!(command.line > 0);
        if let Ok(request) = command.request {
            assert!(request.url.contains("://"), "{request:?}");
        }
    }
});
