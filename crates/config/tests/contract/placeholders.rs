//! Placeholders and formulas: their values, types and escaping, and what is wrong with them.

use super::common::session::{SentRequest, Session};
use super::common::{load, replaced, right, told};
use prony_config::ConfigError;
use prony_config::contract::{Contract, RowTable};
use prony_load::Protocol;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A contract with one operation, in which a text can be replaced.
const RIGHT: &str = r#"format = 1

[backing_service.db]
use = "postgresql"

[rows.order]
query = "select id, note, open, tags from orders"

[words]
colour = ["red", "blue"]

[value.point]
x = "{n}"
y = 2.5
tags = ["{text}", true]

[value.greeting]
a = { en = "hi" }

[value]
limit = 20
person_1 = { name = "Ada" }
person_7 = { name = "Bob", friend = "{value.person_1}" }
quoted = "say \"{text}\" & go/on"

[operation.get]
http = "POST /a/b"
headers.X = "x"
json = "y"
expect = { text = "e" }
with = { n = 7, text = "a \"b\"", yes = true, half = 0.5, drawn = { range = [7, 9] }, word = ["p q"], note = "{order.note}" }

[[case]]
name = "as in the load"
call = { operation = "get", with = { drawn = 7 } }

[workload.get]
mix = [{ operation = "get" }]
load = { kind = "closed", connections = 1 }
"#;

/// Uses every value, so that no test has to.
const ALL: &str = "{n}{text:raw}{yes}{half}{drawn}{word}{note}";

fn rows() -> BTreeMap<String, RowTable> {
    let table = RowTable {
        columns: ["id", "note", "open", "tags"].map(str::to_owned).to_vec(),
        rows: vec![vec![
            json!(12),
            json!("it's \"ok\""),
            json!(false),
            json!(["a", 1]),
        ]],
    };
    BTreeMap::from([("order".to_owned(), table)])
}

