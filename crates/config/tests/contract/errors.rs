//! Mistakes of an author are reported with their position and what to do.

use super::common::{load_beside, refused, replaced, told};
use prony_config::ConfigError;
use prony_config::contract::{Contract, ReplyCounter, RowTable, UpperLimit};
use prony_load::{Pick, Protocol, Source};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A valid contract.
const RIGHT: &str = r#"format = 1
name = "toy"
title = "Toy"
proto = "toy.proto"

[value.one]
id = "1"

[operation.get]
summary = "Gets."
http = "GET /get/{id}"
grpc = "toy.Toy/get"
message = { id = "{id}" }
with = { id = { random = [1, 9] } }
expect = { status = 200, json = { id = "{id:text}" } }

[[case]]
name = "a case"
call = { operation = "get", with = { id = 4 } }

[workload.get]
summary = "Gets."
mix = [{ operation = "get" }]
load = { kind = "closed", connections = 1 }
"#;

const PROTO: &str = r#"syntax = "proto3";
package toy;
service Toy { rpc get(Id) returns (Id); }
message Id { string id = 1; }
"#;

fn load(contract: &str) -> Result<Contract, ConfigError> {
    load_beside(contract, &[("toy.proto", PROTO)])
}

/// Each replacement in the valid contract must be refused with these errors.
fn all_refused(table: &[(&str, &str, &str)]) {
    refused(RIGHT, table, |contract| load(contract).map(drop));
}

