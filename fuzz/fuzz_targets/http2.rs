//! Arbitrary bytes of a service over HTTP/2.

#![no_main]

mod service;

use libfuzzer_sys::fuzz_target;
use prony_protocols::http2::Http2;

fuzz_target!(|data: &[u8]| service::answer::<Http2>(data));
