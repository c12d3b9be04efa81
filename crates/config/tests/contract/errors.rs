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
    all_refused(&[("json =", "json_rules = \"id=1\", json =", "")]);
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
        ("title =", "titel =", ""),
        ("summary = \"Gets.\"\nhttp", "sumary = \"Gets.\"\nhttp", ""),
        ("status = 200", "statuts = 200", ""),
        ("status = 200", "schema = 200", ""),
        ("with = { id = 4 } }", "wiht = { id = 4 } }", ""),
        ("kind = \"closed\"", "kind = \"shut\"", ""),
        ("call =", "steps =", ""),
        ("[value.one]", "[data.one]", ""),
        ("status = 200", "body = \"x\", vus = 4, status = 200", ""),
    ]);
}

#[test]
fn wrong_types() {
    all_refused(&[
        ("status = 200", "status = \"201\"", ""),
        ("status = 200", "status = 2000", ""),
        ("status = 200", "status = []", ""),
        ("status = 200", "status = 200, within = 2", ""),
        ("\"GET /get/{id}\"", "7", ""),
        ("random = [1, 9]", "random = [1]", ""),
        ("random = [1, 9]", "random = 9", ""),
        ("format = 1", "format = 2", ""),
        ("format = 1", "format = \"1\"", ""),
    ]);
}

#[test]
fn all_errors_are_told_together() {
    let wrong = replaced(RIGHT, "status = 200", "statuts = 200");
    all_refused_in(&wrong, &[("title = \"Toy\"", "titel = 1", "")]);
    let wrong = replaced(RIGHT, "/get/{id}", "/get/{di}");
    all_refused_in(&wrong, &[("with = { id = 4 }", "with = { id = 4, more = 5 }", "")]);
}

fn all_refused_in(contract: &str, table: &[(&str, &str, &str)]) {
    refused(contract, table, |contract| load(contract).map(drop));
}

#[test]
fn no_expectation() {
    all_refused(&[
        ("expect = { status = 200, json = { id = \"{id:text}\" } }\n", "", ""),
        ("call = { operation = \"get\", with = { id = 4 } }", "call = { http = \"GET /x\" }", ""),
        ("with = { id = 4 } }", "expect = {} }", ""),
        ("call = { operation = \"get\", with = { id = 4 } }", "", ""),
        ("call = { operation = \"get\", with = { id = 4 } }", "call = []", ""),
        ("call = { operation = \"get\", with = { id = 4 } }", "call = { expect = { status = 200 } }", ""),
    ]);
}

#[test]
fn patterns_that_do_not_compile() {
    all_refused(&[
        ("status = 200,", "status = 200, matches = \"a(\",", ""),
        ("status = 200,", "status = 200, headers = { x = { matches = \"[\" } },", ""),
    ]);
}

#[test]
fn schemas_that_do_not_resolve() {
    all_refused(&[
        ("toy.proto", "other.proto", ""),
        ("toy.Toy/get", "toy.Toy/put", ""),
        ("message = { id", "message = { di", ""),
        ("proto = \"toy.proto\"\n", "", ""),
    ]);
    let broken = "syntax = \"proto3\";\nmessage Id { strin id = 1; }\n";
    let broken = load_beside(RIGHT, &[("toy.proto", broken)]).expect_err("broken");
    let broken = told(&broken, RIGHT);
    assert!(broken.starts_with("4 \"toy.proto\": `proto` is toy.proto: "), "{broken}");
    assert!(broken.contains("strin"), "{broken}");
}

#[test]
fn values() {
    all_refused(&[
        ("with = { id = 4 }", "with = { id = 4, more = 5 }", ""),
        ("mix = [{ operation = \"get\" }]", "mix = [{ operation = \"get\", with = { more = 5 } }]", ""),
        ("random = [1, 9]", "random = [9, 1]", ""),
        ("random = [1, 9]", "random_hex = 0", ""),
        ("random = [1, 9]", "hex = 8", ""),
        ("random = [1, 9]", "dice = 6", ""),
        ("random = [1, 9]", "random = [1, 9], counter = 1", ""),
        ("random = [1, 9]", "random = [1, 10]", ""),
        ("{ random = [1, 9] }", "[]", ""),
        ("{ random = [1, 9] }", "\"a{one}\"", ""),
        ("{ random = [1, 9] }", "\"{= 1}\"", ""),
        ("{ random = [1, 9] }", "\"{two}\"", ""),
        ("json = { id = \"{id:text}\" }", "json = \"{two}\"", ""),
    ]);
}

#[test]
fn requests() {
    all_refused(&[
        ("GET /get", "GET get", ""),
        ("GET /get", "/get", ""),
        ("GET /get", "get /get", ""),
        ("GET /get", "GET http://localhost/get", ""),
        ("/get/{id}", "/get/ {id}", ""),
        ("/get/{id}", "/get/ü/{id}", ""),
    ]);
}

