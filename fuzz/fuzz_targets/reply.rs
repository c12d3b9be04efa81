//! Judging replies: decoded bodies, and values captured from JSON, headers and cookies. Whatever a server sends, a value fits
//! its slot, and judging the same reply again gives the same result.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_load::{
    Capture, CapturedValues, CompiledExpectation, Encoding, Expectation, LONGEST_TAKEN, Memory, Origin, Reply,
};
use std::sync::LazyLock;

/// The value captured from a reply; `None`: the reply is invalid.
fn captured_value(
    expectation: &CompiledExpectation,
    memory: &mut Memory,
    reply: &Reply<'_>,
) -> Option<Vec<u8>> {
    expectation.judge_with(memory, reply, |_, _| {}).ok()?;
    let mut values = CapturedValues::default();
    expectation.pass_captures(memory, &mut values);
    Some(values.get(0).to_vec())
}

/// Expectations that capture one value from the body as sent and decoded; empty if the origin is invalid.
fn captures_from(origin: &str) -> Vec<CompiledExpectation> {
    let Ok(from) = origin.parse::<Origin>() else {
        return Vec::new();
    };
    let expectation = |decode| Expectation {
        take: vec![Capture {
            name: "value".to_owned(),
            slot: 0,
            from: from.clone(),
            encoding: Encoding::default(),
        }],
        decode,
        ..Expectation::default()
    };
    let compiled = [false, true].map(|decode| expectation(decode).compile());
    compiled.into_iter().flatten().collect()
}

/// Those that are the same in every run: compiling a regular expression takes longer than everything else.
static FIXED: LazyLock<Vec<CompiledExpectation>> = LazyLock::new(|| {
    let origins = ["cookie:sid", "header:set-cookie", r"regex:id=(\w+)"];
    origins.into_iter().flat_map(captures_from).collect()
});

// The first line is a pointer, the second one a header, the rest is the body.
fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(3, |byte| *byte == b'\n');
    let (Some(pointer), Some(header), Some(body)) = (parts.next(), parts.next(), parts.next()) else {
        return;
    };
    let pointer = format!("json:{}", String::from_utf8_lossy(pointer));
    let names: [&[u8]; 2] = [b"set-cookie", b"content-encoding"];
    let headers = names.map(|name| (name, header));
    let reply = Reply {
        status: 200,
        grpc_status: None,
        headers: &headers,
        body,
    };
    for compiled in captures_from(&pointer).iter().chain(FIXED.iter()) {
        let mut memory = Memory::default();
        let first = captured_value(compiled, &mut memory, &reply);
        assert_eq!(first, captured_value(compiled, &mut memory, &reply));
        let value = first.unwrap_or_default();
        assert!(value.len() <= LONGEST_TAKEN && !value.iter().any(u8::is_ascii_control));
    }
});
