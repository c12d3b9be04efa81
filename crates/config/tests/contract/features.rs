//! What operations, expectations and cases can say.

use super::common::session::Session;
use super::common::{load, refused, replaced, right};
use prony_config::contract::{Case, Contract};
use prony_load::{HeaderValue, Protocol};
use serde_json::{Value, json};

const CHAIN: &str = r#"format = 1

[operation.login]
http = "POST /login"
expect = { status = 200 }
capture.token = { json = "/token" }

[operation.create]
needs = ["login"]
http = "POST /items"
headers.Authorization = "{token}"
expect = { status = 201 }
capture = { id = { json = "/id" }, place = { header = "Location" }, cart = { cookie = "cart" }, csrf = { regex = 'csrf=(\w+)' } }

[operation.get]
needs = ["create"]
http = "GET /items/{id}?cart={cart}&csrf={csrf}"
headers.Authorization = "{token}"
expect.json = { id = "{id}" }

[operation.other]
http = "GET /others/{id}"
with.id = { random = [1, 9] }
expect.json = { id = "{id}" }

[[case]]
name = "chain"
call = { operation = "get" }

[[case]]
name = "login is called already"
call = [{ operation = "login" }, { operation = "other" }, { operation = "get" }, { operation = "get" }]

[[case]]
name = "refused"
call = [
    { operation = "create", expect = { status = 409 } },
    { operation = "other" },
]

[[case]]
name = "expected otherwise"
call = [
    { operation = "create", expect = { status = 201, contains = "id" } },
    { operation = "other" },
    { operation = "other", with = { id = 3 } },
    { operation = "create", expect = { status = 201, contains = "id" }, capture = {} },
    { operation = "other", capture = { id = { json = "/next" } } },
    { operation = "other" },
]

[workload.chain]
sequence = [{ operation = "get", times = 2 }, { operation = "other" }, { operation = "other", with = { id = 5 } }]
load = { kind = "closed", connections = 1 }

[[case]]
name = "captured otherwise"
call = [
    { operation = "create", capture = { last = { json = "/id" } } },
    { http = "GET /items/{last}", expect = { status = 200 } },
    { operation = "other" },
]
"#;

fn case(contract: &Contract, name: &str) -> Case {
    let mut cases = contract.cases(Protocol::Http1, 7).into_iter();
    cases.find(|case| case.name == name).expect("a case")
}

/// Method and path of each request.
fn lines(session: &Session) -> Vec<String> {
    let sent = (0..session.len()).map(|step| session.sent(step));
    sent.map(|sent| format!("{} {}", sent.method, sent.path))
        .collect()
}

