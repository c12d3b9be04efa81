//! Services with a real database and a real cache, which prony creates, starts, kills and removes.

use crate::common::{Checkout, CommandOutput, until};
use crate::shopfront;
use crate::skip::skipped;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SCHEMA: &str = "create table item(id int primary key, name text not null);\n";
pub(crate) const DATA: &str =
    "insert into item\n  select i, md5((i * 7 + :seed)::text)\n  from generate_series(1, 1000) i;\n";

pub(crate) const CONTRACT: &str = r#"name = "shop"
title = "Shop"
summary = "Names of items in a database."
without = ["unknown path", "wrong method", "percent-encoded path", "query string", "HEAD", "100 headers"]

[backing.db]
use = "postgresql"
seed = ["schema.sql", "data.sql"]
SETTINGS

[rows.item]
query = "select id, name from item order by id limit 50"

[operation.item]
summary = "The name of an item."
http = "GET /item/{id}"
with = { id = { row = "item", column = "id" }, name = { row = "item", column = "name" } }
expect = { status = 200, text = "{name}" }

[workload.item]
summary = "Names of items."
mix = [{ operation = "item" }]
load = { kind = "closed", connections = 2 }
"#;

const CACHE: &str = r#"name = "shop"
title = "Shop"
summary = "The answer of a cache."
without = ["unknown path", "wrong method", "percent-encoded path", "query string", "HEAD", "100 headers"]

[backing.cache]
use = "redis"

[operation.item]
summary = "Whether the cache is available."
http = "GET /item/1"
expect = { status = 200, text = "PONG" }

[workload.item]
summary = "Whether the cache is available."
mix = [{ operation = "item" }]
load = { kind = "closed", connections = 2 }
"#;

pub(crate) const HANDLER: &str = r#"
def ask(item):
    if "REDIS_URL" in os.environ:
        return ["redis-cli", "-u", os.environ["REDIS_URL"], "ping"]
    return query(f"select name from item where id = {int(item)}")


class Handler(Shop):
    def do_GET(self):
        told = subprocess.run(ask(self.path.rsplit("/", 1)[1]), capture_output=True)
        self.answer(200 if told.returncode == 0 else 500, told.stdout.strip())
"#;

const SUITE: &str = r#"title = "Shop"
rounds = 1
warm_up = "300ms"
duration = "1s"

[[group]]
contract = "shop"
services = ["shop"]
"#;

const INTERLEAVED: &str = r#"title = "Two shops"
rounds = 1
warm_up = "300ms"
duration = "2s"
design = "turns"
turns = { window = "500ms", cycles = 4 }

[[group]]
contract = "shop"
services = ["shop", "shop-two"]
"#;

/// A project with a service that uses a database; `None`, with a message, without a database.
pub(crate) fn shop(settings: &str, data: &str) -> Option<Checkout> {
    let contract = CONTRACT.replace("SETTINGS", settings);
    let files = [
        ("contract.toml", &*contract),
        ("schema.sql", SCHEMA),
        ("data.sql", data),
    ];
    let checkout = shopfront::project(&files, SUITE)?;
    shopfront::add(&checkout, "shop", "right", HANDLER);
    Some(checkout)
}

/// A project with a service that uses a cache; `None`, with a message, without one.
pub(crate) fn cached() -> Option<Checkout> {
    if Command::new("redis-server").arg("--version").output().is_err() {
        skipped("no Redis: `prony doctor --install` installs it");
        return None;
    }
    let checkout = shop("", DATA)?;
    checkout.write("contracts/shop/contract.toml", CACHE);
    Some(checkout)
}

pub(crate) fn run(checkout: &Checkout) -> CommandOutput {
    checkout.prony(&["run", "shop", "--json", "--keep-disturbed"])
}

fn live(checkout: &Checkout) -> Vec<PathBuf> {
    let entries = fs::read_dir(checkout.path(".prony/backing-services/live"));
    entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect()
}

pub(crate) fn nothing_is_left(checkout: &Checkout) {
    until("nothing is left behind", || checkout.processes().is_empty());
    assert_eq!(live(checkout), [] as [&Path; 0], "copies of the data");
}

/// The process id of the command with this prefix that runs in this checkout.
pub(crate) fn process(checkout: &Checkout, command: &str) -> Option<i32> {
    processes(checkout, command).next()
}

fn processes(checkout: &Checkout, command: &str) -> impl Iterator<Item = i32> {
    let inside = checkout.path(".").canonicalize().expect("the folder");
    let pids = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(move |pid| {
        let cwd = fs::read_link(format!("/proc/{pid}/cwd"));
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        cwd.is_ok_and(|cwd| cwd.starts_with(&inside)) && line.contains(command)
    })
}

/// Whether a process was stopped by a signal (proc(5), state T).
fn is_paused(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
}

fn kill(pid: i32) {
    let status = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
    assert!(status.expect("kill runs").success());
}

#[test]
fn a_service_is_measured_beside_its_database() {
    let Some(checkout) = shop("shared_buffers = \"64MB\"", DATA) else {
        return;
    };
    // A leftover of a killed prony: no process has this number and start time.
    checkout.write(".prony/backing-services/live/4194305-1/data/leftover", "");
    let ended = run(&checkout);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    let row = &report["groups"][0]["services"][0];
    assert_eq!(row["trials"], 1, "{row}");
    let postgresql = &row["details"]["points"][0]["backing_services"][0];
    assert_eq!(
        (&postgresql["name"], &postgresql["title"]),
        (&"db".into(), &"PostgreSQL".into()),
        "{postgresql}"
    );
    assert_eq!(
        postgresql["settings"]["shared_buffers"], "64MB",
        "the contract's own"
    );
    assert_eq!(postgresql["settings"]["synchronous_commit"], "off");
    assert!(postgresql["version"].is_string(), "{postgresql}");
    assert!(
        postgresql["cpu_ns"].as_u64().is_some_and(|used| used > 0),
        "{postgresql}"
    );
    assert!(
        postgresql["memory_bytes_peak"]
            .as_u64()
            .is_some_and(|used| used > 0),
        "{postgresql}"
    );
    nothing_is_left(&checkout);
}

