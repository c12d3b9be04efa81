//! Mistakes of an author are reported with file, line and key.

use super::common;
use prony_config::contract::{Contract, ReplyCounter, RowTable, UpperLimit};
use prony_load::{Pick, Protocol, Source};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A valid contract; line 1 is `name`.
const RIGHT: &str = r#"name = "toy"
title = "Toy"
summary = "A toy."
proto = "toy.proto"

[data.one]
id = "1"

[operation.get]
summary = "Gets."
http = "GET /get/{id}"
grpc = "toy.Toy/get"
message = { id = "{id}" }
with = { id = { random = [1, 9] } }
expect = { status = 200, type = "application/json", json = { id = "{id}" } }

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

fn load(contract: &str, proto: &str) -> Result<Contract, String> {
    common::load_beside(contract, &[("toy.proto", proto)])
}

/// The valid contract with one replacement must be rejected at this line, with these words.
fn refused(old: &str, new: &str, line: usize, words: &[&str]) {
    assert!(RIGHT.contains(old), "nothing to replace: {old}");
    let message = load(&RIGHT.replacen(old, new, 1), PROTO).expect_err(new);
    assert!(
        message.contains(&format!("contract.toml:{line}: ")),
        "{new}: not line {line}: {message}"
    );
    for word in words {
        assert!(message.contains(word), "{new}: `{word}` is missing: {message}");
    }
}