fn created(session: &mut Session, step: usize, status: u16) -> Result<(), String> {
    let headers = [
        ("Location", "/items/a%20b"),
        ("Set-Cookie", "cart=c/1; Path=/"),
        ("Content-Type", "application/json"),
    ];
    session.judge(step, status, &headers, r#"{"id":"a b","text":"csrf=xyz"}"#)
}

#[test]
fn what_an_operation_needs_is_called_before() {
    let contract = right(CHAIN);
    let workload = contract.workload("chain", Protocol::Http1).expect("a workload");
    for (mut session, of_case) in [
        (Session::of_case(&case(&contract, "chain")), true),
        (Session::of_workload(&workload), false),
    ] {
        assert_eq!(session.judge_json(0, &json!({ "token": "t\"1" })), Ok(()));
        assert_eq!(
            session.sent(1).headers,
            [("Authorization".to_owned(), "t\"1".to_owned())]
        );
        assert_eq!(created(&mut session, 1, 201), Ok(()));
        assert_eq!(session.sent(2).headers, session.sent(1).headers);
        let get = "GET /items/a%20b?cart=c/1&csrf=xyz";
        let mut expected = vec!["POST /login", "POST /items", get];
        if !of_case {
            expected.extend([get, "GET /others/a%20b", "GET /others/5"]);
        }
        assert_eq!(lines(&session), expected);
        assert_eq!(session.judge_json(2, &json!({ "id": "a b" })), Ok(()));
        assert!(session.judge_json(2, &json!({ "id": "a" })).is_err());
    }
    let again = Session::of_case(&case(&contract, "login is called already"));
    let paths: Vec<String> = lines(&again)
        .iter()
        .map(|line| {
            line.split(['?', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
                .next()
                .unwrap_or_default()
                .to_owned()
        })
        .collect();
    assert_eq!(
        paths,
        [
            "POST /login",
            "GET /others/",
            "POST /items",
            "GET /items/",
            "GET /items/"
        ]
    );
    let first = &contract.cases(Protocol::Http1, 7)[0];
    let calls: Vec<String> = lines(&Session::of_case(first))
        .iter()
        .map(|line| line.replace(|letter: char| letter.is_ascii_digit(), ""))
        .collect();
    assert_eq!(
        calls[..6],
        [
            "POST /login",
            "POST /login",
            "POST /items",
            "POST /login",
            "POST /items",
            "GET /items/?cart=&csrf="
        ]
    );
}

#[test]
fn an_expectation_with_the_same_status_captures_the_same() {
    let contract = right(CHAIN);
    let names = |case: &Case| -> Vec<Vec<String>> {
        let exchanges = case.exchanges.iter();
        exchanges
            .map(|one| one.expect.take.iter().map(|take| take.name.clone()).collect())
            .collect()
    };
    let otherwise = case(&contract, "expected otherwise");
    let captured = names(&otherwise);
    let all: &[&str] = &["cart", "csrf", "id", "id", "place"];
    let expected: [&[&str]; 7] = [&["token"], all, &[], &[], &[], &["id", "id"], &[]];
    assert_eq!(captured, expected);
    let mut session = Session::of_case(&otherwise);
    assert_eq!(created(&mut session, 1, 201), Ok(()));
    assert_eq!(lines(&session)[2..4], ["GET /others/a%20b", "GET /others/3"]);
    assert_eq!(session.judge(4, 201, &[], "no id in JSON"), Ok(()));
    assert_eq!(lines(&session)[5], "GET /others/a%20b");
    assert_eq!(
        session.judge_json(5, &json!({ "id": "a b", "next": 9 })),
        Err("body at next".to_owned())
    );
    assert_eq!(
        session.judge_json(5, &json!({ "id": "a b" })),
        Err("captured id (json:/next)".to_owned())
    );
    // A `capture` of the call replaces that of its operation.
    let own = case(&contract, "captured otherwise");
    let own_names: [&[&str]; 4] = [&["token"], &["last"], &[], &[]];
    assert_eq!(names(&own), own_names);
    // A reply with another status is an error without the values.
    let refused = case(&contract, "refused");
    assert!(names(&refused)[1].is_empty());
}

#[test]
fn a_wrong_method_has_one_content_type_and_comes_after_what_the_call_needs() {
    let contract = right(
        r#"format = 1
[operation.create]
http = "POST /items"
expect.status = 201
capture.id = { json = "/id" }
[operation.change]
needs = ["create"]
http = "PATCH /items/{id}"
json = { name = "a" }
expect.status = 200
[workload.change]
sequence = [{ operation = "change" }]
load = { kind = "closed", connections = 1 }
"#,
    );
    let case = case(&contract, "wrong method");
    let requests = case.exchanges.iter().map(|exchange| &exchange.request);
    let methods: Vec<&str> = requests.clone().map(|request| request.method.as_str()).collect();
    // A change may be possible only once, so each has an item of its own.
    assert_eq!(
        methods,
        [
            "DELETE", "POST", "POST", "DELETE", "PATCH", "POST", "POST", "PATCH"
        ]
    );
    let labels: Vec<&str> = case.exchanges.iter().map(|one| one.label.as_str()).collect();
    assert_eq!(labels[3], "DELETE /items/{id}");
    let is_content_type = |name: &str| name.eq_ignore_ascii_case("content-type");
    for request in requests {
        let found = request
            .headers
            .iter()
            .filter(|header| is_content_type(&header.name));
        assert!(found.count() <= 1, "{request:?}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of faults")]
fn faults_of_needs_and_captures() {
    let table = [
        (
            "needs = [\"login\"]",
            "needs = [\"log\"]",
            "9 \"log\": there is no operation `log` (known are create, get, login, other)",
        ),
        (
            "needs = [\"login\"]",
            "needs = [\"create\"]",
            "9 \"create\": `create` needs itself (remove this name)",
        ),
        (
            "needs = [\"login\"]",
            "needs = [\"get\"]",
            "9 \"get\": `create` needs `get`, which needs `create` (remove this name)\n16 \"create\": `get` needs `create`, which needs `get` (remove this name)",
        ),
        (
            "needs = [\"login\"]\n",
            "",
            "10 {token}: `{token}` has no value (give `with.token = …`, or write `{{token}}` for the text `{token}`)\n17 {token}: `{token}` has no value (give `with.token = …`, or write `{{token}}` for the text `{token}`)",
        ),
        (
            "sequence = [{ operation = \"get\", times = 2 }, { operation = \"other\" }",
            "mix = [{ operation = \"get\" }, { operation = \"other\" }",
            "53 \"get\": `get` needs `login` before, which a mix cannot ensure (use `sequence` instead of `mix`)",
        ),
        (
            "{ json = \"/token\" }",
            "{ json = \"$.user.token\" }",
            "6 { json = \"$.user.token\" }: `json` is \"$.user.token\": write the JSON Pointer \"/user/token\"",
        ),
        (
            "{ json = \"/token\" }",
            "\"json:/token\"",
            "6 \"json:/token\": `capture.token` is the text \"json:/token\": give one of { json = \"/id\" }, { header = \"location\" }, { cookie = \"session\" } and { regex = \"csrf=(\\\\w+)\" }",
        ),
        (
            "{ json = \"/token\" }",
            "{ jsonpath = \"/token\" }",
            "6 jsonpath: unknown key `jsonpath` (did you mean `json`?)",
        ),
        (
            "{ json = \"/token\" }",
            "{ json = \"/token\", header = \"x\" }",
            "6 header: `capture.token` has `json` and `header` (give only one of them)",
        ),
        (
            "{ json = \"/token\" }",
            "{ xpath = \"/token\" }",
            "6 xpath: unknown key `xpath` (known are cookie, header, json, regex)",
        ),
        (
            "'csrf=(\\w+)'",
            "'csrf=(\\w+'",
            "13 csrf=(\\w+: `regex`: `csrf=(\\w+` is not a regular expression (unclosed group)",
        ),
        (
            "capture.token",
            "capture.Token",
            "6 { json = \"/token\" }: `Token` is not the name of a placeholder (use lower-case letters, digits and `_`)\n11 {token}: `{token}` has no value (did you mean `{Token}`?)\n18 {token}: `{token}` has no value (did you mean `{Token}`?)",
        ),
        (
            "capture = {}",
            "capture = { id = false }",
            "47 false: `capture.id` is false: give one of { json = \"/id\" }, { header = \"location\" }, { cookie = \"session\" } and { regex = \"csrf=(\\\\w+)\" }",
        ),
        (
            "call = { operation = \"get\" }",
            "call = { operation = \"get\" }\ndeliver = \"many_connections\"",
            "27 \"chain\": case \"chain\": calls with `capture` run one after the other (remove `deliver`)",
        ),
    ];
    refused(CHAIN, &table, |contract| load(contract).map(drop));
}

/// A contract whose operation has this expectation, as the session of its workload.
fn expecting(expect: &str) -> Session {
    let contract = format!(
        "format = 1\n[value]\nlink = {{ href = \"/{{id}}\" }}\n[value.item]\nid = \"{{= i}}\"\nname = \"item {{= i}} of {{id}}\"\n[operation.get]\nhttp = \"GET /{{id}}\"\nwith.id = {{ range = [7, 9] }}\n[operation.get.expect]\n{expect}\n[workload.get]\nmix = [{{ operation = \"get\" }}]\nload = {{ kind = \"closed\", connections = 1 }}\n"
    );
    let contract = right(&contract);
    Session::of_workload(&contract.workload("get", Protocol::Http1).expect("a workload"))
}

fn item(i: u32) -> Value {
    json!({ "id": i, "name": format!("item {i} of 7") })
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of expectations")]
fn json_is_judged_as_a_whole_in_parts_and_as_lists() {
    for (expect, body, is_right) in [
        ("json = { id = \"{id}\" }", json!({ "id": 7 }), true),
        ("json = { id = \"{id}\" }", json!({ "id": 7, "more": 1 }), false),
        ("json = { id = \"{id:text}\" }", json!({ "id": "7" }), true),
        ("json = { id = \"{id:text}\" }", json!({ "id": 7 }), false),
        (
            "json = { links = [\"{link}\"], none = \"{= null}\" }",
            json!({ "links": [{ "href": "/7" }], "none": null }),
            true,
        ),
        (
            "json_contains = { id = \"{id}\", a = { b = 1 } }",
            json!({ "id": 7, "a": { "b": 1, "c": 2 }, "d": 3 }),
            true,
        ),
        ("json_contains = { id = \"{id}\" }", json!({ "id": 8 }), false),
        (
            "json_not_contains = { error = { code = \"{id}\" } }",
            json!({ "error": { "code": 8 } }),
            true,
        ),
        (
            "json_not_contains = { error = { code = \"{id}\" } }",
            json!({ "error": { "code": 7, "text": "" } }),
            false,
        ),
        (
            "json_contains = { id = \"{id}\" }\njson_not_contains = { hidden = true }",
            json!({ "id": 7, "hidden": true }),
            false,
        ),
        (
            "json_text = { at = \"/text\", json = { id = \"{id}\", next = \"{= id + 1}\" } }",
            json!({ "text": "{\"next\": 8, \"id\": 7}" }),
            true,
        ),
        (
            "json_text = { at = \"/text\", json = { id = \"{id}\" } }",
            json!({ "text": "{\"id\": 8}" }),
            false,
        ),
        (
            "any_of = [{ json = { id = 1 } }, { status = [200, 404], json_contains = { id = \"{= id * 2}\" } }]",
            json!({ "id": 14, "more": 1 }),
            true,
        ),
        (
            "any_of = [{ json = { id = 1 } }, { status = [200, 404], json_contains = { id = \"{= id * 2}\" } }]",
            json!({ "id": 1, "more": 1 }),
            false,
        ),
        (
            "single_event = true\njson = { id = \"{id}\" }",
            json!({ "id": 7 }),
            true,
        ),
        (
            "json_list = { count = 2, each = \"{item}\" }",
            json!([item(1), item(2)]),
            true,
        ),
        (
            "json_list = { count = 2, each = \"{item}\" }",
            json!([item(1), item(2), item(3)]),
            false,
        ),
        (
            "json_list = { count = 2, each = \"{item}\" }",
            json!({ "items": [item(1), item(2)] }),
            false,
        ),
        (
            "json_list = { first = \"{= id - 4}\", count = \"{= id - 5}\", each = \"{item}\" }",
            json!([item(3), item(4)]),
            true,
        ),
        (
            "json_list = { first = 3, count = 2, each = \"{= i * i}\" }",
            json!([9, 16]),
            true,
        ),
        (
            "json_list = { count = 2, each = [\"{= i}\", \"{= i:text}\", { of = \"{id}\" }] }",
            json!([[1, "1", { "of": 7 }], [2, "2", { "of": 7 }]]),
            true,
        ),
        (
            "json_list = { at = \"/a/b~1c\", count = 1, each = \"{= i}\" }",
            json!({ "a": { "b/c": [1], "d": 2 }, "e": 3 }),
            true,
        ),
        (
            "json_list = { at = \"/a\", count = 1, each = \"{= i}\", only = true }",
            json!({ "a": [1] }),
            true,
        ),
        (
            "json_list = { at = \"/a\", count = 1, each = \"{= i}\", only = true }",
            json!({ "a": [1], "b": 2 }),
            false,
        ),
        (
            "json_list = { at = \"/a\", count = 1, each = \"{= i}\" }\njson_contains = { total = 9 }",
            json!({ "a": [1], "total": 9 }),
            true,
        ),
        (
            "json_list = { at = \"/a\", count = 1, each = \"{= i}\" }\njson_contains = { total = 9 }",
            json!({ "a": [1], "total": 8 }),
            false,
        ),
        (
            "json_list = { at = \"/a\", count = 1, each = \"{= i}\" }\njson_contains = { total = 9 }",
            json!({ "a": [2], "total": 9 }),
            false,
        ),
    ] {
        let mut session = expecting(expect);
        assert_eq!(session.judge_json(0, &body).is_ok(), is_right, "{expect}: {body}");
    }
}

#[test]
fn headers_are_exact_texts_patterns_or_there() {
    let matches = "headers.X = { matches = '/items/[0-9]+' }";
    for (expect, headers, is_right) in [
        (
            "headers.X = \"/items/{id}[0-9]+\"",
            &[("x", "/items/7[0-9]+")][..],
            true,
        ),
        ("headers.X = \"/items/{id}[0-9]+\"", &[("x", "/items/71")], false),
        ("headers.X = \"a.c\"", &[("x", "abc")], false),
        (matches, &[("x", "/items/12")], true),
        (matches, &[("x", "/items/12/")], false),
        (matches, &[], false),
        ("headers.X = true", &[("x", "")], true),
        ("headers.X = true", &[("x", "é\u{1}")], true),
        ("headers.X = true", &[], false),
        ("headers.X = false", &[("x", "")], false),
        ("headers.X = false", &[("y", "")], true),
    ] {
        let mut session = expecting(expect);
        assert_eq!(
            session.judge(0, 200, headers, "").is_ok(),
            is_right,
            "{expect}: {headers:?}"
        );
    }
}

#[test]
fn json_implies_its_type_unless_it_is_given() {
    for (expect, content_type, is_right) in [
        ("json = 1", Some("application/json"), true),
        ("json = 1", Some("application/JSON;charset=utf-8"), true),
        ("json = 1", Some("application/problem+json"), true),
        ("json = 1", Some("text/html"), false),
        ("json = 1", None, false),
        ("json = 1\ncontent_type = \"any\"", Some("text/html"), true),
        ("json = 1\ncontent_type = \"any\"", None, true),
        (
            "json = 1\ncontent_type = \"text/x-json\"",
            Some("text/x-json; charset=UTF-8"),
            true,
        ),
        (
            "json = 1\ncontent_type = \"text/x-json\"",
            Some("application/json"),
            false,
        ),
        ("text = \"1\"", None, true),
    ] {
        let mut session = expecting(expect);
        let headers: Vec<(&str, &str)> = content_type
            .map(|value| ("content-type", value))
            .into_iter()
            .collect();
        assert_eq!(
            session.judge(0, 200, &headers, "1").is_ok(),
            is_right,
            "{expect}: {content_type:?}"
        );
    }
}

#[test]
fn a_body_may_be_coded() {
    let rules = |expect: &str| {
        let contract = format!(
            "format = 1\n[operation.get]\nhttp = \"GET /\"\nexpect = {{ text = \"x\", {expect} }}\n[workload.get]\nmix = [{{ operation = \"get\" }}]\nload = {{ kind = \"closed\", connections = 1 }}\n"
        );
        let workload = right(&contract)
            .workload("get", Protocol::Http1)
            .expect("a workload");
        let expect = &workload.operations[0].expect;
        let headers: Vec<HeaderValue> = expect.headers.iter().map(|rule| rule.value.clone()).collect();
        (expect.decode, headers)
    };
    for (expect, header) in [
        (
            "content_encoding = \"gzip\"",
            Some(HeaderValue::Matches("(?i:gzip)".to_owned())),
        ),
        (
            "content_encoding = [\"br\", \"zstd\"]",
            Some(HeaderValue::Matches("(?i:br|zstd)".to_owned())),
        ),
        (
            "content_encoding = [\"deflate\", \"identity\"]",
            Some(HeaderValue::MatchesIfThere("(?i:deflate|identity)".to_owned())),
        ),
        ("content_encoding = \"any\"", None),
        ("coding = \"any\"", None),
    ] {
        assert_eq!(rules(expect), (true, header.into_iter().collect()), "{expect}");
    }
    assert_eq!(rules("status = 200"), (false, Vec::new()));
}

/// Every former name of a key, in a file of the current format.
#[test]
#[expect(clippy::too_many_lines, reason = "a table of keys")]
fn former_names_of_keys_are_read() {
    let current = r#"format = 1
study = "001"
skip_common_cases = ["HEAD"]
env = { A = "b" }

[backing_service.db]
use = "postgresql"

[rows.user]
backing_service = "db"
query = "select 1"

[[invariant]]
name = "none is lost"
backing_service = "db"
query = "select 1"
equals = "before"

[operation.get]
common_cases = false
http = "GET /{id}"
with.id = { random_hex = 4 }
expect = { content_type = "text/plain", json_contains = { a = 1 }, content_encoding = "gzip" }

[operation.stream]
http = "GET /events"
expect = { events = { count = 1, each = { text = "a" } } }

[[case]]
name = "one"
serial = true
slow = true
call = [{ operation = "get", retry_for = "1s" }]

[[case]]
name = "two"
disconnect = { clients = 8 }
call = { operation = "stream" }

[workload.get]
mix = [{ operation = "get" }]
load = { kind = "closed", connections = 1 }
"#;
    let over_web_socket = r#"format = 1

[operation.say]
websocket = "/ws"
text = "a"
expect = { echoed = true }

[[case]]
name = "clients"

[case.call]
operation = "say"
script = [
    { client = "a", path = "/ws", continuation = "a" },
    { client = "a", stop_reading = true },
    { client = "b", abort = true },
]

[workload.say]
mix = [{ operation = "say" }]
load = { kind = "closed", connections = 1 }
"#;
    let meaning = |contract: &str| {
        let contract = right(contract);
        let values = serde_json::to_value(contract.values()).expect("JSON");
        let study = contract.study.clone();
        (values.to_string(), study)
    };
    for (new, old) in [
        ("study =", "document ="),
        ("skip_common_cases =", "without ="),
        ("env =", "environment ="),
        ("[backing_service.db]", "[backing.db]"),
        ("[backing_service.db]", "[companion.db]"),
        (
            "backing_service = \"db\"\nquery = \"select 1\"\nequals",
            "backing = \"db\"\nquery = \"select 1\"\nequals",
        ),
        (
            "backing_service = \"db\"\nquery = \"select 1\"\n\n",
            "companion = \"db\"\nquery = \"select 1\"\n\n",
        ),
        ("common_cases = false", "common = false"),
        ("random_hex", "hex"),
        ("content_type", "type"),
        ("json_contains", "json_part"),
        ("content_encoding", "coding"),
        ("serial", "alone"),
        ("slow", "thorough"),
        ("call = [", "calls = ["),
        ("retry_for", "until"),
        ("disconnect =", "leave ="),
        ("clients", "streams"),
        ("script =", "talk ="),
        ("client =", "by ="),
        ("path =", "at ="),
        ("continuation", "more"),
        ("stop_reading", "deaf"),
        ("abort", "cut"),
    ] {
        let current = if current.contains(new) {
            current
        } else {
            over_web_socket
        };
        let contract = replaced(current, new, old);
        assert_eq!(meaning(&contract), meaning(current), "{old}");
        // Both at once are an error.
        if let (Some((new, _)), Some((old, _))) = (new.split_once(" ="), old.split_once(" ="))
            && !new.contains('\n')
        {
            let line = current
                .lines()
                .find(|line| line.contains(&format!("{new} =")))
                .expect("a line");
            if line.starts_with(new) && !line.ends_with('[') {
                let twice = replaced(current, line, &format!("{line}\n{}", line.replacen(new, old, 1)));
                let error = load(&twice).expect_err(old).to_string();
                assert!(
                    error.starts_with(&format!("`{old}` and `{new}` are the same key")),
                    "{error}"
                );
            }
        }
    }
}
