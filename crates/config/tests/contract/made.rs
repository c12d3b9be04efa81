//! Generated bodies, and computed or captured values in contracts; and the errors about them.

use super::common::{load, refused, replaced, right, text, told};
use prony_config::contract::{Case, Contract, RowTable};
use prony_load::{Body, BodyRule, HeaderValue, Part, Protocol, Source};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

const RIGHT: &str = r#"format = 1

[backing_service.db]
use = "postgresql"

[rows.user]
query = "select id, name, balance from account"

[words]
colour = ["red", "\"blue\""]

[value.item]
id = "{= i}"
name = "{= colour[i % 2]} {= i * i}"

[jwt.token]
alg = "HS256"
key = "secret"
claims = { sub = "{user.id}" }

[jwt.unsigned]
alg = "none"
key = ""
claims = { sub = "{user.id}" }

[operation.list]
http = "GET /list?from={from}&count={count}"
with = { from = { random = [1, 9] }, count = 3 }
expect.content_encoding = ["gzip", "identity"]
expect.json_list = { first = "{from}", count = "{count}", at = "/items", only = true, each = "{item}" }

[operation.upload]
http = "POST /upload"
generated = { bytes = "{n}", chunk = 100 }
with = { n = 1000 }
expect = { json = { bytes = "{body.bytes}", sha256 = "{body.sha256}" } }

[operation.read]
http = "GET /user/{user.id}"
headers = { Authorization = "Bearer {token}" }
expect = { json_contains = { id = "{user.id}", name = "{user.name}", balance = "{user.balance}" } }

[operation.page]
http = "GET /page"
expect = { html_table = { header = ["id", "name"], rows = "user", more = [["0", "{who}"]], sort = "name" } }
with = { who = "zoe" }

[operation.create]
http = "POST /thing"
json = { name = "{name}" }
with = { name = { random_hex = 8 } }
expect = { status = 201 }
capture = { thing = { json = "/id" } }

[operation.get]
common_cases = false
http = "GET /thing/{thing}"
with = { thing = 1 }
expect = { json_contains = { id = "{thing}" } }

[[case]]
name = "created and read"
call = [{ operation = "create" }, { operation = "get" }, { operation = "get", with = { thing = 7 } }]
times = 2

[workload.all]
mix = [{ operation = "list" }, { operation = "upload" }, { operation = "read" }]
load = { kind = "closed", connections = 1 }

[workload.visit]
sequence = [{ operation = "create" }, { operation = "get", times = 3 }]
load = { kind = "closed", connections = 1 }
"#;

fn users() -> BTreeMap<String, RowTable> {
    let table = RowTable {
        columns: ["id", "name", "balance"].map(str::to_owned).to_vec(),
        rows: vec![
            vec![json!(11), json!("ada"), json!(5)],
            vec![json!(12), json!("bob \"b\""), json!(null)],
        ],
    };
    BTreeMap::from([("user".to_owned(), table)])
}

fn toy() -> Contract {
    right(RIGHT)
        .give_rows(users())
        .unwrap_or_else(|error| panic!("{error}"))
}

fn case<'a>(cases: &'a [Case], name: &str) -> &'a Case {
    cases.iter().find(|case| case.name == name).expect("the case")
}

