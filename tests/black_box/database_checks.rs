//! Conditions in the database after and during a load: valid and faulty services with a real database.

use crate::common::{Checkout, CommandOutput};
use crate::shopfront;
use serde_json::Value;

const SCHEMA: &str = "create table item(id bigint generated always as identity primary key, name text not null);\n\
                      insert into item(name) select 'old' from generate_series(1, 1000);\n";

const CONTRACT: &str = r#"name = "shop"
title = "Shop"
summary = "Names of items in a database."
without = ["unknown path", "wrong method", "percent-encoded path", "query string", "HEAD", "100 headers", "chunked body"]

[backing.db]
use = "postgresql"
seed = ["schema.sql"]

[operation.add]
summary = "Stores an item."
http = "POST /item"
text = "{name}"
with = { name = { hex = 8 } }
expect = { status = 201, text = "{name}" }

[operation.addTwice]
summary = "Is rejected."
http = "POST /twice"
text = "{name}"
with = { name = { hex = 8 } }
expect = { status = 409 }

[[after]]
name = "items: none is lost or duplicated"
query = "select count(*) from item"
equals = "before + add.201"

[[after]]
name = "the old ones are unchanged"
query = "select count(*) from item where name = 'old'"
equals = "1000"

[[during]]
name = "no more connections than allowed"
connections = 6

[workload.add]
summary = "Items are added."
mix = [{ operation = "add", weight = 3 }, { operation = "addTwice" }, { operation = "add", with = { name = { hex = 9 } } }]
load = { kind = "closed", connections = 2 }

[workload.steps]
summary = "Items are added one after the other."
sequence = [{ operation = "add", times = 2 }, { operation = "addTwice" }]
load = { kind = "closed", connections = 1 }
"#;

const HANDLER: &str = r#"
def hold():
    held = []
    while True:
        held = [one for one in held if one.poll() is None]
        if len(held) < 8:
            quiet = subprocess.DEVNULL
            held.append(subprocess.Popen(query("select pg_sleep(60)"), stdout=quiet, stderr=quiet))
        time.sleep(0.02)


class Handler(Shop):
    def do_POST(self):
        name = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/twice":
            return self.answer(409, b"")
        special = name[:1] in (b"0", b"1", b"2", b"3")
        if not (special and MODE == "forgets"):
            text = f"insert into item(name) values ('{name.decode()}')"
            if subprocess.run(query(text), capture_output=True).returncode != 0:
                return self.answer(500, b"")
        if special and MODE == "hangs":
            time.sleep(2)
        self.answer(201, name)


if MODE == "holds":
    threading.Thread(target=hold, daemon=True).start()
"#;

const SUITE: &str = r#"title = "Shops"
rounds = 1
warm_up = "300ms"
duration = "2s"

[[group]]
contract = "shop"
services = ["shop-*"]
"#;

/// A project with database services, one per behaviour; `None`, with a message, without a database.
fn shops(ways: &[&str], suite: &str) -> Option<Checkout> {
    let contract = [("contract.toml", CONTRACT), ("schema.sql", SCHEMA)];
    let checkout = shopfront::project(&contract, suite)?;
    for way in ways {
        shopfront::add(&checkout, &format!("shop-{way}"), way, HANDLER);
    }
    Some(checkout)
}

fn run(checkout: &Checkout) -> Value {
    let ended = checkout.prony(&["run", "shop", "--json", "--keep-disturbed"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.json()
}

fn row<'a>(report: &'a Value, group: usize, way: &str) -> &'a Value {
    let name = format!("shop-{way}");
    let rows = report["groups"][group]["services"].as_array();
    rows.and_then(|rows| rows.iter().find(|row| row["service"] == name.as_str()))
        .unwrap_or_else(|| panic!("no {way}: {report}"))
}

/// The results of the conditions after the load of a valid service.
fn looked(row: &Value) -> Vec<(i64, i64, i64, i64, u64)> {
    let after = row["details"]["points"][0]["after"].as_array();
    let after = after.unwrap_or_else(|| panic!("no conditions after the load: {row}"));
    let number = |one: &Value, key: &str| one[key].as_i64().unwrap_or_else(|| panic!("no {key}: {one}"));
    let one = |one: &Value| {
        let uncertain = one["uncertain"].as_u64().expect("a count");
        let numbers = ["before", "low", "high", "found"].map(|key| number(one, key));
        (numbers[0], numbers[1], numbers[2], numbers[3], uncertain)
    };
    after.iter().map(one).collect()
}

