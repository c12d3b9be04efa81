//! Files without `format` keep their meaning, and so do the files that the upgrade makes of them.

use prony_config::contract::Contract;
use prony_config::format::{FileKind, SourceFile, upgraded};
use prony_config::schemas;
use prony_config::{Catalogue, Plan, PlanOverrides, Suite};
use prony_load::Protocol;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn copied(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry").path();
        if entry.is_file() {
            std::fs::copy(&entry, to.join(entry.file_name().expect("a name"))).expect("copied");
        }
    }
}

/// Requests, expectations and loads of a contract, for comparison. Signatures differ each time.
fn meaning(contract: &Contract) -> Vec<String> {
    let token = regex::Regex::new(r"eyJ[\w-]+\.[\w-]+\.[\w-]*").expect("a pattern");
    let mut lines = Vec::new();
    let mut add = |line: String| lines.push(token.replace_all(&line, "TOKEN").into_owned());
    for protocol in contract.protocols() {
        for case in contract.cases(protocol, 1) {
            let how = (
                &case.delivery,
                case.alone,
                case.thorough,
                &case.restart,
                &case.leave,
            );
            add(format!("{protocol:?} {}: {how:?}", case.name));
            for exchange in &case.exchanges {
                let request = serde_json::to_string(&exchange.request).expect("JSON");
                let expect = serde_json::to_string(&exchange.expect).expect("JSON");
                let times = (&exchange.within, &exchange.until);
                add(format!(
                    "{}: {request} {expect} {:?} {times:?}",
                    exchange.label, exchange.script
                ));
            }
        }
        for (workload, _) in contract.workloads() {
            if let Ok(built) = contract.workload(&workload, protocol) {
                let load = contract.load_of(Some(&workload));
                add(format!(
                    "{workload} {load:?} {}",
                    serde_json::to_string(&built).expect("JSON")
                ));
            }
        }
    }
    lines
}

#[test]
fn upgraded_contracts_mean_the_same() {
    let former = repository().join("crates/config/tests/format/former/contracts");
    for entry in std::fs::read_dir(&former).expect("former contracts") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().join(&name);
        copied(&repository().join("contracts").join(&name), &folder);
        let file = folder.join("contract.toml");
        std::fs::copy(&path, &file).expect("copied");
        let old = Contract::load(&folder).unwrap_or_else(|error| panic!("{name}: {error}"));
        let schema = schemas::extended(FileKind::Contract).expect("a schema");
        let source = SourceFile::read(&file).expect("read");
        let text = upgraded(FileKind::Contract, &schema, &source)
            .unwrap_or_else(|error| panic!("{name}: {error}"))
            .expect("changed");
        std::fs::write(&file, &text).expect("written");
        let again = upgraded(
            FileKind::Contract,
            &schema,
            &SourceFile::new(&file, text.as_str()),
        );
        assert_eq!(again, Ok(None), "{name}: one upgrade is enough");
        if let Some(out) = std::env::var_os("PRONY_UPGRADED") {
            std::fs::write(Path::new(&out).join(format!("{name}.toml")), &text).expect("written");
        }
        let new = Contract::load(&folder).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
        let (old, new) = (meaning(&old), meaning(&new));
        for (old, new) in old.iter().zip(&new) {
            let differ = old
                .bytes()
                .zip(new.bytes())
                .take_while(|(old, new)| old == new)
                .count();
            let shown = |text: &str| {
                text.get(differ.saturating_sub(200)..)
                    .unwrap_or(text)
                    .chars()
                    .take(500)
                    .collect::<String>()
            };
            assert!(old == new, "{name}:\n{}\n{}", shown(old), shown(new));
        }
        assert_eq!(old.len(), new.len(), "{name}");
    }
}

/// Plans without what has changed since: the suites of today warm up until a service is warm, and `quick` is interleaved.
fn without_warm_up(plans: &[String]) -> Vec<serde_json::Value> {
    let parsed = plans.iter().map(|plan| serde_json::from_str(plan).expect("JSON"));
    let without = parsed.map(|mut plan: serde_json::Value| {
        for key in ["budget_ns", "precision", "design"] {
            plan[key] = serde_json::Value::Null;
        }
        for group in plan["groups"].as_array_mut().expect("groups") {
            group["warm_up"] = serde_json::Value::Null;
        }
        plan
    });
    without.collect()
}

/// The records of the plans of a suite, one for each of its profiles.
fn plans(catalogue: &Catalogue, path: &Path) -> Vec<String> {
    let suite = Suite::read(path, None).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let profiles = suite.profiles.clone();
    let mut plans = Vec::new();
    for profile in std::iter::once(None).chain(profiles.iter().map(Some)) {
        let suite = Suite::read(path, profile.map(String::as_str)).expect("a profile of the suite");
        let plan = Plan::of(catalogue, &suite, &PlanOverrides::default())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        plans.push(serde_json::to_string(&plan).expect("JSON"));
    }
    plans
}

