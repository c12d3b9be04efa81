//! Arbitrary bytes of a service over HTTP/1.1.

#![no_main]

mod service;

use libfuzzer_sys::fuzz_target;
use prony_protocols::http1::Http1;

fuzz_target!(|data: &[u8]| service::answer::<Http1>(data));