#[test]
fn a_database_that_is_killed_is_no_fault_of_the_service() {
    let Some(checkout) = shop("", DATA) else { return };
    let child = checkout.start(&["run", "shop", "--keep-disturbed"]);
    until("the load has started", || {
        process(&checkout, "load --job").is_some()
    });
    kill(process(&checkout, "bin/postgres -D").expect("the database"));
    let ended = CommandOutput::of(&child.wait_with_output().expect("it ends"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let said = format!("{}{}", ended.out, ended.err);
    let why = "infrastructure failure: backing service `db` (PostgreSQL) was killed by SIGKILL";
    assert!(said.contains(why), "{said}");
    let report = checkout.prony(&["report", "--format", "json"]).json();
    assert_eq!(
        report["groups"][0]["services"][0]["trials"], 1,
        "done again: {report}"
    );
    nothing_is_left(&checkout);
}

/// Otherwise the databases of all paused services take CPU time from the one that is measured.
#[test]
fn the_database_of_a_paused_service_is_paused() {
    let Some(checkout) = shop("", DATA) else { return };
    shopfront::add(&checkout, "shop-two", "right", HANDLER);
    checkout.write("suites/shop.toml", INTERLEAVED);
    let mut child = checkout.start(&["run", "shop", "--keep-disturbed", "--json"]);
    let mut paused = BTreeSet::new();
    until("both databases were paused, or the run has ended", || {
        paused.extend(processes(&checkout, "bin/postgres -D").filter(|&pid| is_paused(pid)));
        paused.len() == 2 || child.try_wait().expect("it runs").is_some()
    });
    assert_eq!(paused.len(), 2, "paused databases: {paused:?}");
    let ended = CommandOutput::of(&child.wait_with_output().expect("it ends"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    for row in report["groups"][0]["services"].as_array().expect("rows") {
        assert_eq!(row["trials"], 1, "measured with its database resumed: {row}");
        assert_eq!(row["error_share"], 0.0, "{row}");
    }
    nothing_is_left(&checkout);
}

/// A start warms up under each of its loads. A reset takes seconds where a database is started again.
#[test]
fn data_is_reset_once_before_the_windows_of_a_start() {
    let Some(checkout) = cached() else { return };
    shopfront::add(&checkout, "shop-two", "right", HANDLER);
    let second = r#"
[[group]]
contract = "shop"
load = { kind = "closed", connections = 3 }
services = ["shop", "shop-two"]
"#;
    let suite = INTERLEAVED.replace("rounds = 1", "rounds = 1\nstarts = \"shared\"");
    checkout.write("suites/shop.toml", &format!("{suite}{second}"));
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../backing-services/redis/backing.toml");
    let own = fs::read_to_string(own).expect("the backing service");
    let resets = checkout.path("resets");
    fs::write(&resets, "").expect("a file");
    // Redis runs as another user.
    let open = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o666);
    fs::set_permissions(&resets, open).expect("a mode");
    let reset = "reset = '";
    assert!(own.contains(reset), "{own}");
    let noted = format!("reset = 'echo reset >>\"{}\"; ", resets.display());
    checkout.write("backing-services/redis/backing.toml", &own.replace(reset, &noted));
    let ended = run(&checkout);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let count = fs::read_to_string(&resets).expect("a file").lines().count();
    assert_eq!(count, 2, "one for each start");
    nothing_is_left(&checkout);
}

#[test]
fn a_seed_with_an_error_names_file_and_line() {
    let broken = "insert into item values (1, 'one');\n\ninsert into items values (2, 'two');\n";
    let Some(checkout) = shop("", broken) else { return };
    let ended = checkout.prony(&["check", "shop"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let said = format!("{}{}", ended.out, ended.err)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(said.contains("contracts/shop/data.sql:3: ERROR:"), "{said}");
    assert!(said.contains("items"), "{said}");
    nothing_is_left(&checkout);
}

#[test]
fn too_many_connections_are_named() {
    // Three of them are reserved for the superuser.
    let Some(checkout) = shop("max_connections = 4", DATA) else {
        return;
    };
    let ended = run(&checkout);
    let said = format!("{}{}", ended.out, ended.err);
    assert!(
        said.contains("the service opened more connections than PostgreSQL allows"),
        "{said}"
    );
    nothing_is_left(&checkout);
}

#[test]
fn killed_prony_leaves_no_database_and_the_next_one_removes_its_data() {
    let Some(checkout) = shop("", DATA) else { return };
    let mut child = checkout.start(&["run", "shop", "--keep-disturbed"]);
    until("the service runs", || process(&checkout, "shop.py").is_some());
    child.kill().expect("KILL");
    child.wait().expect("it is gone");
    until("no process is left", || checkout.processes().is_empty());
    // Two at once in one project, which both find the leftovers.
    let pair = [0, 1].map(|_| checkout.start(&["check", "shop"]));
    for one in pair {
        let ended = CommandOutput::of(&one.wait_with_output().expect("it ends"));
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    nothing_is_left(&checkout);
}

#[test]
fn a_service_is_checked_beside_its_cache() {
    let Some(checkout) = cached() else { return };
    let ended = run(&checkout);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    let redis = &report["groups"][0]["services"][0]["details"]["points"][0]["backing_services"][0];
    assert_eq!(redis["title"], "Redis", "{redis}");
    nothing_is_left(&checkout);
}