#[test]
fn names() {
    all_refused(&[
        ("name = \"toy\"", "name = \"game\"", ""),
        ("call = { operation = \"get\"", "call = { operation = \"put\"", ""),
        ("mix = [{ operation = \"get\" }]", "mix = [{ operation = \"put\" }]", ""),
        ("title = \"Toy\"", "skip_common_cases = [\"heads\"]", ""),
        ("title = \"Toy\"", "skip_common_cases = [\"slow network\"]", ""),
        ("mix = [{ operation = \"get\" }]", "", ""),
        ("mix = [{ operation = \"get\" }]", "mix = [{ operation = \"get\", weight = 0 }]", ""),
        ("mix = [{ operation = \"get\" }]", "mix = [{ operation = \"get\" }]\nsequence = [{ operation = \"get\" }]", ""),
        ("connections = 1", "connections = 0", ""),
        ("[workload.get]\nsummary = \"Gets.\"\nmix = [{ operation = \"get\" }]\nload = { kind = \"closed\", connections = 1 }\n", "", ""),
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
    let message = load(&replaced(RIGHT, "status = 200", "status = 200, typ = 1"))
        .expect_err("wrong")
        .to_string();
    let (first, rest) = message.split_once('\n').expect("lines");
    let (position, rest) = rest.split_once('\n').expect("lines");
    assert_eq!(first, "unknown key `typ`");
    assert!(position.ends_with("toy/contract.toml:15:26"), "{position}");
    assert_eq!(
        rest,
        "   15 | expect = { status = 200, typ = 1, json = { id = \"{id:text}\" } }\n      |                          ^^^ "
    );
}

#[test]
fn a_json_schema_is_read_from_a_file_or_from_the_place() {
    let contract_with = |schema: &str| {
        let contract = RIGHT
            .replace("proto = \"toy.proto\"\n", "")
            .replace("grpc = \"toy.Toy/get\"\nmessage = { id = \"{id}\" }\n", "");
        replaced(&contract, "json = { id = \"{id:text}\" }", &format!("json_schema = {schema}"))
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
        ("\"schemas.json\"", "{\n  \"a\":\n}", "schemas.json:3: not JSON"),
        ("\"none.json\"", "", "none.json: No such file"),
        ("7", "", "give a file of this folder"),
    ] {
        let error = with(schema, file).expect_err(schema);
        let message = told(&error, &contract_with(schema));
        assert!(message.starts_with(&format!("12 {schema}: `json_schema`: ")), "{message}");
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
        ("service = \"db\"", "service = \"dbx\"", ""),
        ("service = \"db\", ", "", ""),
        ("{ service = \"db\", down = \"2s\" }", "\"db\"", ""),
        ("down = \"2s\"", "down = \"31s\"", ""),
        ("down = \"2s\"", "away = \"1s\"", ""),
        ("restart =", "deliver = \"many_connections\"\nrestart =", ""),
        ("call = { operation = \"get\" }", "call = { operation = \"get\", retry_for = \"1s\" }", ""),
        ("call = { operation = \"get\" }", "call = { operation = \"get\", capture = { id = { json = \"/id\" } } }", ""),
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
            "",
        ),
        (
            RowTable {
                columns: vec!["id".into(), "title".into()],
                ..things.clone()
            },
            "",
        ),
        (
            RowTable {
                columns: vec!["key".into(), "name".into()],
                ..things.clone()
            },
            "",
        ),
        (
            RowTable {
                columns: vec!["id".into()],
                ..things
            },
            "",
        ),
    ] {
        let error = give(table).expect_err(expected);
        assert_eq!(told(&error, WITH_BACKING), expected);
    }
}

#[test]
fn what_stands_beside_a_service_is_told_with_its_line() {
    let table = [
        ("use = \"postgresql\"\n", "", ""),
        ("use = \"postgresql\"", "use = 15", ""),
        ("settings = { work_mem = \"4MB\" }", "work_mem = \"4MB\"", ""),
        ("\"schema.sql\"", "\"none.sql\"", ""),
        ("\"schema.sql\"", "\"../schema.sql\"", ""),
        ("[\"schema.sql\"]", "\"schema.sql\"", ""),
        ("[backing_service.db]", "[backing_service.DB]", ""),
        ("[rows.thing]", "[rows.thing]\nbacking_service = \"cache\"", ""),
        ("query = \"select id, name from thing\"", "query = \" \"", ""),
        ("query = \"select id, name from thing\"", "sql = \"x\"", ""),
        ("[rows.thing]", "[backing_service.cache]\nuse = \"redis\"\n[rows.thing]", ""),
        ("get.201", "put.201", ""),
        ("get.201", "get", ""),
        ("{thing.name}", "{item.name}", ""),
        ("{thing.id}/", "{item.id}/", ""),
        ("SECRET = \"s\"", "SECRET = { file = \"none.pem\" }", ""),
        ("max_connections = \"DATABASE_POOL\"", "max_connections = 0", ""),
        ("max_connections = \"DATABASE_POOL\"", "max_connections = true", ""),
        ("max_connections = \"DATABASE_POOL\"", "connections = 8", ""),
        ("max_connections = \"DATABASE_POOL\"\n", "", ""),
        ("equals =", "max_connections = 4\nequals =", ""),
    ];
    refused(WITH_BACKING, &table, |contract| load_with_schema(contract).map(drop));
    let none = replaced(
        WITH_BACKING,
        "[backing_service.db]\nuse = \"postgresql\"\nseed = [\"schema.sql\"]\nsettings = { work_mem = \"4MB\" }\n",
        "",
    );
    let error = load_with_schema(&none).expect_err("no backing service");
    assert_eq!(told(&error, &none), "");
}