#[test]
fn rules_for_values_of_json_are_read_and_judged() {
    let written = r#"json_rules = ["/id={id}", "!/error"], json"#;
    let contract = load(&replaced(RIGHT, "json =", &format!("{written} ="))).expect("right");
    let workload = contract.workload("get", Protocol::Http1).expect("the workload");
    let expect = workload.operations[0].expect.compile().expect("valid");
    let judged = |body: &str| {
        let reply = prony_load::Reply {
            status: 200,
            grpc_status: None,
            headers: &[(b"content-type", b"application/json")],
            body: body.as_bytes(),
        };
        expect
            .judge(&reply, |_, out| out.push(b'7'))
            .map_err(|mismatch| mismatch.what)
    };
    assert_eq!(judged(r#"{"id":"7"}"#), Ok(()));
    // Members that are null count as absent in comparisons, and also for a rule about absence.
    assert_eq!(judged(r#"{"id":"7","error":null}"#), Ok(()));
    assert!(judged(r#"{"id":"8"}"#).is_err());
    all_refused(&[(
        "json =",
        "json_rules = \"id=1\", json =",
        "15 \"id=1\": `json_rules` has \"id=1\": it must begin with a JSON pointer (`/result/id`), or with `!` and a pointer",
    )]);
}

#[test]
fn the_right_one_loads() {
    let contract = load(RIGHT).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(contract.operations()[0].name, "get");
    assert_eq!(contract.title, "Toy");
}

#[test]
fn unknown_keys() {
    all_refused(&[
        (
            "title =",
            "titel =",
            "3 titel: unknown key `titel` (did you mean `title`?)",
        ),
        (
            "summary = \"Gets.\"\nhttp",
            "sumary = \"Gets.\"\nhttp",
            "10 sumary: unknown key `sumary` (did you mean `summary`?)",
        ),
        (
            "status = 200",
            "statuts = 200",
            "15 statuts: unknown key `statuts` (did you mean `status`?)",
        ),
        (
            "status = 200",
            "schema = 200",
            "15 schema: unknown key `schema` (known are any_of, builtin, contains, content_encoding, content_type, echoed, events, file, file_part, grpc_status, headers, html_table, json, json_contains, json_list, json_not_contains, json_rules, json_schema, json_text, matches, may_break_off, message, single_event, status, text, within)",
        ),
        (
            "with = { id = 4 } }",
            "wiht = { id = 4 } }",
            "19 wiht: unknown key `wiht` (did you mean `with`?)",
        ),
        (
            "kind = \"closed\"",
            "kind = \"shut\"",
            "24 \"shut\": `kind` is \"shut\" (known are closed, open, users)",
        ),
        (
            "call =",
            "steps =",
            "17 [[case]]: `case` has no `call` (add `call`: the calls)\n19 steps: unknown key `steps` (known are call, connections, deliver, disconnect, name, restart, serial, slow, times, trait)",
        ),
        (
            "[value.one]",
            "[data.one]",
            "6 data: unknown key `data` (did you mean `value`?)",
        ),
        (
            "status = 200",
            "body = \"x\", vus = 4, status = 200",
            "15 body: unknown key `body` (did you mean `json`?)\n15 vus: unknown key `vus` (known are any_of, builtin, contains, content_encoding, content_type, echoed, events, file, file_part, grpc_status, headers, html_table, json, json_contains, json_list, json_not_contains, json_rules, json_schema, json_text, matches, may_break_off, message, single_event, status, text, within)",
        ),
    ]);
}

#[test]
fn wrong_types() {
    all_refused(&[
        (
            "status = 200",
            "status = \"201\"",
            "15 \"201\": `status` is the text \"201\": write 201",
        ),
        (
            "status = 200",
            "status = 2000",
            "15 2000: `status` is 2000: give at most 599",
        ),
        (
            "status = 200",
            "status = []",
            "15 []: `status` is empty: give at least one",
        ),
        (
            "status = 200",
            "status = 200, within = 2",
            "15 2: `within` is the number 2: write \"2s\"",
        ),
        (
            "\"GET /get/{id}\"",
            "7",
            "11 7: `http` is the number 7: give a text",
        ),
        (
            "random = [1, 9]",
            "random = [1]",
            "14 [1]: `random` has 1 value: give two whole numbers, such as [1, 100]",
        ),
        (
            "random = [1, 9]",
            "random = 9",
            "14 9: `random` is the number 9: give two whole numbers, such as [1, 100]",
        ),
        (
            "format = 1",
            "format = 2",
            "1 2: `format = 2` needs a newer prony: this one reads up to 1",
        ),
        (
            "format = 1",
            "format = \"1\"",
            "1 \"1\": `format` is \"1\": write 1",
        ),
    ]);
}

#[test]
fn all_errors_are_told_together() {
    let wrong = replaced(RIGHT, "status = 200", "statuts = 200");
    all_refused_in(
        &wrong,
        &[(
            "title = \"Toy\"",
            "titel = 1",
            "3 titel: unknown key `titel` (did you mean `title`?)\n15 statuts: unknown key `statuts` (did you mean `status`?)",
        )],
    );
    let wrong = replaced(RIGHT, "/get/{id}", "/get/{di}");
    all_refused_in(
        &wrong,
        &[(
            "{ operation = \"get\", with = { id = 4 } }",
            "{ operation = \"put\" }",
            "11 {di}: `{di}` has no value (give `with.di = …`, or write `{{di}}` for the text `{di}`)\n19 \"put\": there is no operation `put` (known are get)",
        )],
    );
}

fn all_refused_in(contract: &str, table: &[(&str, &str, &str)]) {
    refused(contract, table, |contract| load(contract).map(drop));
}

#[test]
fn no_expectation() {
    all_refused(&[
        (
            "expect = { status = 200, json = { id = \"{id:text}\" } }\n",
            "",
            "9 [operation.get]: `expect` is missing (add it, such as `expect.status = 200`)\n18 { operation = \"get\", with = { id = 4 } }: `expect` is missing (add it, such as `expect.status = 200`)",
        ),
        (
            "call = { operation = \"get\", with = { id = 4 } }",
            "call = { http = \"GET /x\" }",
            "19 { http = \"GET /x\" }: `expect` is missing (add it, such as `expect.status = 200`)",
        ),
        (
            "with = { id = 4 } }",
            "expect = {} }",
            "19 {}: `expect` is empty (give at least `status` or `grpc_status`)",
        ),
        (
            "call = { operation = \"get\", with = { id = 4 } }",
            "",
            "17 [[case]]: `case` has no `call` (add `call`: the calls)",
        ),
        (
            "call = { operation = \"get\", with = { id = 4 } }",
            "call = []",
            "19 []: `call` is empty: give at least one",
        ),
        (
            "call = { operation = \"get\", with = { id = 4 } }",
            "call = { expect = { status = 200 } }",
            "19 { expect = { status = 200 } }: the request is missing (add `http`, such as \"GET /items/{id}\", or `grpc` or `websocket`)",
        ),
    ]);
}

#[test]
fn patterns_that_do_not_compile() {
    all_refused(&[
        (
            "status = 200,",
            "status = 200, matches = \"a(\",",
            "15 a(: `matches`: `a(` is not a regular expression (unclosed group)",
        ),
        (
            "status = 200,",
            "status = 200, headers = { x = { matches = \"[\" } },",
            "15 [: `headers.x`: `[` is not a regular expression (unclosed character class)",
        ),
    ]);
}

#[test]
fn schemas_that_do_not_resolve() {
    all_refused(&[
        (
            "toy.proto",
            "other.proto",
            "4 \"other.proto\": `proto` is \"other.proto\": there is no such file",
        ),
        (
            "toy.Toy/get",
            "toy.Toy/put",
            "12 \"toy.Toy/put\": `grpc` is \"toy.Toy/put\" (did you mean `toy.Toy/get`?)",
        ),
        (
            "message = { id",
            "message = { di",
            "13 { di = \"{id}\" }: `message`: `toy.Id` has no field `di`: known are id",
        ),
        (
            "proto = \"toy.proto\"\n",
            "",
            "11 \"toy.Toy/get\": the contract has no `proto` (add `proto = \"FILE.proto\"` at the top of the file)",
        ),
    ]);
    let broken = "syntax = \"proto3\";\nmessage Id { strin id = 1; }\n";
    let broken = load_beside(RIGHT, &[("toy.proto", broken)]).expect_err("broken");
    let broken = told(&broken, RIGHT);
    assert!(
        broken.starts_with("4 \"toy.proto\": `proto` is \"toy.proto\": "),
        "{broken}"
    );
    assert!(broken.contains("strin"), "{broken}");
}

#[test]
fn values() {
    all_refused(&[
        (
            "with = { id = 4 }",
            "with = { id = 4, more = 5 }",
            "19 5: `with.more` is not used (no text has the placeholder `{more}`)",
        ),
        (
            "mix = [{ operation = \"get\" }]",
            "mix = [{ operation = \"get\", with = { more = 5 } }]",
            "23 5: `with.more` is not used (no text has the placeholder `{more}`)",
        ),
        (
            "random = [1, 9]",
            "random = [9, 1]",
            "14 { random = [9, 1] }: `random` is [9, 1], which is empty: write [1, 9]",
        ),
        (
            "random = [1, 9]",
            "random_hex = 0",
            "14 0: `random_hex` is 0: give at least 1",
        ),
        (
            "random = [1, 9]",
            "dice = 6",
            "14 dice: unknown key `dice` (known are counter, random, random_hex, range)",
        ),
        (
            "random = [1, 9]",
            "random = [1, 9], counter = 1",
            "14 counter: `with.id` has `random` and `counter` (give only one of them)",
        ),
        (
            "random = [1, 9]",
            "random = [1, 10]",
            "13 { id = \"{id}\" }: `message`: `id` has values of different lengths, which a message cannot hold: use one length",
        ),
        (
            "{ random = [1, 9] }",
            "[]",
            "14 []: `with.id` is empty: give at least one",
        ),
        (
            "{ random = [1, 9] }",
            "\"a{one}\"",
            "14 \"a{one}\": a value cannot contain `{one}`: write `{{one}}` for the text `{one}`",
        ),
        (
            "{ random = [1, 9] }",
            "\"{= 1}\"",
            "14 \"{= 1}\": a value cannot contain `{= 1}`: write `{{= 1}}` for the text `{= 1}`",
        ),
        (
            "{ random = [1, 9] }",
            "\"{two}\"",
            "14 \"{two}\": `{two}` has no value (give `with.two = …`, or write `{{two}}` for the text `{two}`)",
        ),
        (
            "json = { id = \"{id:text}\" }",
            "json = \"{two}\"",
            "15 {two}: `{two}` has no value (give `with.two = …`, or write `{{two}}` for the text `{two}`)",
        ),
    ]);
}

#[test]
fn requests() {
    all_refused(&[
        (
            "GET /get",
            "GET get",
            "11 \"GET get/{id}\": `http` is \"GET get/{id}\" (a path starts with `/`: write `GET /get/{id}`)",
        ),
        (
            "GET /get",
            "/get",
            "11 \"/get/{id}\": `http` is \"/get/{id}\" (give method and path, such as `GET /items/{id}`)",
        ),
        (
            "GET /get",
            "get /get",
            "11 get: `get` is not a method (methods are case-sensitive: write `GET`)",
        ),
        (
            "GET /get",
            "GET http://localhost/get",
            "11 \"GET http://localhost/get/{id}\": `http` is \"GET http://localhost/get/{id}\" (give only the path: the service sets the host)",
        ),
        (
            "/get/{id}",
            "/get/ {id}",
            "11 \"GET /get/ {id}\": a space in the path (write `%20`)",
        ),
        (
            "/get/{id}",
            "/get/ü/{id}",
            "11 \"GET /get/ü/{id}\": `ü` in the path (write `%C3%BC`)",
        ),
    ]);
}

#[test]
fn names() {
    all_refused(&[
        (
            "name = \"toy\"",
            "name = \"game\"",
            "2 \"game\": `name` is \"game\", but the folder is `toy` (remove it: the name is that of the folder)",
        ),
        (
            "call = { operation = \"get\"",
            "call = { operation = \"put\"",
            "19 \"put\": there is no operation `put` (known are get)",
        ),
        (
            "mix = [{ operation = \"get\" }]",
            "mix = [{ operation = \"put\" }]",
            "23 \"put\": there is no operation `put` (known are get)",
        ),
        (
            "title = \"Toy\"",
            "skip_common_cases = [\"heads\"]",
            "3 \"heads\": there is no common case \"heads\" (did you mean `HEAD`?)",
        ),
        (
            "title = \"Toy\"",
            "skip_common_cases = [\"slow network\"]",
            "3 \"slow network\": there is no common case \"slow network\" (known are 100 headers, HEAD, chunked body, keep-alive, many connections, one packet, percent-encoded path, query string, single bytes, unknown path, wrong method)",
        ),
        (
            "mix = [{ operation = \"get\" }]",
            "",
            "21 [workload.get]: workload `get` has no operation (give `mix` or `sequence`)",
        ),
        (
            "mix = [{ operation = \"get\" }]",
            "mix = [{ operation = \"get\", weight = 0 }]",
            "21 [workload.get]: workload `get` has only weights of 0 (give one operation a weight above 0)",
        ),
        (
            "mix = [{ operation = \"get\" }]",
            "mix = [{ operation = \"get\" }]\nsequence = [{ operation = \"get\" }]",
            "21 [workload.get]: workload `get` has `mix` and `sequence` (give only one of them)",
        ),
        (
            "connections = 1",
            "connections = 0",
            "24 0: `connections` is 0: give at least 1",
        ),
        (
            "[workload.get]\nsummary = \"Gets.\"\nmix = [{ operation = \"get\" }]\nload = { kind = \"closed\", connections = 1 }\n",
            "",
            "1 f: the contract has no workload (add `[workload.NAME]`)",
        ),
    ]);
    let contract = load(RIGHT).expect("right");
    let unknown = contract
        .load_of(Some("put"))
        .expect_err("no such workload")
        .to_string();
    assert_eq!(unknown, "contract `toy` has no workload `put`: known are get");
}

#[test]
fn no_file_at_all() {
    let message = Contract::load(Path::new("/nowhere"))
        .expect_err("nothing there")
        .to_string();
    assert!(
        message.starts_with("cannot read /nowhere/contract.toml"),
        "{message}"
    );
}

/// The message, the position, the line with its mark, and what to do.
#[test]
fn an_error_shows_its_line() {
    let message = load(&replaced(RIGHT, "status = 200", "status = 200, tekst = 1"))
        .expect_err("wrong")
        .to_string();
    let (first, rest) = message.split_once('\n').expect("lines");
    let (position, rest) = rest.split_once('\n').expect("lines");
    assert_eq!(first, "unknown key `tekst`");
    assert!(position.ends_with("toy/contract.toml:15:26"), "{position}");
    assert_eq!(
        rest,
        "   15 | expect = { status = 200, tekst = 1, json = { id = \"{id:text}\" } }\n      |                          ^^^^^ did you mean `text`?"
    );
}

#[test]
fn a_json_schema_is_read_from_a_file_or_from_the_place() {
    let contract_with = |schema: &str| {
        let contract = RIGHT
            .replace("proto = \"toy.proto\"\n", "")
            .replace("grpc = \"toy.Toy/get\"\nmessage = { id = \"{id}\" }\n", "");
        replaced(
            &contract,
            "json = { id = \"{id:text}\" }",
            &format!("json_schema = {schema}"),
        )
    };
    let with = |schema: &str, file: &str| load_beside(&contract_with(schema), &[("schemas.json", file)]);
    let file = r##"{"$defs": {"Pet": {"$ref": "#/$defs/Name"}, "Name": {"type": "string"}, "Other": {"type": "objekt"}}}"##;
    with("\"schemas.json#/$defs/Pet\"", file).expect("the referenced part is valid");
    with("{ type = \"object\", required = [\"id\"] }", "").expect("in place");
    for (schema, file, expected) in [
        ("\"schemas.json#/$defs/Other\"", file, "not a JSON Schema"),
        (
            "\"schemas.json#/$defs/Dog\"",
            file,
            "schemas.json has nothing at `/$defs/Dog`",
        ),
        (
            "\"schemas.json\"",
            "{\n  \"a\":\n}",
            "schemas.json:3:1: it is not JSON",
        ),
        ("\"none.json\"", "", "no such file"),
        ("7", "", "give a file of this folder"),
    ] {
        let error = with(schema, file).expect_err(schema);
        let message = told(&error, &contract_with(schema));
        assert!(
            message.starts_with(&format!("12 {schema}: `json_schema`: ")),
            "{message}"
        );
        assert!(message.contains(expected), "{expected}: {message}");
    }
}

/// A contract with a backing service, rows and conditions.
const WITH_BACKING: &str = r#"format = 1

[backing_service.db]
use = "postgresql"
seed = ["schema.sql"]
settings = { work_mem = "4MB" }

[rows.thing]
query = "select id, name from thing"

[operation.get]
http = "GET /get/{thing.id}/{name}"
with = { name = "{thing.name}" }
expect = { status = 200, content_type = "text/plain", text = "{thing.id} {name}" }

[[invariant]]
name = "none is lost"
query = "select count(*) from thing"
equals = "before + get.201 - 2 * get.204"

[env]
SECRET = "s"

[[invariant]]
name = "few connections"
max_connections = "DATABASE_POOL"

[workload.get]
mix = [{ operation = "get" }]
load = { kind = "closed", connections = 1 }
"#;

fn load_with_schema(contract: &str) -> Result<Contract, ConfigError> {
    load_beside(
        contract,
        &[("schema.sql", "create table thing (id int, name text);")],
    )
}

/// A count that equals the status.
struct Statuses;

impl ReplyCounter for Statuses {
    fn replies(&self, _: &str, status: u16) -> u64 {
        u64::from(status)
    }

    fn unknown(&self, _: &str) -> u64 {
        0
    }
}

#[test]
fn what_stands_beside_a_service_is_read() {
    let contract = load_with_schema(WITH_BACKING).unwrap_or_else(|error| panic!("{error}"));
    let [db] = contract.backing_services() else {
        panic!("one backing service")
    };
    assert_eq!((db.name(), db.uses()), ("db", "postgresql"));
    assert!(db.seed()[0].ends_with("toy/schema.sql"), "{:?}", db.seed());
    assert_eq!(db.settings()["work_mem"].as_str(), Some("4MB"));
    let [thing] = contract.rows() else {
        panic!("one table")
    };
    assert_eq!((thing.name(), thing.backing_service()), ("thing", "db"));
    assert_eq!(thing.query(), "select id, name from thing");
    let [after] = contract.after() else {
        panic!("one condition after the load")
    };
    assert_eq!((after.name(), after.backing_service()), ("none is lost", "db"));
    assert_eq!(after.expected(100, &Statuses).low, 100 + 201 - 408);
    let [during] = contract.during() else {
        panic!("one condition during the load")
    };
    assert_eq!(
        (during.name(), during.backing_service()),
        ("few connections", "db")
    );
    assert_eq!(
        during.connections(),
        &UpperLimit::Variable("DATABASE_POOL".to_owned())
    );
    assert_eq!(contract.environment()["SECRET"], "s");
    for (key, expected) in [
        ("work_mem", "6 \"4MB\": too little"),
        ("use", "4 \"postgresql\": too little"),
        ("seed", "5 \"schema.sql\": too little"),
        ("none", "3 [backing_service.db]: too little"),
    ] {
        let error = contract.backing_service_error("db", key, "too little");
        assert_eq!(told(&error, WITH_BACKING), expected, "{key}");
    }
}

#[test]
fn a_case_may_restart_a_backing_service() {
    let right = format!(
        "{WITH_BACKING}\n[[case]]\nname = \"away\"\nrestart = {{ service = \"db\", down = \"2s\" }}\ncall = {{ operation = \"get\" }}\n"
    );
    let contract = load_with_schema(&right).expect("a case");
    let cases = contract.cases(Protocol::Http1, 1);
    let away = cases.iter().find(|case| case.name == "away").expect("the case");
    let restart = away.restart.as_ref().expect("a restart");
    assert_eq!(restart.backing_service, "db");
    assert_eq!((restart.away.as_secs(), restart.recovers.as_secs()), (2, 5));
    assert!(away.alone, "it disturbs the others");
    let table = [
        (
            "service = \"db\"",
            "service = \"dbx\"",
            "34 \"dbx\": there is no backing service `dbx` (did you mean `db`?)",
        ),
        (
            "service = \"db\", ",
            "",
            "34 { down = \"2s\" }: `restart` has no `service` (add `service`: its name in this contract)",
        ),
        (
            "{ service = \"db\", down = \"2s\" }",
            "\"db\"",
            "34 \"db\": `restart` is the text \"db\": give a table with `service`",
        ),
        (
            "down = \"2s\"",
            "down = \"31s\"",
            "34 \"31s\": `down` is 31s: give at most 30s",
        ),
        (
            "down = \"2s\"",
            "away = \"1s\"",
            "34 away: unknown key `away` (known are down, recover_within, reply_within, service, statuses)",
        ),
        (
            "restart =",
            "deliver = \"many_connections\"\nrestart =",
            "35 { service = \"db\", down = \"2s\" }: with `restart`, each call has a connection of its own (remove `deliver`)",
        ),
        (
            "call = { operation = \"get\" }",
            "call = { operation = \"get\", retry_for = \"1s\" }",
            "33 \"away\": case \"away\": calls of a case with `restart` are repeated, each on its own (remove `capture`, `retry_for` and `backing_service`)",
        ),
        (
            "call = { operation = \"get\" }",
            "call = { operation = \"get\", capture = { id = { json = \"/id\" } } }",
            "33 \"away\": case \"away\": calls of a case with `restart` are repeated, each on its own (remove `capture`, `retry_for` and `backing_service`)",
        ),
    ];
    refused(&right, &table, |contract| load_with_schema(contract).map(drop));
}

#[test]
fn placeholders_of_one_request_are_of_one_row() {
    let things = RowTable {
        columns: vec!["id".into(), "name".into()],
        rows: (1..=50)
            .map(|id| vec![json!(id), json!(format!("n{id}"))])
            .collect(),
    };
    let give = |table: RowTable| {
        let contract = load_with_schema(WITH_BACKING).unwrap_or_else(|error| panic!("{error}"));
        let tables = BTreeMap::from([("thing".to_owned(), table)]);
        contract.give_rows(tables)
    };
    let contract = give(things.clone()).expect("rows");
    let cases = contract.cases(Protocol::Http1, 3);
    let mut seen = BTreeSet::new();
    let common = ["keep-alive", "many connections"];
    let drawn = cases.iter().filter(|case| common.contains(&case.name.as_str()));
    for exchange in drawn.flat_map(|case| &case.exchanges) {
        let mut parts = exchange.label.split('/').skip(2);
        if let (Some(id), Some(name), None) = (parts.next(), parts.next(), parts.next()) {
            assert_eq!(format!("n{id}"), name, "{}", exchange.label);
            seen.insert(id.to_owned());
        }
    }
    assert!(seen.len() > 10, "{seen:?}");
    let workload = contract.workload("get", Protocol::Http1).expect("a workload");
    assert_eq!(workload.parameters.len(), 2, "{:?}", workload.parameters);
    assert!(
        workload.parameters.iter().all(|parameter| matches!(
            &parameter.source,
            Source::Column { values, pick: Pick::Each } if values.len() == 50
        )),
        "{:?}",
        workload.parameters
    );
    for (table, expected) in [
        (
            RowTable {
                rows: Vec::new(),
                ..things.clone()
            },
            "8 [rows.thing]: `rows.thing`: the query returned no row",
        ),
        (
            RowTable {
                columns: vec!["id".into(), "title".into()],
                ..things.clone()
            },
            "13 \"{thing.name}\": `rows.thing` has no column `name` (known are id, title)",
        ),
        (
            RowTable {
                columns: vec!["key".into(), "name".into()],
                ..things.clone()
            },
            "12 thing.id: `rows.thing` has no column `id` (known are key, name)",
        ),
        (
            RowTable {
                columns: vec!["id".into()],
                ..things
            },
            "8 [rows.thing]: `rows.thing`: a row has more or fewer values than there are columns",
        ),
    ] {
        let error = give(table).expect_err(expected);
        assert_eq!(told(&error, WITH_BACKING), expected);
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of faults")]
fn what_stands_beside_a_service_is_told_with_its_line() {
    let table = [
        (
            "use = \"postgresql\"\n",
            "",
            "3 [backing_service.db]: `backing_service.db` has no `use` (add `use`: the name of its folder in `backing-services/`, such as `postgresql`)",
        ),
        (
            "use = \"postgresql\"",
            "use = 15",
            "4 15: `use` is the number 15: write \"15\"",
        ),
        (
            "settings = { work_mem = \"4MB\" }",
            "work_mem = \"4MB\"",
            "6 work_mem: unknown key `work_mem` (known are seed, settings, use)",
        ),
        (
            "\"schema.sql\"",
            "\"none.sql\"",
            "5 \"none.sql\": `seed` has \"none.sql\" (give a file of the contract's folder)",
        ),
        (
            "\"schema.sql\"",
            "\"../schema.sql\"",
            "5 \"../schema.sql\": `seed` has \"../schema.sql\" (give a file of the contract's folder)",
        ),
        (
            "[\"schema.sql\"]",
            "\"schema.sql\"",
            "5 \"schema.sql\": `seed` is the text \"schema.sql\": write [\"schema.sql\"]",
        ),
        (
            "[backing_service.db]",
            "[backing_service.DB]",
            "3 [backing_service.DB]: `DB` is not a name: use lower-case letters, digits and `_`",
        ),
        (
            "[rows.thing]",
            "[rows.thing]\nbacking_service = \"cache\"",
            "9 \"cache\": there is no backing service `cache` (known are db)",
        ),
        (
            "query = \"select id, name from thing\"",
            "query = \" \"",
            "8 [rows.thing]: `query` is empty",
        ),
        (
            "query = \"select id, name from thing\"",
            "sql = \"x\"",
            "8 [rows.thing]: `rows.thing` has no `query` (add `query`: the query)\n9 sql: unknown key `sql` (known are backing_service, query)",
        ),
        (
            "[rows.thing]",
            "[backing_service.cache]\nuse = \"redis\"\n[rows.thing]",
            "10 [rows.thing]: `rows.thing` does not say which backing service to query (add `backing_service = …`: known are cache, db)",
        ),
        (
            "get.201",
            "put.201",
            "19 \"before + put.201 - 2 * get.204\": `equals`: there is no operation `put` (known are get)",
        ),
        (
            "get.201",
            "get",
            "19 \"before + get - 2 * get.204\": `equals`: `get` is not part of a sum (write a sum of `before`, whole numbers and `OPERATION.STATUS`, like `before + createOrder.201 - deleteOrder.204`)",
        ),
        (
            "{thing.name}",
            "{item.name}",
            "13 \"{item.name}\": `{item.name}` has no value (there is no `[rows.item]`: known are thing)",
        ),
        (
            "{thing.id}/",
            "{item.id}/",
            "12 {item.id}: `{item.id}` has no value (there is no `[rows.item]`: known are thing)",
        ),
        (
            "SECRET = \"s\"",
            "SECRET = { file = \"none.pem\" }",
            "22 { file = \"none.pem\" }: `env.SECRET` is \"none.pem\": there is no such file",
        ),
        (
            "max_connections = \"DATABASE_POOL\"",
            "max_connections = 0",
            "26 0: `max_connections` is 0: give at least 1",
        ),
        (
            "max_connections = \"DATABASE_POOL\"",
            "max_connections = true",
            "26 true: `max_connections` is true: give a number, or a variable of the backing service, such as \"DATABASE_POOL\"",
        ),
        (
            "max_connections = \"DATABASE_POOL\"",
            "connections = 8",
            "26 connections: unknown key `connections` (known are backing_service, equals, max_connections, name, query)",
        ),
        (
            "max_connections = \"DATABASE_POOL\"\n",
            "",
            "24 [[invariant]]: invariant \"few connections\" is incomplete (give `query` and `equals`, for after the load, or `max_connections`, for during the load)",
        ),
        (
            "equals =",
            "max_connections = 4\nequals =",
            "16 [[invariant]]: invariant \"none is lost\" is incomplete (give `query` and `equals`, for after the load, or `max_connections`, for during the load)",
        ),
    ];
    refused(WITH_BACKING, &table, |contract| {
        load_with_schema(contract).map(drop)
    });
    let none = replaced(
        WITH_BACKING,
        "[backing_service.db]\nuse = \"postgresql\"\nseed = [\"schema.sql\"]\nsettings = { work_mem = \"4MB\" }\n",
        "",
    );
    let error = load_with_schema(&none).expect_err("no backing service");
    let expected = "4 [rows.thing]: `rows.thing` queries a backing service, and the contract has none (add `[backing_service.NAME]`)";
    assert_eq!(told(&error, &none), expected);
}
