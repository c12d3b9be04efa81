//! The contracts of this repository load, and have the intended content.

use prony_config::contract::{Case, Contract};
use prony_load::{Body, BodyRule, Load, Order, Parameter, Part, Protocol, Reply, Source};
use serde_json::Value;
use std::path::Path;

fn contract(name: &str) -> Contract {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../contracts")
        .join(name);
    Contract::load(&folder).unwrap_or_else(|error| panic!("{error}"))
}

fn case<'a>(cases: &'a [Case], name: &str) -> &'a Case {
    cases
        .iter()
        .find(|case| case.name == name)
        .unwrap_or_else(|| panic!("no case {name}"))
}

#[test]
fn hello_is_one_constant_reply() {
    let hello = contract("hello");
    assert_eq!(
        hello.load_of(None).expect("a load"),
        ("hello".into(), Load::closed(512, 1))
    );
    let workload = hello.workload("hello", Protocol::Http1).expect("the workload");
    let expect = workload.operations[0].expect.compile().expect("valid");
    let body = expect.exact_body().expect("one body is right");
    assert!(body.is_constant() && body.begin() == b"Hello, World!");
    let cases = hello.cases(Protocol::Http1, 7);
    assert_eq!(case(&cases, "other paths").exchanges.len(), 6);
}

/// A report names the columns of its checks by operation and case.
#[test]
fn cases_know_their_operations() {
    let cases = contract("person").cases(Protocol::Http1, 7);
    let operations = |name: &str| case(&cases, name).operations.clone();
    assert_eq!(operations("each person"), ["getPerson"]);
    assert_eq!(
        operations("a person that is created is not stored"),
        ["createPerson", "getPerson", "listPersons", "getPersonLinks"]
    );
    assert_eq!(
        operations("keep-alive"),
        ["listPersons", "getPerson", "getPersonLinks", "createPerson"],
        "a common case calls every operation"
    );
}

#[test]
fn sequence_loads_as_document_000_did() {
    let sequence = contract("sequence");
    let count = sequence.workload("count", Protocol::Http1).expect("the workload");
    let expect = count.operations[0].expect.compile().expect("valid");
    let body = expect.exact_body().expect("one body is right");
    assert!(body.is_constant());
    assert_eq!(
        (body.begin().len(), count.operations[0].name.as_str()),
        (95, "count(n=35)")
    );
    let fib = sequence.workload("fib", Protocol::Http1).expect("the workload");
    let [
        Parameter {
            source: Source::Range { low: 1, high: 100 },
            ..
        },
    ] = fib.parameters.as_slice()
    else {
        panic!("{:?}", fib.parameters)
    };
    let [BodyRule::Table { low: 1, bodies, .. }] = fib.operations[0].expect.body.as_slice() else {
        panic!("a table of bodies")
    };
    let bytes: usize = bodies.iter().map(|body| body.as_slice().len()).sum();
    assert_eq!(
        (bodies.len(), bytes),
        (100, 41_863),
        "the mean body has 418.63 bytes"
    );
}

#[test]
fn person_sends_the_same_on_both_transports() {
    let person = contract("person");
    for protocol in [Protocol::Http1, Protocol::Grpc] {
        let composition = person
            .workload("programComposition", protocol)
            .expect("the workload");
        let Order::Sequence(steps) = &composition.order else {
            panic!("a sequence")
        };
        let names: Vec<&str> = steps
            .iter()
            .map(|step| composition.operations[step.operation].name.as_str())
            .collect();
        let wanted = [
            "listPersons",
            "getPerson(id=1)",
            "getPerson(id=2)",
            "getPerson(id=3)",
            "getPerson(id=4)",
            "getPersonLinks(id=1)",
            "getPersonLinks(id=3)",
            "createPerson(who=person_5)",
        ];
        assert_eq!(names, wanted);
        // Created persons must be new under load: the request and the expected message contain the same placeholder.
        let create = person.workload("createPerson", protocol).expect("the workload");
        let [
            Parameter {
                source: Source::Hex { digits: 12 },
                ..
            },
        ] = create.parameters.as_slice()
        else {
            panic!("{:?}", create.parameters)
        };
        let Body::Bytes(sent) = &create.operations[0].request.body else {
            panic!("a body")
        };
        let places = sent
            .0
            .iter()
            .filter(|part| matches!(part, Part::Value(0)))
            .count();
        assert_eq!(places, 7, "{protocol:?}");
        // The reply equals the sent message.
        let mut message = Vec::new();
        let token = |_: usize, out: &mut Vec<u8>| out.extend_from_slice(b"0123456789ab");
        sent.render(&mut message, token);
        let expect = create.operations[0].expect.compile().expect("valid");
        let headers: [(&[u8], &[u8]); 1] = [(b"content-type", b"application/json")];
        let reply = Reply {
            status: 200,
            grpc_status: Some(0),
            headers: &headers,
            body: &message,
        };
        assert_eq!(expect.judge(&reply, token), Ok(()), "{protocol:?}");
        let other = |_: usize, out: &mut Vec<u8>| out.extend_from_slice(b"ba9876543210");
        assert!(expect.judge(&reply, other).is_err(), "{protocol:?}");
    }
}