#[test]
fn upgraded_suites_and_those_of_today_plan_the_same_trials() {
    let root = repository();
    let catalogue = Catalogue::read(&root).expect("the catalogue");
    let schema = schemas::extended(FileKind::Suite).expect("a schema");
    let folder = tempfile::tempdir().expect("a folder");
    for entry in
        std::fs::read_dir(root.join("crates/config/tests/format/former/suites")).expect("former suites")
    {
        let former = entry.expect("an entry").path();
        let name = former.file_name().expect("a name");
        let old = plans(&catalogue, &former);
        let source = SourceFile::read(&former).expect("read");
        let text = upgraded(FileKind::Suite, &schema, &source)
            .expect("a suite")
            .expect("changed");
        let file = folder.path().join(name);
        std::fs::write(&file, text).expect("written");
        assert_eq!(old, plans(&catalogue, &file), "{}", former.display());
        // Its measurements are longer today.
        if name == "capacity.toml" {
            continue;
        }
        let today = plans(&catalogue, &root.join("suites").join(name));
        assert_eq!(
            without_warm_up(&old),
            without_warm_up(&today),
            "{}",
            former.display()
        );
    }
}

/// Each notation of former contracts, in the smallest of them.
const FORMER: &str = r##"name = "toy"
title = "Toy"
summary = "A toy."

[backing.db]
use = "postgresql"
work_mem = "4MB"

[rows.user]
query = "select id, name from account"

[data.item]
id = "#{= i + 1}"
name = "item {= {offset} * i}"

[[after]]
name = "none is lost"
query = "select 1"
equals = "before"

[[during]]
name = "few"
connections = 8

[operation.list]
summary = "Lists."
http = "GET /list/{word}?offset={offset}"
with = { offset = 3, word = "a/b" }
expect = { decoded = true, headers = { Link = "/list/[0-9]+", Name = "{word}" }, json_list = { from = "{offset}", count = 2, member = "a/b", item = "$item" } }

[operation.read]
summary = "Reads."
http = "GET /user/{id}"
headers = { X-Text = "{Name} {= 1} {{id}}" }
with = { id = { row = "user", column = "id" }, name = { row = "user", column = "name" } }
expect = { type = "application/json", json = { id = "#{id}", name = "{name}", none = "$null" } }

[operation.create]
summary = "Creates."
http = "POST /user"
json = { name = "{name}", age = "#{age}", text = "{age}" }
with = { name = ["{x}", "{= y"], age = { random = [1, 9] } }
expect = { status = 201, json_part = { age = "#{age}" }, take = { user = "json:/id" } }

[operation.upload]
summary = "Uploads."
common = false
http = "PUT /user/{user}"
generated = { bytes = 100 }
with = { user = 1 }
expect = { uploaded = true }

[[case]]
name = "away"
restart = "db"
away = "2s"
call = { operation = "list", within = "1s" }

[[case]]
name = "twice"
deliver = "one_packet"
calls = [{ operation = "list" }, { operation = "list", expect = { fibonacci = "{offset}" } }]

[[case]]
name = "captured otherwise"
calls = [
    { operation = "create" },
    { operation = "create", expect = { status = 201, take = { last = "json:/id" } } },
    { http = "GET /pair/{user}/{last}", expect = { status = 200 } },
]

[workload.all]
summary = "All."
mix = [{ operation = "list" }]
load = { kind = "closed", connections = 1 }
"##;

#[test]
fn former_notations_become_the_current_ones() {
    let source = SourceFile::new(Path::new("contract.toml"), FORMER);
    let schema = schemas::extended(FileKind::Contract).expect("a schema");
    let text = upgraded(FileKind::Contract, &schema, &source)
        .unwrap_or_else(|error| panic!("{error}"))
        .expect("changed");
    for line in [
        "format = 1",
        "[backing_service.db]",
        "settings.work_mem = \"4MB\"",
        "[value.item]",
        "id = \"{= i + 1}\"",
        "name = \"item {= offset * i}\"",
        "[[invariant]]",
        "max_connections = 8",
        "http = \"GET /list/{word:raw}?offset={offset}\"",
    ] {
        assert!(
            text.lines().any(|found| found == line),
            "{line} is not in\n{text}"
        );
    }
    let folder = |text: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("toy");
        std::fs::create_dir(&path).expect("a folder");
        std::fs::write(path.join("contract.toml"), text).expect("written");
        Contract::load(&path).unwrap_or_else(|error| panic!("{error}\n{text}"))
    };
    let (old, new) = (folder(FORMER), folder(&text));
    assert_eq!(meaning(&old), meaning(&new));
    for contract in [&old, &new] {
        let cases = contract.cases(Protocol::Http1, 1);
        let case = cases.iter().find(|case| case.name == "captured otherwise");
        let captured: Vec<Vec<&str>> = case
            .into_iter()
            .flat_map(|case| &case.exchanges)
            .map(|exchange| {
                exchange
                    .expect
                    .take
                    .iter()
                    .map(|take| take.name.as_str())
                    .collect()
            })
            .collect();
        // Each of the two names is created once.
        assert_eq!(
            captured,
            [vec!["user"], vec!["user"], vec!["last"], vec!["last"], Vec::new()]
        );
    }
    let again = SourceFile::new(Path::new("contract.toml"), text.as_str());
    let again = upgraded(FileKind::Contract, &schema, &again).expect("right");
    assert_eq!(again, None, "it is current");
}