fn is_right(row: &Value) {
    assert!(row["excluded"].is_null(), "{row}");
    let looked = looked(row);
    let (before, low, high, found, uncertain) = looked[0];
    // The readiness probe may store an item before the load.
    assert!(before >= 1000, "{row}");
    assert_eq!((low, uncertain), (high, 0), "{row}");
    let measured = row["details"]["outcomes"]["valid"].as_i64().expect("a count");
    assert!(found == low && found > before, "{looked:?}");
    // Most requests are of the operation, and the warm-up sent more.
    assert!(found - before >= measured / 3, "{looked:?} of {measured}");
    assert_eq!(looked[1], (1000, 1000, 1000, 1000, 0));
}

fn reason(row: &Value) -> &str {
    row["excluded"]["reason"]
        .as_str()
        .unwrap_or_else(|| panic!("it is not excluded: {row}"))
}

fn forgets(row: &Value) {
    let reason = reason(row);
    for part in [
        "after the load it breaks its contract: `items: none is lost or duplicated`: ",
        " in backing service `db`, where it must be `before + add.201`: 10",
    ] {
        assert!(reason.contains(part), "{reason}");
    }
    assert_eq!(row["excluded"]["stage"], "recheck", "{row}");
}

#[test]
fn a_service_that_forgets_or_holds_too_many_connections_is_excluded() {
    let Some(checkout) = shops(&["right", "forgets", "holds"], SUITE) else {
        return;
    };
    let report = run(&checkout);
    is_right(row(&report, 0, "right"));
    forgets(row(&report, 0, "forgets"));
    let holds = row(&report, 0, "holds");
    let reason = reason(holds);
    assert!(
        reason.contains("under the load it breaks its contract: `no more connections than allowed`: ")
            && reason.contains(
                " connections to backing service `db` (PostgreSQL) at one time, where 6 are allowed"
            ),
        "{reason}"
    );
}

#[test]
fn what_nobody_knows_widens_what_is_right_and_is_told() {
    let suite = SUITE.replace("duration = \"2s\"", "duration = \"4s\"\ntimeout = \"1s\"");
    let Some(checkout) = shops(&["hangs"], &suite) else {
        return;
    };
    let report = run(&checkout);
    let row = row(&report, 0, "hangs");
    let (before, low, high, found, uncertain) = looked(row)[0];
    assert!(uncertain > 0 && high - low == uncertain as i64, "{row}");
    assert!(
        low > before && low < found && found <= high,
        "it stores items without replying: {row}"
    );
}

#[test]
fn each_load_of_a_shared_start_is_looked_behind() {
    let suite = SUITE.replace("rounds = 1", "rounds = 1\nstarts = \"shared\"")
        + "\n[[group]]\ncontract = \"shop\"\nworkload = \"steps\"\nservices = [\"shop-*\"]\n";
    let Some(checkout) = shops(&["right"], &suite) else {
        return;
    };
    let report = run(&checkout);
    for group in [0, 1] {
        is_right(row(&report, group, "right"));
    }
}

#[test]
fn the_windows_of_turns_are_counted_together() {
    let suite = SUITE.replace(
        "rounds = 1",
        "rounds = 1\ndesign = \"turns\"\nturns = { window = \"1s\", cycles = 3 }",
    );
    let Some(checkout) = shops(&["right", "forgets"], &suite) else {
        return;
    };
    let report = run(&checkout);
    is_right(row(&report, 0, "right"));
    forgets(row(&report, 0, "forgets"));
}

#[test]
fn a_duet_looks_behind_both() {
    let Some(checkout) = shops(&["right", "forgets"], SUITE) else {
        return;
    };
    let duet = |other: &str| -> CommandOutput {
        let options = ["--rounds=2", "-d3s", "--warmup=200ms", "-c2"];
        checkout.prony(&[&["duet", "shop-right", other][..], &options].concat())
    };
    let ended = duet("shop-right");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let ended = duet("shop-forgets");
    assert_ne!(ended.code, Some(0), "{ended:?}");
    let said = ended.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("shop-forgets/current: after the load it breaks its contract"),
        "{said}"
    );
}