#[test]
fn rules_for_values_of_json_are_read_and_judged() {
    let written = r#"type = "application/json", json_rules = ["/id={id}", "!/error"], json"#;
    let contract = load(
        &RIGHT.replacen(r#"type = "application/json", json"#, written, 1),
        PROTO,
    )
    .expect("right");
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
    let wrong = r#"type = "application/json", json_rules = "id=1", json"#;
    refused(
        r#"type = "application/json", json"#,
        wrong,
        15,
        &["`expect.json_rules`: id=1", "JSON pointer"],
    );
}

#[test]
fn the_right_one_loads() {
    let contract = load(RIGHT, PROTO).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(contract.operations()[0].name, "get");
}

#[test]
fn unknown_keys() {
    refused("title =", "titel =", 2, &["unknown field `titel`", "`title`"]);
    refused(
        "summary = \"Gets.\"\nhttp",
        "sumary = \"Gets.\"\nhttp",
        10,
        &["unknown field `sumary`"],
    );
    refused(
        "status = 200",
        "statuts = 200",
        15,
        &["unknown field `statuts`", "`status`"],
    );
    refused(
        "with = { id = 4 } }",
        "wiht = { id = 4 } }",
        19,
        &["unknown field `wiht`"],
    );
    refused(
        "kind = \"closed\"",
        "kind = \"shut\"",
        24,
        &["unknown variant `shut`", "`closed`"],
    );
}

#[test]
fn no_expectation() {
    refused(
        "expect = { status = 200, type = \"application/json\", json = { id = \"{id}\" } }\n",
        "",
        9,
        &["no expectation", "`expect`"],
    );
    refused(
        "call = { operation = \"get\", with = { id = 4 } }",
        "call = { http = \"GET /x\" }",
        19,
        &["no expectation"],
    );
    refused("with = { id = 4 } }", "expect = {} }", 19, &["`expect` is empty"]);
    refused(
        "call = { operation = \"get\", with = { id = 4 } }",
        "",
        17,
        &["give either `call` or `calls`"],
    );
}

#[test]
fn patterns_that_do_not_compile() {
    refused(
        "status = 200,",
        "status = 200, matches = \"a(\",",
        15,
        &["`expect.matches`", "`a(`", "unclosed group"],
    );
    refused(
        "status = 200,",
        "status = 200, headers = { x = \"[\" },",
        15,
        &["`expect.headers.x`", "`^(?:[)$`"],
    );
}

#[test]
fn schemas_that_do_not_resolve() {
    refused(
        "toy.proto",
        "other.proto",
        4,
        &["`proto`", "other.proto does not resolve"],
    );
    refused(
        "toy.Toy/get",
        "toy.Toy/put",
        12,
        &["no method `toy.Toy/put`", "toy.Toy/get"],
    );
    refused(
        "message = { id",
        "message = { di",
        13,
        &["not a message `toy.Id`", "di"],
    );
    let broken = load(RIGHT, "syntax = \"proto3\";\nmessage Id { strin id = 1; }\n").expect_err("broken");
    assert!(broken.contains("contract.toml:4: `proto`"), "{broken}");
    assert!(broken.contains("strin"), "{broken}");
}

#[test]
fn places_and_values() {
    refused(
        "/get/{id}",
        "/get/{di}",
        11,
        &["`{di}` has no value", "known are id"],
    );
    refused(
        "with = { id = 4 }",
        "with = { id = 4, more = 5 }",
        19,
        &["`with.more`", "no text has the placeholder `{more}`"],
    );
    refused(
        "random = [1, 9]",
        "random = [9, 1]",
        14,
        &["[9, 1]", "the first number must not be the larger one"],
    );
    refused("random = [1, 9]", "hex = 0", 14, &["give 1 to 64 digits"]);
    refused(
        "random = [1, 9]",
        "dice = 6",
        14,
        &["unknown variant `dice`", "`range`"],
    );
    refused(
        "random = [1, 9]",
        "random = [1, 10]",
        13,
        &["`id` has values of different lengths"],
    );
    refused(
        "json = { id = \"{id}\" }",
        "json = \"$two\"",
        15,
        &["`$two` is not in `[data]`", "known are one"],
    );
    refused("GET /get", "GET get", 11, &["give method and path"]);
    refused("/get/{id}", "/get/ {id}", 11, &["percent-encode it"]);
}

#[test]
fn names() {
    refused(
        "name = \"toy\"",
        "name = \"game\"",
        1,
        &["`name` is `game`", "the name of the folder"],
    );
    refused(
        "call = { operation = \"get\"",
        "call = { operation = \"put\"",
        19,
        &["`operation` is `put`", "known are get"],
    );
    refused(
        "mix = [{ operation = \"get\" }]",
        "mix = [{ operation = \"put\" }]",
        23,
        &["`operation` is `put`"],
    );
    refused(
        "title = \"Toy\"",
        "title = \"Toy\"\nwithout = [\"heads\"]",
        3,
        &["`without` names `heads`", "HEAD"],
    );
    refused(
        "mix = [{ operation = \"get\" }]",
        "",
        21,
        &["no operation", "`mix` or `sequence`"],
    );
    refused("connections = 1", "connections = 0", 24, &["`connections` is 0"]);
    let contract = load(RIGHT, PROTO).expect("right");
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

#[test]
fn a_json_schema_is_read_from_a_file_or_from_the_place() {
    let with = |schema: &str, file: &str| {
        let contract = RIGHT
            .replace("proto = \"toy.proto\"\n", "")
            .replace("grpc = \"toy.Toy/get\"\nmessage = { id = \"{id}\" }\n", "")
            .replace(
                "json = { id = \"{id}\" } }",
                &format!("json_schema = {schema} }}"),
            );
        common::load_beside(&contract, &[("schemas.json", file)])
    };
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
        let message = with(schema, file).expect_err(schema);
        assert!(
            message.contains("contract.toml:12: `expect.json_schema`"),
            "{message}"
        );
        assert!(message.contains(expected), "{expected}: {message}");
    }
}

/// A contract with a backing service, rows and conditions.
const WITH_BACKING: &str = r#"name = "toy"
title = "Toy"
summary = "A toy."

[backing.db]
use = "postgresql"
seed = ["schema.sql"]
work_mem = "4MB"

[rows.thing]
query = "select id, name from thing"

[operation.get]
summary = "Gets."
http = "GET /get/{id}/{name}"
with = { id = { row = "thing", column = "id" }, name = { row = "thing", column = "name" } }
expect = { status = 200, type = "text/plain", text = "{id} {name}" }

[[after]]
name = "none is lost"
query = "select count(*) from thing"
equals = "before + get.201 - 2 * get.204"

[environment]
SECRET = "s"

[[during]]
name = "few connections"
connections = "DATABASE_POOL"

[workload.get]
summary = "Gets."
mix = [{ operation = "get" }]
load = { kind = "closed", connections = 1 }
"#;

fn load_with_schema(contract: &str) -> Result<Contract, String> {
    common::load_beside(
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
    let error = contract
        .backing_service_error("db", "work_mem", "too little")
        .to_string();
    assert!(
        error.contains("contract.toml:8: `backing.db.work_mem`: too little"),
        "{error}"
    );
}

#[test]
fn a_case_may_restart_a_backing_service() {
    let with = |case: &str| load_with_schema(&format!("{WITH_BACKING}\n[[case]]\nname = \"away\"\n{case}\n"));
    let call = "call = { operation = \"get\" }";
    let contract = with(&format!("restart = \"db\"\naway = \"2s\"\n{call}")).expect("a case");
    let cases = contract.cases(Protocol::Http1, 1);
    let away = cases.iter().find(|case| case.name == "away").expect("the case");
    let restart = away.restart.as_ref().expect("a restart");
    assert_eq!(restart.backing_service, "db");
    assert_eq!((restart.away.as_secs(), restart.recovers.as_secs()), (2, 5));
    assert!(away.alone, "it disturbs the others");
    let line = WITH_BACKING.lines().count() + 4;
    for (case, expected) in [
        (
            format!("restart = \"dbx\"\n{call}"),
            format!(":{line}: case `away`: `restart` is `dbx`: known are db"),
        ),
        (
            format!("away = \"1s\"\n{call}"),
            format!(":{line}: case `away`: `away` and `recovers` need `restart`"),
        ),
        (
            format!("restart = \"db\"\naway = \"31s\"\n{call}"),
            format!(":{line}: case `away`: `away` may be at most 30s"),
        ),
        (
            format!("restart = \"db\"\ndeliver = \"many_connections\"\n{call}"),
            format!(":{line}: case `away`: with `restart`, each call has a connection of its own"),
        ),
        (
            "restart = \"db\"\ncall = { operation = \"get\", until = \"1s\" }".to_owned(),
            format!(
                ":{}: case `away`: calls of a case with `restart` are repeated",
                line - 2
            ),
        ),
    ] {
        let error = with(&case).expect_err("an error");
        assert!(error.contains(&expected), "{expected}\n{error}");
    }
}

#[test]
fn places_of_one_request_stand_in_one_row() {
    let things = RowTable {
        columns: vec!["id".into(), "name".into()],
        rows: (1..=50)
            .map(|id| vec![id.to_string(), format!("n{id}")])
            .collect(),
    };
    let give = |table: RowTable| {
        let contract = load_with_schema(WITH_BACKING).unwrap_or_else(|error| panic!("{error}"));
        let tables = BTreeMap::from([("thing".to_owned(), table)]);
        contract.give_rows(tables).map_err(|error| error.to_string())
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
            "contract.toml:10: `rows.thing`: the query returned no row",
        ),
        (
            RowTable {
                columns: vec!["id".into(), "title".into()],
                ..things
            },
            "contract.toml:16: `with.name`: `rows.thing` has no column `name`: known are id, title",
        ),
    ] {
        let error = give(table).expect_err(expected);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of faults")]
fn what_stands_beside_a_service_is_told_with_its_line() {
    for (old, new, line, expected) in [
        ("use = \"postgresql\"\n", "", 5, "`backing.db`: no `use`"),
        (
            "use = \"postgresql\"",
            "use = 15",
            6,
            "`backing.db.use`: give the name of a backing service",
        ),
        (
            "\"schema.sql\"",
            "\"none.sql\"",
            7,
            "`backing.db.seed`: none.sql: no such file",
        ),
        (
            "\"schema.sql\"",
            "\"../schema.sql\"",
            7,
            "give a file of this folder",
        ),
        ("[\"schema.sql\"]", "\"schema.sql\"", 7, "give a list of files"),
        ("[backing.db]", "[backing.DB]", 5, "lowercase letters, digits"),
        (
            "[rows.thing]",
            "[rows.thing]\ncompanion = \"cache\"",
            11,
            "`backing` is `cache`: known are db",
        ),
        (
            "query = \"select id, name from thing\"",
            "query = \" \"",
            10,
            "`rows.thing`: `query` is empty",
        ),
        (
            "query = \"select id, name from thing\"",
            "sql = \"x\"",
            11,
            "unknown field `sql`",
        ),
        (
            "[rows.thing]",
            "[backing.cache]\nuse = \"redis\"\n[rows.thing]",
            12,
            "no `backing`: name the one to query",
        ),
        (
            "get.201",
            "put.201",
            22,
            "`put` is not an operation: known are get",
        ),
        (
            "get.201",
            "get",
            22,
            "after `none is lost`: `equals`: `get` is not part of a sum",
        ),
        (
            "row = \"thing\", column = \"id\"",
            "row = \"item\", column = \"id\"",
            16,
            "no `[rows.item]`: known are thing",
        ),
        (
            "row = \"thing\", column = \"id\"",
            "row = \"thing\"",
            16,
            "missing field `column`",
        ),
        (
            "row = \"thing\", column = \"id\"",
            "row = \"thing\", colum = \"id\"",
            16,
            "unknown variant `colum`",
        ),
        (
            "SECRET = \"s\"",
            "SECRET = { file = \"none.pem\" }",
            25,
            "`environment.SECRET`: none.pem: No such file",
        ),
        (
            "connections = \"DATABASE_POOL\"",
            "connections = 0",
            29,
            "during `few connections`: `connections` is 0",
        ),
        (
            "connections = \"DATABASE_POOL\"",
            "connections = true",
            29,
            "a number, or a variable that the backing service exports",
        ),
    ] {
        assert!(WITH_BACKING.contains(old), "{old}");
        let error = load_with_schema(&WITH_BACKING.replacen(old, new, 1)).expect_err(new);
        assert!(
            error.contains(&format!("contract.toml:{line}: ")),
            "{new}: not line {line}: {error}"
        );
        assert!(error.contains(expected), "{new}: {error}");
    }
}