#[test]
fn what_a_call_captures_fills_the_placeholders_of_the_calls_after_it() {
    let cases = toy().cases(Protocol::Http1, 5);
    let case = case(&cases, "created and read");
    let paths: Vec<String> = case
        .exchanges
        .iter()
        .map(|exchange| text(&exchange.request.path))
        .collect();
    let once = ["/thing", "/thing/<0>", "/thing/7"];
    assert_eq!(paths, [once, once].concat());
    assert_eq!(case.exchanges[1].label, "GET /thing/{thing}");
    let BodyRule::JsonPart(part) = &case.exchanges[1].expect.body[0] else {
        panic!("a part of JSON")
    };
    assert_eq!(text(part), r#"{"id":<1>}"#);
    let keep_alive = &cases[0];
    let called: BTreeSet<String> = keep_alive
        .exchanges
        .iter()
        .map(|exchange| text(&exchange.request.path))
        .collect();
    assert!(
        !called.iter().any(|path| path.starts_with("/thing/")),
        "{called:?}"
    );
}

#[test]
fn columns_keep_their_types() {
    let cases = toy().cases(Protocol::Http1, 5);
    let mut seen = BTreeSet::new();
    for exchange in &cases[0].exchanges {
        if let Some(BodyRule::JsonPart(part)) = exchange.expect.body.first() {
            seen.insert(text(part));
        }
    }
    assert_eq!(
        seen.into_iter().collect::<Vec<_>>(),
        [
            r#"{"balance":5,"id":11,"name":"ada"}"#,
            r#"{"balance":null,"id":12,"name":"bob \"b\""}"#
        ]
    );
    // A text is not JSON by itself.
    let raw = replaced(RIGHT, "\"{user.name}\"", "\"{user.name:raw}\"");
    let error = right(&raw).give_rows(users()).expect_err("no JSON");
    let expected = "41 {user.name:raw}: `ada` is not JSON (expected value at line 1 column 1)";
    assert_eq!(told(&error, &raw), expected);
}

#[test]
fn each_row_has_a_token_of_its_own() {
    let toy = toy();
    let workload = toy.workload("all", Protocol::Http1).expect("a workload");
    let column = |name: &str| {
        let parameter = workload
            .parameters
            .iter()
            .find(|parameter| parameter.name == name);
        match &parameter.expect(name).source {
            Source::Column { values, .. } => values.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(column("user.id"), ["11", "12"]);
    let tokens = column("token");
    assert_ne!(tokens[0], tokens[1]);
    assert!(tokens.iter().all(|token| token.split('.').count() == 3));
    // In a case, the token belongs to the row in the path.
    let cases = toy.cases(Protocol::Http1, 5);
    for exchange in &cases[0].exchanges {
        let path = text(&exchange.request.path);
        if let Some(id) = path.strip_prefix("/user/") {
            let sent = text(&exchange.request.headers[0].value);
            let place = usize::from(id == "12");
            assert_eq!(sent, format!("Bearer {}", tokens[place]));
        }
    }
    let unsigned = RIGHT.replace("Bearer {token}", "Bearer {unsigned}");
    let unsigned = right(&unsigned).cases(Protocol::Http1, 5);
    let sent = unsigned[0]
        .exchanges
        .iter()
        .find_map(|exchange| exchange.request.headers.first());
    assert!(text(&sent.expect("a header").value).ends_with('.'), "{sent:?}");
}

#[test]
fn lists_uploads_and_tables_become_rules() {
    let toy = toy();
    let workload = toy.workload("all", Protocol::Http1).expect("a workload");
    let list = &workload.operations[0].expect;
    assert!(list.decode);
    assert_eq!(
        list.headers[0].value,
        HeaderValue::MatchesIfThere("(?i:gzip|identity)".into())
    );
    let BodyRule::List(rule) = &list.body[0] else {
        panic!("a list")
    };
    let item = |i: i64| {
        let mut item = Vec::new();
        rule.each.render_item(&mut item, i, |_, _| {});
        serde_json::from_slice::<serde_json::Value>(&item).expect("JSON")
    };
    assert_eq!(item(4), json!({ "id": 4, "name": "red 16" }));
    assert_eq!(item(3), json!({ "id": 3, "name": "\"blue\" 9" }));
    assert_eq!((rule.at.as_deref(), rule.only), (Some("/items"), true));
    let Body::Generated(generated) = &workload.operations[1].request.body else {
        panic!("a body")
    };
    assert_eq!((generated.bytes, generated.chunk), (1000, Some(100)));
    let [Part::Value(end)] = generated.end.0.as_slice() else {
        panic!("an end")
    };
    assert_eq!(workload.parameters[*end].source, Source::Hex { digits: 16 });
    assert_eq!(
        workload.operations[1].expect.body,
        [BodyRule::Uploaded(workload.operations[1].request.body.clone())]
    );
    let cases = toy.cases(Protocol::Http1, 5);
    let mut pages = cases[0]
        .exchanges
        .iter()
        .filter_map(|exchange| match exchange.expect.body.first() {
            Some(BodyRule::HtmlTable(table)) => Some(table.clone()),
            _ => None,
        });
    let table = pages.next_back().expect("a table");
    assert_eq!(table.rows, [["11", "ada"], ["12", "bob \"b\""]]);
    assert_eq!((text(&table.more[0][1]).as_str(), table.sort), ("zoe", Some(1)));
    let visit = toy.workload("visit", Protocol::Http1).expect("a workload");
    let prony_load::Order::Sequence(steps) = &visit.order else {
        panic!("a sequence")
    };
    assert_eq!(
        steps.iter().map(|step| step.operation).collect::<Vec<_>>(),
        [0, 1, 1, 1]
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of faults")]
fn what_is_wrong_is_told_with_its_line() {
    let table = [
        (
            "colour[i % 2]",
            "shape[i % 2]",
            "14 shape: no word list `shape`, in the value that line 30 inserts (add it to `[words]`: `shape = [\"…\"]`)",
        ),
        (
            "colour[i % 2]",
            "colours[i % 2]",
            "14 colours: no word list `colours`, in the value that line 30 inserts (did you mean `colour`?)",
        ),
        (
            "{= i * i}",
            "{= i * }",
            "14 }: the formula ends where an integer, a name or a bracket is expected, in the value that line 30 inserts",
        ),
        (
            "[\"gzip\", \"identity\"]",
            "\"gz\"",
            "29 \"gz\": `content_encoding` is \"gz\" (known are any, br, deflate, gzip, identity, zstd)",
        ),
        (
            "first = \"{from}\"",
            "first = \"{form}\"",
            "30 {form}: `{form}` has no value (did you mean `{from}`?)",
        ),
        (
            "count = \"{count}\"",
            "count = \"{coun}\"",
            "30 {coun}: `{coun}` has no value (did you mean `{count}`?)",
        ),
        (
            "at = \"/items\"",
            "at = \"$.items\"",
            "30 \"$.items\": `at` is \"$.items\": write the JSON Pointer /items",
        ),
        (
            "bytes = \"{n}\"",
            "bytes = \"{m}\"",
            "34 {m}: `{m}` has no value (give `with.m = …`, or write `{{m}}` for the text `{m}`)",
        ),
        (
            "bytes = \"{n}\"",
            "bytes = \"{n} B\"",
            "34 \"{n} B\": `bytes` is \"1000 B\": give a number of bytes",
        ),
        (
            "bytes = \"{n}\"",
            "bytes = 99999999999",
            "34 99999999999: `bytes` is 99999999999: give at most 67108864",
        ),
        ("chunk = 100", "chunk = 0", "34 0: `chunk` is 0: give at least 1"),
        (
            "n = 1000",
            "n = { random = [1, 9] }",
            "34 \"{n}\": `{n}` would differ between requests (set its placeholders in the workload)",
        ),
        (
            "generated =",
            "text = \"x\"\ngenerated =",
            "35 { bytes = \"{n}\", chunk = 100 }: `text` and `generated`: a request has one body (remove one of them)",
        ),
        (
            "rows = \"user\"",
            "rows = \"usr\"",
            "45 { header = [\"id\", \"name\"], rows = \"usr\", more = [[\"0\", \"{who}\"]], sort = \"name\" }: `html_table`: there is no `[rows.usr]`: did you mean `user`?",
        ),
        (
            "[[\"0\", \"{who}\"]]",
            "[[\"{who}\"]]",
            "45 { header = [\"id\", \"name\"], rows = \"user\", more = [[\"{who}\"]], sort = \"name\" }: `html_table`: each row must have as many cells as `header`",
        ),
        (
            "sort = \"name\"",
            "sort = \"date\"",
            "45 { header = [\"id\", \"name\"], rows = \"user\", more = [[\"0\", \"{who}\"]], sort = \"date\" }: `html_table`: `sort` is \"date\": known are id, name",
        ),
        (
            "times = 2",
            "deliver = \"pipelined\"",
            "62 \"created and read\": case \"created and read\": calls with `capture` run one after the other (remove `deliver`)",
        ),
    ];
    refused(RIGHT, &table, |contract| load(contract).map(drop));
}