/// Numbers of objects, keys, arrays, strings, integers and booleans of a document, and its depth.
fn shape(value: &Value, depth: usize, counts: &mut [usize; 7]) {
    let inner: Vec<&Value> = match value {
        Value::Object(members) => {
            counts[0] += 1;
            counts[1] += members.len();
            members.values().collect()
        }
        Value::Array(items) => {
            counts[2] += 1;
            items.iter().collect()
        }
        Value::String(_) => return counts[3] += 1,
        Value::Number(number) if number.is_i64() => return counts[4] += 1,
        Value::Bool(_) => return counts[5] += 1,
        other => panic!("{other}"),
    };
    counts[6] = counts[6].max(depth);
    for value in inner {
        shape(value, depth + 1, counts);
    }
}

#[test]
fn the_relayed_document_has_the_size_and_shape_of_document_002() {
    let relay = contract("relay");
    let text = std::fs::read_to_string(relay.folder.join("document.json")).expect("the document");
    assert_eq!(text.len(), 2710);
    let value: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value.as_object().expect("an object").len(), 1, "one root key");
    let mut counts = [0; 7];
    shape(&value, 1, &mut counts);
    assert_eq!(counts, [12, 81, 1, 53, 18, 3, 5]);
    let dropped = std::fs::read_to_string(relay.folder.join("dropped.json")).expect("the document");
    let mut dropped: Value = serde_json::from_str(&dropped).expect("JSON");
    assert_eq!(
        dropped.as_object_mut().expect("an object").remove("drop"),
        Some(Value::Bool(true))
    );
    assert_eq!(dropped, value);
}

