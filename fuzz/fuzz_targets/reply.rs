//! Replies as they are judged: bodies that are decoded, and values that are taken from JSON, headers and cookies. Whatever a
//! server sends, a value fits its place, and a second look at the same reply finds the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_load::{Bag, CompiledExpectation, Expectation, LONGEST_TAKEN, Memory, Origin, Reply, Take};

/// What is taken from a reply; `None`: the reply is wrong.
fn taken(expectation: &CompiledExpectation, memory: &mut Memory, reply: &Reply<'_>) -> Option<Vec<u8>> {
    expectation.judge_with(memory, reply, |_, _| {}).ok()?;
    let mut bag = Bag::default();
    expectation.give(memory, &mut bag);
    Some(bag.get(0).to_vec())
}

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
    for origin in [pointer.as_str(), "cookie:sid", "header:set-cookie", r"regex:id=(\w+)"] {
        let Ok(origin) = origin.parse::<Origin>() else {
            continue;
        };
        for decode in [false, true] {
            let take = Take {
                name: "value".to_owned(),
                slot: 0,
                from: origin.clone(),
            };
            let expectation = Expectation {
                take: vec![take],
                decode,
                ..Expectation::default()
            };
            let Ok(compiled) = expectation.compile() else {
                continue;
            };
            let mut memory = Memory::default();
            let first = taken(&compiled, &mut memory, &reply);
            assert_eq!(first, taken(&compiled, &mut memory, &reply));
            let value = first.unwrap_or_default();
            assert!(value.len() <= LONGEST_TAKEN && !value.iter().any(u8::is_ascii_control));
        }
    }
});
