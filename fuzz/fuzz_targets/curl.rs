//! curl commands: any text is either parsed or rejected.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_config::input::curl;

fuzz_target!(|text: &str| {
    if let Ok(request) = curl::parse(text) {
        assert!(request.url.contains("://"), "{request:?}");
        assert!(
            request.body.is_none() || !request.headers.is_empty(),
            "a body has a type"
        );
    }
});
