//! Streams in contracts: the expectations of their messages, and error messages.

use super::common::{load, refused, right};
use prony_config::contract::{Case, Contract};
use prony_load::events::{Data, ExactStream, MessageRule};
use prony_load::formula::{Formula, Operator};
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

fn item() -> Template {
    Template(vec![Part::Formula(Formula::Item)])
}

/// `i * 2`
fn twice() -> Formula {
    Formula::Of(Box::new((Formula::Item, Formula::Number(2))), Operator::Times)
}

fn constant(text: &str) -> Template {
    Template::literal(text)
}

#[test]
fn a_stream_is_expected_message_by_message() {
    let contract = right(RIGHT);
    let case = case(&contract, Protocol::Http1, "some").expect("a case");
    let events = case.exchanges[0].expect.events.clone().expect("a stream");
    let whole = ExactStream {
        count: constant("3"),
        each: MessageRule {
            id: Some(item()),
            name: Some(constant("tick")),
            data: Some(Data::Json(Template(vec![
                Part::Literal(r#"{"n":"#.into()),
                Part::Formula(twice()),
                Part::Literal(r#","of":3,"text":""#.into()),
                Part::Formula(Formula::Item),
                Part::Literal(r#" of 3"}"#.into()),
            ]))),
        },
        last: Some(MessageRule {
            name: Some(constant("end")),
            ..MessageRule::default()
        }),
        gap_us: Some(constant("5")),
        flushed: false,
        first: Vec::new(),
        closing: Vec::new(),
        separate: false,
    };
    assert_eq!(events.whole, Some(whole));
}

#[test]
fn under_load_places_have_the_values_of_the_request() {
    let contract = right(RIGHT);
    let workload = contract.workload("burst", Protocol::Http1).expect("a workload");
    let events = workload.operations[0].expect.events.as_ref().expect("a stream");
    let whole = events.whole.as_ref().expect("every message");
    assert_eq!(whole.count, Template(vec![Part::Value(0)]));
    assert_eq!(
        whole.each.data,
        Some(Data::Json(Template(vec![
            Part::Literal(r#"{"n":"#.into()),
            Part::Formula(twice()),
            Part::Literal(r#","of":"#.into()),
            Part::Value(0),
            Part::Literal(r#","text":""#.into()),
            Part::Formula(Formula::Item),
            Part::Literal(" of ".into()),
            Part::Value(0),
            Part::Literal("\"}".into()),
        ])))
    );
}

#[test]
fn clients_leave_alone_and_over_http1() {
    let contract = right(RIGHT);
    let case_over = |protocol| case(&contract, protocol, "they leave");
    let left = case_over(Protocol::Http1).expect("a case");
    let leave = left.leave.expect("clients that leave");
    assert_eq!((leave.streams, leave.within), (8, Duration::from_secs(2)));
    assert!(left.alone, "it disturbs the others");
    assert_eq!(case_over(Protocol::Http2), None);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let table = [
        (
            "count = \"{count}\"",
            "count = \"{n}\"",
            "11 {n}: `{n}` has no value (give `with.n = …`, or write `{{n}}` for the text `{n}`)",
        ),
        (
            "count = \"{count}\"",
            "count = \"many\"",
            "11 \"many\": `count` is \"many\": give a whole number",
        ),
        (
            "count = \"{count}\"",
            "count = true",
            "11 true: `count` is true: give a whole number, or a text with a placeholder",
        ),
        (
            "gap_us = \"{gap_us}\"",
            "gap_us = \"{gap}\"",
            "14 {gap}: `{gap}` has no value (give `with.gap = …`, or write `{{gap}}` for the text `{gap}`)",
        ),
        (
            "id = \"{= i}\"",
            "id = \"{= n}\"",
            "12 n: no value `n` (give `with.n = …`)",
        ),
        (
            "event = \"tick\"",
            "text = \"x\"",
            "12 { n = \"{= i * 2}\", of = \"{count}\", text = \"{= i:text} of {count}\" }: `json`, `json_contains` and `text`: an event has one of them",
        ),
        (
            "event = \"tick\"",
            "message = { n = 1 }",
            "12 { n = 1 }: `message` is only for gRPC: give `json` or `text`",
        ),
        (
            "content_type = \"text/event-stream\"",
            "contains = \"x\"",
            "7 [operation.events.expect]: `events` describes the whole body: remove the other keys of `expect` about the body",
        ),
        (
            "clients = 8",
            "clients = 0",
            "22 0: `clients` is 0: give at least 1",
        ),
        (
            "clients = 8",
            "clients = 8, streams = 8",
            "22 streams: `streams` and `clients` are the same key (remove `streams`, its former name)",
        ),
        (
            "disconnect =",
            "deliver = \"single_bytes\"\ndisconnect =",
            "23 { clients = 8, within = \"2s\" }: with `disconnect`, each client has a connection of its own (remove `deliver` and `restart`)",
        ),
        (
            "call = { operation = \"events\" }",
            "call = { operation = \"events\", expect = { status = 400 } }",
            "22 { clients = 8, within = \"2s\" }: clients disconnect in the middle of streams (each call of the case must expect `events`)",
        ),
    ];
    refused(RIGHT, &table, |contract| load(contract).map(drop));
}
