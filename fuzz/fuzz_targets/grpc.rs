//! Arbitrary bytes of a service over gRPC.

#![no_main]

mod service;

use libfuzzer_sys::fuzz_target;
use prony_protocols::grpc::Grpc;

fuzz_target!(|data: &[u8]| service::answer::<Grpc>(data));
