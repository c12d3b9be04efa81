//! Rules for JSON: for any bytes, a verdict equals that of `serde_json`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_load::{CompiledExpectation, Expectation, JsonRule, JsonWalk, Memory, Mismatch, Reply, Template};
use serde_json::Value;

const RULES: [&str; 6] = ["/a", "!/a", "/a/0=1", "/b/c!=\"x\"", "/a=[]", "=1"];

/// Whether a rule holds for a document.
fn holds(rule: &str, document: &Value) -> bool {
    let one = |value: &Value| value.as_f64() == Some(1.0);
    match rule {
        "/a" => document.pointer("/a").is_some_and(|value| !value.is_null()),
        "!/a" => document.pointer("/a").is_none_or(Value::is_null),
        "/a/0=1" => document.pointer("/a/0").is_some_and(one),
        "/b/c!=\"x\"" => document.pointer("/b/c") != Some(&Value::from("x")),
        "/a=[]" => document.pointer("/a") == Some(&Value::Array(Vec::new())),
        _ => one(document),
    }
}

/// The verdict if the body arrives in pieces, whose length is its first byte.
fn in_pieces(rule: &CompiledExpectation, reply: &Reply<'_>) -> Result<(), Mismatch> {
    let (mut walk, mut memory) = (JsonWalk::default(), Memory::default());
    assert!(rule.begin_json(reply.headers, &mut walk));
    let length = reply.body.first().map_or(1, |&byte| usize::from(byte).max(1));
    for piece in reply.body.chunks(length) {
        rule.push_json(&mut walk, piece, &mut memory, |_, _| {});
    }
    rule.end_json(&mut walk, reply, &mut memory, |_, _| {})
}

fuzz_target!(|body: &[u8]| {
    let document = serde_json::from_slice::<Value>(body);
    if document
        .as_ref()
        .is_err_and(|error| error.to_string().contains("number out of range"))
    {
        return;
    }
    for text in RULES {
        let rule = JsonRule::read(text, |value| {
            Ok::<_, std::convert::Infallible>(Template::literal(value))
        });
        let expectation = Expectation {
            json: vec![rule.expect("a rule")],
            ..Expectation::default()
        };
        let compiled = expectation.compile().expect("a good rule");
        let reply = Reply {
            status: 200,
            grpc_status: None,
            headers: &[(b"content-type", b"application/json")],
            body,
        };
        let ours = compiled.judge(&reply, |_, _| {});
        assert_eq!(ours, in_pieces(&compiled, &reply), "{text}");
        // Stricter than serde_json about duplicate members; other limits for nesting and exact numbers.
        let is_apart = |what: &str| what.contains("twice") || what.contains("levels");
        if ours.as_ref().is_err_and(|mismatch| is_apart(&mismatch.what)) {
            return;
        }
        match &document {
            Err(error) => assert!(
                ours.is_err() || error.to_string().contains("recursion"),
                "{text}: {error}"
            ),
            Ok(document) if text.ends_with("=1") => {
                assert!(ours.is_err() || holds(text, document), "{text}: {ours:?}")
            }
            Ok(document) => assert_eq!(ours.is_ok(), holds(text, document), "{text}: {ours:?}"),
        }
    }
});
