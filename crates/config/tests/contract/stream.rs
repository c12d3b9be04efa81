//! Streaming gRPC calls in contracts.

use super::common::{self, refused};
use prony_config::ConfigError;
use prony_config::contract::{Case, Contract};
use prony_load::events::{Data, EncodedMessages};
use prony_load::{Body, Bytes, Header, Protocol, Template};

const PROTO: &str = r#"syntax = "proto3";
package toy;
message Number { int64 n = 1; }
service Toy {
  rpc count(Number) returns (stream Number);
  rpc sum(stream Number) returns (Number);
  rpc both(stream Number) returns (stream Number);
}
"#;

const RIGHT: &str = r#"format = 1
proto = "toy.proto"

[operation.count]
grpc = "toy.Toy/count"
message = { n = "{most}" }
with = { most = { random = [1, 9] } }
expect = { events = { count = "{most}", each = { message = { n = "{= i * 2}" } }, gap_us = 7 } }

[operation.sum]
grpc = "toy.Toy/sum"
messages = { count = "{count}", each = { n = "{= i + from}" } }
with = { count = 3, from = 10 }
expect = { message = { n = "{= count * (count + 1) / 2 + count * from}" } }

[operation.both]
grpc = "toy.Toy/both"
messages = { count = 2, each = { n = "{= i}" }, unanswered = 1 }
expect = { events = { count = 2, each = { message = { n = "{= i}" } }, flushed = true } }

[[case]]
name = "late"
call = { operation = "count", deadline = "250ms", expect = { grpc_status = "DEADLINE_EXCEEDED" } }

[[case]]
name = "they leave"
disconnect = { clients = 8 }
call = { operation = "count" }

[workload.fixed]
mix = [{ operation = "count", with = { most = 3 } }, { operation = "sum" }]
load = { kind = "closed", connections = 1 }
"#;

fn load(contract: &str) -> Result<Contract, ConfigError> {
    common::load_beside(contract, &[("toy.proto", PROTO)])
}

fn case(contract: &Contract, name: &str) -> Case {
    let mut cases = contract.cases(Protocol::Grpc, 3).into_iter();
    cases.find(|case| case.name == name).expect("a case")
}

/// Encoded `Number` messages with these numbers.
fn numbers(numbers: &[u8]) -> Vec<Bytes> {
    numbers.iter().map(|n| Bytes(vec![8, *n])).collect()
}

#[test]
fn each_message_of_a_stream_is_encoded_before() {
    let contract = load(RIGHT).unwrap_or_else(|error| panic!("{error}"));
    let workload = contract.workload("fixed", Protocol::Grpc).expect("a workload");
    let [count, sum] = workload.operations.as_slice() else {
        panic!("two operations");
    };
    let events = count.expect.events.as_ref().expect("a stream");
    let whole = events.whole.as_ref().expect("every message");
    let Some(Data::Messages(EncodedMessages { message, equals, .. })) = &whole.each.data else {
        panic!("messages: {whole:?}");
    };
    assert_eq!((message.as_str(), equals), ("toy.Number", &numbers(&[2, 4, 6])));
    assert_eq!(whole.gap_us, Some(Template::literal("7")));
    let Body::Messages(sent) = &sum.request.body else {
        panic!("messages: {:?}", sum.request.body);
    };
    assert_eq!((&sent.each, sent.unanswered), (&numbers(&[11, 12, 13]), None));
    assert!(sum.expect.events.is_none() && sum.expect.body.len() == 1);
}

#[test]
fn a_check_sends_streams_both_ways() {
    let contract = load(RIGHT).unwrap_or_else(|error| panic!("{error}"));
    let first = case(&contract, "keep-alive");
    let both = first
        .exchanges
        .iter()
        .find(|exchange| exchange.label.contains("both"))
        .expect("a call of each operation");
    let Body::Messages(sent) = &both.request.body else {
        panic!("messages: {:?}", both.request.body);
    };
    assert_eq!((&sent.each, sent.unanswered), (&numbers(&[1, 2]), Some(1)));
    let whole = both
        .expect
        .events
        .as_ref()
        .and_then(|events| events.whole.as_ref());
    assert!(whole.expect("every message").flushed);
}

