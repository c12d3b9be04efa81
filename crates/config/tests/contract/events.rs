//! Streams in contracts: the expectations of their messages, and error messages.

use super::common::load;
use prony_config::contract::{Case, Contract};
use prony_load::events::{Data, ExactStream, MessageRule};
use prony_load::{Part, Protocol, Template};
use std::time::Duration;

const RIGHT: &str = r#"format = 1

[operation.events]
http = "GET /events?count={count}&gap_us={gap_us}"
with = { count = { random = [1, 9] }, gap_us = 5 }

[operation.events.expect]
content_type = "text/event-stream"

[operation.events.expect.events]
count = "{count}"
each = { id = "{= i}", event = "tick", json = { n = "{= i * 2}", of = "{count}", text = "{= i:text} of {count}" } }
last = { event = "end" }
gap_us = "{gap_us}"

[[case]]
name = "some"
call = { operation = "events", with = { count = 3 } }

[[case]]
name = "they leave"
disconnect = { clients = 8, within = "2s" }
call = { operation = "events" }

[workload.burst]
mix = [{ operation = "events" }]
load = { kind = "closed", connections = 1 }
"#;

fn case(contract: &Contract, protocol: Protocol, name: &str) -> Option<Case> {
    let mut cases = contract.cases(protocol, 3).into_iter();
    cases.find(|case| case.name == name)
}

fn constant(text: &str) -> Template {
    Template::literal(text)
}

#[test]
fn a_stream_is_expected_message_by_message() {
    let contract = load(RIGHT).expect("a contract");
    let case = case(&contract, Protocol::Http1, "some").expect("a case");
    let events = case.exchanges[0].expect.events.clone().expect("a stream");
    let whole = ExactStream {
        count: constant("3"),
        each: MessageRule {
            id: Some(constant("{= i}")),
            name: Some(constant("tick")),
            data: Some(Data::Json(constant(r#"{"n":{= i * 2},"of":3}"#))),
        },
        last: Some(MessageRule {
            name: Some(constant("end")),
            ..MessageRule::default()
        }),
        gap_us: Some(constant("5")),
        flushed: false,
    };
    assert_eq!(events.whole, Some(whole));
}

#[test]
fn under_load_places_have_the_values_of_the_request() {
    let contract = load(RIGHT).expect("a contract");
    let workload = contract.workload("burst", Protocol::Http1).expect("a workload");
    let events = workload.operations[0].expect.events.as_ref().expect("a stream");
    let whole = events.whole.as_ref().expect("every message");
    assert_eq!(whole.count, Template(vec![Part::Value(0)]));
    assert_eq!(
        whole.each.data,
        Some(Data::Json(Template(vec![
            Part::Literal(r#"{"n":{= i * 2},"of":"#.into()),
            Part::Value(0),
            Part::Literal("}".into()),
        ])))
    );
}

#[test]
fn clients_leave_alone_and_over_http1() {
    let contract = load(RIGHT).expect("a contract");
    let case_over = |protocol| case(&contract, protocol, "they leave");
    let left = case_over(Protocol::Http1).expect("a case");
    let leave = left.leave.expect("clients that leave");
    assert_eq!((leave.streams, leave.within), (8, Duration::from_secs(2)));
    assert!(left.alone, "it disturbs the others");
    assert_eq!(case_over(Protocol::Http2), None);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    for (old, new, expected) in [
        (
            "count = \"{count}\"",
            "count = \"{n}\"",
            "contract.toml:9: `expect.events.count`: `{n}` has no value",
        ),
        (
            "count = \"{count}\"",
            "count = \"many\"",
            "contract.toml:9: `expect.events.count`: `many` is not a whole number",
        ),
        ("id = \"{= i}\"", "id = \"{= n}\"", "contract.toml:9: `n`: "),
        (
            "event = \"tick\"",
            "text = \"x\"",
            "`expect.events.each`: give either `json` or `text`",
        ),
        (
            "events = {",
            "contains = \"x\", events = {",
            "`expect.events` describes the whole body",
        ),
        (
            "streams = 8",
            "streams = 0",
            "contract.toml:17: case `they leave`: `leave`: `streams` is 1 to 1000",
        ),
        (
            "call = { operation = \"events\" }",
            "call = { operation = \"events\", expect = { status = 400 } }",
            "clients leave in the middle of streams",
        ),
    ] {
        assert!(RIGHT.contains(old), "nothing to replace: {old}");
        let message = load(&RIGHT.replacen(old, new, 1)).expect_err(new);
        assert!(
            message.contains(expected),
            "{new}: `{expected}` is missing: {message}"
        );
    }
}
