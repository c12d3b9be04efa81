//! Lists of requests: each line is one, or the list is refused.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_config::input::urls;

fuzz_target!(|text: &str| {
    if let Ok(all) = urls::parse(text) {
        assert!(!all.is_empty() && all.len() <= text.lines().count());
        for line in all {
            assert!(line.weight > 0 && !line.method.is_empty() && !line.url.is_empty());
            // What was read is read again as the same.
            let body = line.body.as_deref().unwrap_or_default();
            let written = format!("{} {} {} {body}", line.weight, line.method, line.url);
            assert_eq!(urls::parse(&written), Ok(vec![line]));
        }
    }
});