#[test]
fn a_deadline_is_a_header() {
    let contract = load(RIGHT).unwrap_or_else(|error| panic!("{error}"));
    let late = &case(&contract, "late").exchanges[0];
    assert_eq!(late.request.headers, [Header::deadline(250_000_000)]);
    assert_eq!(
        (late.expect.grpc_status, late.expect.events.is_none()),
        (Some(4), true)
    );
    assert!(case(&contract, "they leave").leave.is_some());
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let table = [
        (
            "message = { n = \"{most}\" }",
            "messages = { count = 1, each = {} }",
            "6 { count = 1, each = {} }: `messages`: `toy.Toy/count` takes one: give `message`",
        ),
        (
            "messages = { count = \"{count}\", each = { n = \"{= i + from}\" } }\n",
            "",
            "10 [operation.sum]: `toy.Toy/sum` takes a stream: give `messages = { count = …, each = { … } }`",
        ),
        (
            "unanswered = 1",
            "unanswered = 0",
            "18 0: `unanswered` is 0: give at least 1",
        ),
        (
            "count = 2, each = { n = \"{= i}\" }",
            "count = 2, each = { n = \"{= j}\" }",
            "18 j: no value `j` (give `with.j = …`)",
        ),
        (
            "count = 2, each = { n = \"{= i}\" }",
            "count = 200000, each = { n = 1 }",
            "18 { n = 1 }: `messages.each`: 200000 messages: give at most 100000",
        ),
        (
            "count = \"{count}\"",
            "count = \"{coun}\"",
            "12 {coun}: `{coun}` has no value (did you mean `{count}`?)",
        ),
        (
            "events = { count = 2, each = { message = { n = \"{= i}\" } }, flushed = true }",
            "message = { n = 1 }",
            "19 { message = { n = 1 } }: the reply is a stream: describe it, `events = { count = …, each = { message = { … } } }`",
        ),
        (
            "message = { n = \"{= count",
            "events = { count = 1, each = { message = {} } }, message = { n = \"{= count",
            "14 { count = 1, each = { message = {} } }: `events`: the reply is not a stream",
        ),
        (
            "each = { message = { n = \"{= i * 2}\" } }",
            "each = { message = { n = 1 }, id = \"1\" }",
            "8 { count = \"{most}\", each = { message = { n = 1 }, id = \"1\" }, gap_us = 7 }: for gRPC, `events` has `count`, `each = { message = … }`, `gap_us` and `flushed`",
        ),
        (
            "with = { most = 3 }",
            "with = { most = { random = [1, 9] } }",
            "6 { n = \"{most}\" }: `message`: a number of a message cannot differ between requests: set it in the workload",
        ),
        (
            "grpc_status = \"DEADLINE_EXCEEDED\"",
            "grpc_status = \"DEADLINE\"",
            "23 \"DEADLINE\": `grpc_status` is \"DEADLINE\" (known are ABORTED, ALREADY_EXISTS, CANCELLED, DATA_LOSS, DEADLINE_EXCEEDED, FAILED_PRECONDITION, INTERNAL, INVALID_ARGUMENT, NOT_FOUND, OK, OUT_OF_RANGE, PERMISSION_DENIED, RESOURCE_EXHAUSTED, UNAUTHENTICATED, UNAVAILABLE, UNIMPLEMENTED, UNKNOWN)",
        ),
        (
            "grpc_status = \"DEADLINE_EXCEEDED\"",
            "grpc_status = \"deadline_exceeded\"",
            "23 \"deadline_exceeded\": `grpc_status` is \"deadline_exceeded\" (did you mean `DEADLINE_EXCEEDED`?)",
        ),
    ];
    refused(RIGHT, &table, |contract| {
        load(contract)?.workload("fixed", Protocol::Grpc).map(drop)
    });
}
