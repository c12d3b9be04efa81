//! Lists of requests: each line is a request, or the list is rejected.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_config::input::urls;

fuzz_target!(|text: &str| {
    if let Ok(all) = urls::parse(text) {
        assert!(!all.is_empty() && all.len() <= text.lines().count());
        for line in all {
            assert!(line.weight > 0 && !line.method.is_empty() && !line.url.is_empty());
            // A parsed request that is written again is parsed as the same.
            let body = line.body.as_deref().unwrap_or_default();
            let written = format!("{} {} {} {body}", line.weight, line.method, line.url);
            assert_eq!(urls::parse(&written), Ok(vec![line]));
        }
    }
});