#[test]
fn relay_needs_a_slow_backing_service_and_drops_half_where_asked() {
    let relay = contract("relay");
    let [backend] = relay.backing_services() else {
        panic!("one backing service")
    };
    assert_eq!((backend.name(), backend.uses()), ("backend", "delay"));
    assert_eq!(backend.settings()["delay"].as_str(), Some("30ms"));
    let half = relay.workload("half", Protocol::Http1).expect("the workload");
    let Order::Mix(steps) = &half.order else {
        panic!("a mix")
    };
    assert_eq!(steps.iter().map(|step| step.weight).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(half.operations.len(), 2);
    let (_, load) = relay.load_of(None).expect("a load");
    assert_eq!(load.connections(), 2000);
}

/// Little's law: 2,000 requests in flight ÷ 30 ms; twice that if half of them never reach the backend.
#[test]
fn a_slow_backing_service_bounds_the_rate_of_a_closed_load() {
    let relay = contract("relay");
    let (_, load) = relay.load_of(None).expect("a load");
    let ceiling = |workload: &str| relay.ceiling_per_s(workload, &load).expect("a workload");
    assert!((ceiling("relay").expect("a ceiling") - 200_000.0 / 3.0).abs() < 1e-6);
    assert!((ceiling("half").expect("a ceiling") - 400_000.0 / 3.0).abs() < 1e-6);
    let (_, users) = contract("snoop").load_of(None).expect("a load");
    assert_eq!(relay.ceiling_per_s("relay", &users).expect("a workload"), None);
    assert_eq!(
        contract("hello")
            .ceiling_per_s("hello", &load)
            .expect("a workload"),
        None
    );
    assert!(relay.ceiling_per_s("nothing", &load).is_err());
}

#[test]
fn snoop_is_loaded_by_users() {
    let (name, load) = contract("snoop").load_of(None).expect("a load");
    let Load::Users {
        arrival,
        requests_per_user: 100,
        ..
    } = load
    else {
        panic!("{load:?}")
    };
    assert_eq!(name, "snoop");
    // 4 to 40 per second over 30 s, then 40 for 60 s.
    assert!((arrival.profile.events_within(90.0) - 3060.0).abs() < 1e-6);
}

#[test]
fn a_seed_gives_its_cases_again_and_another_seed_gives_others() {
    for name in ["sequence", "person", "relay", "snoop"] {
        let contract = contract(name);
        let cases = |seed| contract.cases(Protocol::Http1, seed);
        assert_eq!(cases(7), cases(7), "{name}");
        assert_ne!(cases(7), cases(8), "{name}");
    }
}

#[test]
fn every_contract_has_the_common_cases_that_apply_to_it() {
    for (name, protocol, expected) in [
        (
            "hello",
            Protocol::Http1,
            "keep-alive, single bytes, one packet, 100 headers, percent-encoded path, query string, HEAD, unknown path, wrong method, many connections",
        ),
        (
            "person",
            Protocol::Http2,
            "keep-alive, 100 headers, percent-encoded path, query string, HEAD, unknown path, wrong method, many connections",
        ),
        (
            "person",
            Protocol::Grpc,
            "keep-alive, unknown path, many connections",
        ),
        (
            "relay",
            Protocol::Http1,
            "keep-alive, single bytes, one packet, chunked body, 100 headers, many connections",
        ),
    ] {
        let contract = contract(name);
        let cases = contract.cases(protocol, 7);
        assert_eq!(cases[0].name, "keep-alive");
        let known: Vec<&str> = cases
            .iter()
            .map(|case| case.name.as_str())
            .filter(|name| expected.contains(name))
            .collect();
        assert_eq!(known.join(", "), expected, "{name} {protocol:?}");
    }
    let cases = contract("snoop").cases(Protocol::Http1, 7);
    // In addition to the Host header that the client adds.
    assert_eq!(case(&cases, "100 headers").exchanges[0].request.headers.len(), 99);
}

#[test]
fn one_call_takes_chosen_values() {
    let person = contract("person");
    assert_eq!(person.places("getPerson").expect("an operation"), ["id"]);
    assert_eq!(
        person.places("createPerson").expect("an operation"),
        ["who", "token"]
    );
    let value = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    let known = person
        .single("getPerson", Protocol::Http1, &value("id", "2"), 1)
        .expect("a call");
    assert!(known.expected);
    let path = |call: &prony_config::contract::SingleCall| {
        let mut path = Vec::new();
        call.exchange.request.path.render(&mut path, |_, _| {});
        String::from_utf8(path).expect("a path")
    };
    assert_eq!(path(&known), "/person/2");
    // No operation defines the reply for an unknown person: the request is sent nevertheless.
    let unknown = person
        .single("getPerson", Protocol::Grpc, &value("id", "77"), 1)
        .expect("a call");
    assert!(!unknown.expected);
    let Body::Bytes(message) = &unknown.exchange.request.body else {
        panic!("no message: {unknown:?}")
    };
    let mut bytes = Vec::new();
    message.render(&mut bytes, |_, _| {});
    assert_eq!(bytes, [0x0A, 2, b'7', b'7']);
    let told = |operation: &str, values: &[(String, String)]| {
        let call = person.single(operation, Protocol::Http1, values, 1);
        call.expect_err("no such call").to_string()
    };
    assert!(told("getPersons", &[]).contains("no operation `getPersons`: known are"));
    assert!(told("getPerson", &value("name", "x")).contains("no placeholder `name`: known are id"));
}

#[test]
fn a_message_is_read_as_json() {
    let person = contract("person");
    // PersonList { persons: [], count: 3 }
    let read = person.decode_reply("listPersons", &[0x10, 3]).expect("a message");
    assert_eq!(read["count"], 3);
    assert!(person.decode_reply("listPersons", &[0xFF]).is_err());
    assert!(contract("hello").decode_reply("hello", &[]).is_err());
}

#[test]
fn a_token_is_minted_for_every_call_and_is_no_place_to_fill() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("shop");
    std::fs::create_dir(&folder).expect("a folder");
    let text = r#"
format = 1

[jwt.token]
alg = "HS256"
key = "secret"
claims = { sub = "ada", exp = "1h" }

[operation.order]
http = "GET /orders/{id}"
headers = { Authorization = "Bearer {token}" }
with = { id = { random = [1, 9] } }
expect = { status = 200 }

[workload.orders]
mix = [{ operation = "order" }]
load = { kind = "closed", connections = 1 }
"#;
    std::fs::write(folder.join("contract.toml"), text).expect("a contract");
    let shop = Contract::load(&folder).unwrap_or_else(|error| panic!("{error}"));
    assert!(shop.tokens_expire().is_some());
    assert_eq!(shop.places("order").expect("an operation"), ["id"]);
    let workload = shop.workload("orders", Protocol::Http1).expect("a workload");
    let single = shop
        .single("order", Protocol::Http1, &[("id".to_owned(), "7".to_owned())], 1)
        .expect("a call");
    for request in [&workload.operations[0].request, &single.exchange.request] {
        let mut sent = Vec::new();
        request.headers[0].value.render(&mut sent, |_, _| {});
        let sent = String::from_utf8(sent).expect("text");
        let token = sent.strip_prefix("Bearer ").expect("a token");
        assert_eq!(token.split('.').count(), 3, "{sent}");
    }
}
