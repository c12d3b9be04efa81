//! Expectations from two recorded replies: both replies meet them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_config::import::{RecordedReply, learn};
use prony_schema::Schema;

fuzz_target!(|replies: (&[u8], &[u8], bool)| {
    let (first, second, is_json) = replies;
    let reply = |body: &[u8]| RecordedReply {
        status: 200,
        media_type: Some(if is_json { "application/json" } else { "text/plain" }.to_owned()),
        body: body.to_vec(),
    };
    let learnt = learn(&reply(first), &reply(second), "it");
    let Some(schema) = learnt.schema else { return };
    let schema = Schema::compile(&schema).expect("a schema");
    for body in [first, second] {
        let value = serde_json::from_slice(body).expect("there is a schema for JSON only");
        assert_eq!(schema.judge(&value), Ok(()));
    }
});