/// The contract with texts in its places.
fn written(path: &str, header: &str, json: &str) -> String {
    let contract = replaced(RIGHT, "/a/b", path);
    let contract = replaced(
        &contract,
        "headers.X = \"x\"",
        &format!("headers.X = {}\nheaders.All = '{ALL}'", quoted(header)),
    );
    replaced(&contract, "json = \"y\"", &format!("json = {json}"))
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// The request in the workload and in a case, which must be equal.
fn sent(contract: &str) -> Result<SentRequest, ConfigError> {
    let contract = load(contract)?.give_rows(rows())?;
    let workload = contract.workload("get", Protocol::Http1)?;
    let cases = contract.cases(Protocol::Http1, 1);
    let each = cases
        .iter()
        .find(|case| case.name == "as in the load")
        .expect("the case");
    let checked = Session::of_case(each).sent(0);
    assert_eq!(Session::of_workload(&workload).sent(0), checked);
    Ok(checked)
}

fn json_of(text: &str) -> Value {
    let sent = sent(&written("/a", "x", text)).unwrap_or_else(|error| panic!("{error}"));
    serde_json::from_str(&sent.body).unwrap_or_else(|error| panic!("{text}: {error}: {}", sent.body))
}

#[test]
fn a_text_that_is_one_placeholder_has_the_type_of_its_value() {
    for (text, value) in [
        ("{n}", json!(7)),
        ("{n:text}", json!("7")),
        ("{text}", json!("a \"b\"")),
        ("{text:text}", json!("a \"b\"")),
        ("{yes}", json!(true)),
        ("{yes:text}", json!("true")),
        ("{half}", json!(0.5)),
        ("{drawn}", json!(7)),
        ("{drawn:text}", json!("7")),
        ("{word}", json!("p q")),
        ("{order.id}", json!(12)),
        ("{order.id:text}", json!("12")),
        ("{order.note}", json!("it's \"ok\"")),
        ("{note}", json!("it's \"ok\"")),
        ("{order.open}", json!(false)),
        ("{order.tags}", json!(["a", 1])),
        ("{order.tags:text}", json!("[\"a\",1]")),
        ("{limit}", json!(20)),
        ("{value.limit}", json!(20)),
        ("{limit:text}", json!("20")),
        ("{point}", json!({ "x": 7, "y": 2.5, "tags": ["a \"b\"", true] })),
        ("{value.person_1}", json!({ "name": "Ada" })),
        (
            "{value.person_{n}}",
            json!({ "name": "Bob", "friend": { "name": "Ada" } }),
        ),
        ("{= null}", json!(null)),
        ("{= n * 10 + limit}", json!(90)),
        ("{= drawn + 1}", json!(8)),
        ("{= order.id - 2}", json!(10)),
        ("{= n:text}", json!("7")),
        ("{= colour[n]}", json!("blue")),
    ] {
        assert_eq!(json_of(&quoted(text)), value, "{text}");
        let inside = format!(
            "{{ list = [{}], member = {{ of = {} }} }}",
            quoted(text),
            quoted(text)
        );
        assert_eq!(
            json_of(&inside),
            json!({ "list": [value], "member": { "of": value } }),
            "{text}"
        );
    }
}

#[test]
fn within_a_longer_text_a_value_is_text() {
    for (text, value) in [
        ("no {n}", "no 7"),
        ("{n}{n}", "77"),
        ("<{text}>", "<a \"b\">"),
        ("{order.id}: {order.note}", "12: it's \"ok\""),
        ("{yes}/{half}", "true/0.5"),
        ("n = {= n * 2}!", "n = 14!"),
        ("{= colour[0]} {limit}", "red 20"),
        ("{quoted}.", "say \"a \"b\"\" & go/on."),
        ("at {greeting}", "at {\"a\":{\"en\":\"hi\"}}"),
        ("{{n}} {{= n}} {2} {}", "{n} {= n} {2} {}"),
        ("{{{n}}}", "{7}"),
    ] {
        assert_eq!(json_of(&quoted(text)), json!(value), "{text}");
    }
    assert_eq!(json_of("{ \"{n} {text}\" = 1 }"), json!({ "7 a \"b\"": 1 }));
}

#[test]
fn a_value_is_escaped_for_its_place() {
    for (path, expected) in [
        ("/a/{text}?q={text}", "/a/a%20%22b%22?q=a%20%22b%22"),
        ("/{word}/{n}?w={word}&n={= n + 1}", "/p%20q/7?w=p%20q&n=8"),
        ("/{order.note}", "/it's%20%22ok%22"),
        (
            "/{quoted}?q={quoted}",
            "/say%20%22a%20%22b%22%22%20&%20go%2Fon?q=say%20%22a%20%22b%22%22%20%26%20go/on",
        ),
    ] {
        let sent = sent(&written(path, "x", "1")).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(sent.path, expected, "{path}");
    }
    let sent = sent(&written("/a", "Bearer {text} {= n}", "1")).expect("right");
    assert!(
        sent.headers
            .contains(&("X".to_owned(), "Bearer a \"b\" 7".to_owned())),
        "{sent:?}"
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of faults")]
fn what_is_wrong_is_told_at_the_placeholder() {
    let path = |path: &str| replaced(RIGHT, "/a/b", path);
    let mut wrong = String::new();
    let json = |text: &str| replaced(RIGHT, "json = \"y\"", &format!("json = {}", quoted(text)));
    for (contract, expected) in [
        (
            path("/a/{nn}"),
            "27 {nn}: `{nn}` has no value (give `with.nn = …`, or write `{{nn}}` for the text `{nn}`)",
        ),
        (
            path("/a/{texts}"),
            "27 {texts}: `{texts}` has no value (did you mean `{text}`?)",
        ),
        (path("/a/{N}"), "27 {N}: `{N}` has no value (did you mean `{n}`?)"),
        (
            path("/a/{Text}/b"),
            "27 {Text}: `{Text}` has no value (did you mean `{text}`?)",
        ),
        (
            json("{order.notes}"),
            "30 order.notes: `rows.order` has no column `notes` (did you mean `note`?)",
        ),
        (
            json("a {orders.note}"),
            "30 {orders.note}: `{orders.note}` has no value (did you mean `{order.note}`?)",
        ),
        (
            json("{value.limits}"),
            "30 {value.limits}: `{value.limits}` has no value (there is no `[value.limits]`: did you mean `limit`?)",
        ),
        (
            json("{value.person_{m}}"),
            "30 {value.person_{m}}: `{m}` has no value: known are drawn, half, n, note, order.note, text, word, yes",
        ),
        (
            json("{value.person_{drawn}}"),
            "30 {value.person_{drawn}}: `{value.person_9}` has no value (there is no `[value.person_9]`: did you mean `person_1`?)\n30 {value.person_{drawn}}: `{drawn}` would differ between requests: set it in the workload",
        ),
        (
            json("{n:int}"),
            "30 :int: `:int` is not a form of a value (write `:text` or `:raw`, or nothing)",
        ),
        (
            json("{= {n} + 1}"),
            "30 {n}: braces in a formula (names in a formula need none: write `n`)",
        ),
        (
            json("#{= {n} * 10}"),
            "30 {n}: braces in a formula (names in a formula need none: write `n`)",
        ),
        (
            json("{= n + }"),
            "30 }: the formula ends where an integer, a name or a bracket is expected",
        ),
        (
            json("a {= n"),
            "30 {= n: a formula is not closed (close it with `}`, or write `{{=` for the text `{=`)",
        ),
        (
            json("{= i}"),
            "30 i: no value `i` (`i` is the number of an item: only lists, streams and messages have it)",
        ),
        (json("{= nn + m}"), "30 nn: no value `nn` (give `with.nn = …`)"),
        (
            json("{= limits + 1}"),
            "30 limits: no value `limits` (did you mean `limit`?)",
        ),
        (
            json("{= text + 1}"),
            "30 text: `text` is not always a whole number (a formula computes with whole numbers)",
        ),
        (
            json("{= word + 1}"),
            "30 word: `word` is not always a whole number (a formula computes with whole numbers)",
        ),
        (
            json("{= colour + 1}"),
            "30 colour: `colour` is a word list (write `colour[i]` for an entry)",
        ),
        (
            json("{= color[1]}"),
            "30 color: no word list `color` (did you mean `colour`?)",
        ),
        (
            json("null: {= null}"),
            "30 null: `{= null}` within a text (a text that is nothing else is null)",
        ),
        (
            json("{body.bytes}"),
            "30 {body.bytes}: `{body.bytes}` has no value (only expectations have `{body.bytes}` and `{body.sha256}`, of the request's body)",
        ),
        (
            replaced(&json("at {point}"), "x = \"{n}\"", "x = \"{drawn}\""),
            "30 {point}: `point` has values that differ between requests (only a text that is nothing else can have it)",
        ),
        (
            replaced(&json("{point}"), "x = \"{n}\"", "x = \"{m}\""),
            "13 {m}: `{m}` has no value, in the value that line 30 inserts (give `with.m = …`, or write `{{m}}` for the text `{m}`)",
        ),
        (
            replaced(
                &json("{person_1}"),
                "{ name = \"Ada\" }",
                "{ name = \"{person_1}\" }",
            ),
            "22 {person_1}: `person_1` refers to itself, in the value that line 30 inserts",
        ),
        (
            replaced(&json("{note}"), "{order.note}", "{note}"),
            "32 \"{note}\": `with.note` refers to itself",
        ),
        (
            replaced(
                &replaced(&json("{note}"), "{order.note}", "{word}"),
                "[\"p q\"]",
                "\"{note}\"",
            ),
            "32 \"{word}\": `with.note` refers to itself",
        ),
        (
            replaced(RIGHT, "\"x\"", "\"a\\nb\""),
            "29 \"a\\nb\": the value \"a\\nb\" has a control character, which a header cannot hold",
        ),
        (
            replaced(
                &replaced(RIGHT, "\"x\"", "\"{text}\""),
                "a \\\"b\\\"",
                "a\\u0000b",
            ),
            "28 {text:raw}: the value \"a\\0b\" has a control character, which a header cannot hold",
        ),
        (
            replaced(&path("/{word:raw}"), "[\"p q\"]", "[\"p\", \"p q\"]"),
            "27 {word:raw}: the value \"p q\" has ` `, which a path cannot hold as it is",
        ),
    ] {
        // All values are used, so that nothing else is wrong.
        let contract = replaced(
            &contract,
            "headers.X",
            &format!("headers.All = '{ALL}'\nheaders.X"),
        );
        let error = load(&contract).and_then(|contract| contract.give_rows(rows()));
        let told = error.map_or_else(|error| told(&error, &contract), |_| "it loads".to_owned());
        if told != expected {
            let _ = write!(wrong, "\n  expected: {expected}\n  told:     {told}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn formulas_are_expected_as_well() {
    let contract = r#"format = 1

[value]
step = 10

[operation.get]
http = "GET /items/{id}?page={= page - 1}"
with = { id = { range = [3, 9] }, page = 2, big = "{order}" , order = 5 }
expect.json = { id = "{id}", price = "{= id * step}", next = "{= page + 1}", none = "{= null}", text = "{= id:text}", big = "{= big * 2}" }
expect.headers.X-Price = "{= id * step} EUR"

[[case]]
name = "each"
call = { operation = "get", with = { id = [3, 4] } }

[workload.get]
mix = [{ operation = "get" }]
load = { kind = "closed", connections = 1 }
"#;
    let contract = right(contract);
    let reply = |id: u32| json!({ "id": id, "price": id * 10, "next": 3, "none": null, "text": id.to_string(), "big": 10 });
    let right = |session: &mut Session, step: usize, id: u32, price: &str| {
        let headers = [
            ("content-type", "application/json; charset=utf-8"),
            ("x-price", price),
        ];
        session.judge(step, 200, &headers, &reply(id).to_string()).is_ok()
    };
    let mut session = Session::of_workload(&contract.workload("get", Protocol::Http1).expect("a workload"));
    for number in 0..3 {
        session.number = number;
        let id = 3 + number as u32;
        assert_eq!(session.sent(0).path, format!("/items/{id}?page=1"));
        assert!(right(&mut session, 0, id, &format!("{id}0 EUR")));
        assert!(!right(&mut session, 0, id + 1, &format!("{id}0 EUR")));
        assert!(!right(&mut session, 0, id, "30"));
    }
    let cases = contract.cases(Protocol::Http1, 1);
    let each = cases.iter().find(|case| case.name == "each").expect("a case");
    let mut session = Session::of_case(each);
    assert_eq!(
        (session.sent(0).path.as_str(), session.sent(1).path.as_str()),
        ("/items/3?page=1", "/items/4?page=1")
    );
    assert!(right(&mut session, 1, 4, "40 EUR") && !right(&mut session, 0, 4, "40 EUR"));
}

#[test]
fn the_body_of_the_request_has_a_length_and_a_digest() {
    let contract = r#"format = 1

[operation.put]
http = "PUT /files/{name}"
text = "<{name}>"
with = { name = { range = [9, 11] } }
expect.json_contains = { length = "{body.bytes}", digest = "{body.sha256}", twice = "sha256:{body.sha256}" }
expect.headers.X-Length = "{body.bytes}"

[workload.put]
mix = [{ operation = "put" }]
load = { kind = "closed", connections = 1 }
"#;
    let contract = right(contract);
    let mut session = Session::of_workload(&contract.workload("put", Protocol::Http1).expect("a workload"));
    session.number = 1;
    assert_eq!(session.sent(0).body, "<10>");
    // Of `<10>`.
    let digest = "51a056965ff4dace49445e2d7aac437c3e176bfd16184867e42ba7f581a2373b";
    for (length, digest, is_right) in [(4, digest, true), (3, digest, false), (4, "00", false)] {
        let body = json!({ "length": length, "digest": digest, "twice": format!("sha256:{digest}") });
        let headers = [("content-type", "application/json"), ("x-length", "4")];
        assert_eq!(
            session.judge(0, 200, &headers, &body.to_string()).is_ok(),
            is_right,
            "{length} {digest}"
        );
    }
}

#[test]
fn files_have_placeholders_as_well() {
    let contract = r#"format = 1

[operation.create]
http = "POST /items"
expect = { status = 201 }
capture.id = { json = "/id" }

[operation.put]
needs = ["create"]
http = "PUT /items"
file = "body.json"
expect.file = "reply.txt"

[workload.visit]
sequence = [{ operation = "put" }]
load = { kind = "closed", connections = 1 }
"#;
    let files = [
        ("body.json", "{\"id\": {id:raw}, \"a\": {{id}}}"),
        ("reply.txt", "is {id}"),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files.into_iter().chain([("contract.toml", contract)]) {
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    let contract = Contract::load(folder.path()).unwrap_or_else(|error| panic!("{error}"));
    let mut session = Session::of_workload(&contract.workload("visit", Protocol::Http1).expect("a workload"));
    assert_eq!(session.judge(0, 201, &[], r#"{"id":5}"#), Ok(()));
    assert_eq!(session.sent(1).body, "{\"id\": 5, \"a\": {id}}");
    assert_eq!(session.judge(1, 200, &[], "is 5"), Ok(()));
    assert!(session.judge(1, 200, &[], "is 6").is_err());
}
