//! Files with every kind of mistake, and the error messages of each.

use prony_config::{Catalogue, Plan, ConfigError, PlanOverrides, Suite};
use prony_load::{Load, Protocol};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const SERVICE: &str = r#"name = "NAME"
title = "A title"
language = "Go"
framework = "net/http"
class = "platform"
contracts = ["hello"]
toolchains = ["go >= 1.22"]
build = ["go build -o server ."]
run = "exec ./server"

[workers]
uses = "threads"
how = "a thread per CPU"

[[variant]]
name = "current"
version = "1.26"

[[variant]]
name = "single"
version = "1.26"
env = { WORKERS = "1" }
"#;

const TOOLCHAINS: &str = r#"[go]
title = "Go"
probe = "go version"
version = 'go(\d+(?:\.\d+)+)'
debian = ["golang-go"]
"#;

const SUITE: &str = r#"title = "A suite"
rounds = 3

[[group]]
contract = "hello"
load = { kind = "closed", connections = 8 }
services = ["go-one", "go-two/*"]
"#;

/// A checkout with the project's own contracts and two services.
struct Checkout(TempDir);

impl Checkout {
    fn new() -> Self {
        let checkout = Self(TempDir::new().expect("a temporary folder"));
        for ours in ["contracts", "backing-services"] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(ours);
            let folder = folder.canonicalize().expect("a folder of the project");
            std::os::unix::fs::symlink(folder, checkout.path(ours)).expect("a link");
        }
        checkout.write("services/toolchains.toml", TOOLCHAINS);
        checkout.write("services/go-one/service.toml", &SERVICE.replace("NAME", "go-one"));
        checkout.write("services/go-two/service.toml", &SERVICE.replace("NAME", "go-two"));
        checkout.write("suites/a.toml", SUITE);
        checkout
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.path(name).parent().expect("a folder")).expect("a folder");
        std::fs::write(self.path(name), text).expect("a file");
    }

    fn plan(&self, wishes: &PlanOverrides) -> Result<Plan, ConfigError> {
        let catalogue = Catalogue::read(self.0.path())?;
        let suite = Suite::read(&catalogue.suite_file("a")?, None)?;
        Plan::of(&catalogue, &suite, wishes)
    }

    /// The error message, without the temporary folder.
    fn error(&self) -> String {
        let error = self.plan(&PlanOverrides::default()).expect_err("an error");
        error
            .to_string()
            .replace(&format!("{}/", self.0.path().display()), "")
    }
}

fn with_suite(from: &str, to: &str) -> String {
    let checkout = Checkout::new();
    checkout.write("suites/a.toml", &SUITE.replace(from, to));
    checkout.error()
}

#[test]
fn a_plan_holds_every_service_once_a_round() {
    let plan = Checkout::new().plan(&PlanOverrides::default()).expect("a plan");
    let labels: Vec<String> = plan
        .entries
        .iter()
        .map(|entry| format!("{}/{}", entry.service, entry.variant))
        .collect();
    assert_eq!(labels, ["go-one/current", "go-two/current", "go-two/single"]);
    assert!(plan.entries.iter().all(|entry| entry.protocol == Protocol::Http1));
    for round in 0..3 {
        let entries: BTreeSet<usize> = plan.round(round).iter().map(|trial| trial.entry).collect();
        assert_eq!(entries.len(), 3, "round {round}");
    }
    let numbers: Vec<u32> = plan.trials().map(|trial| trial.number).collect();
    assert_eq!(numbers, (0..9).collect::<Vec<u32>>());
}

/// Compared trials are measured within minutes of each other, and no workload always comes first.
#[test]
fn the_trials_of_a_workload_stand_next_to_each_other() {
    let mut plan = Checkout::new().plan(&PlanOverrides::default()).expect("a plan");
    let services = plan.entries.len();
    plan.groups.push(plan.groups[0].clone());
    let again: Vec<_> = plan
        .entries
        .iter()
        .cloned()
        .map(|entry| prony_config::Entry { group: 1, ..entry })
        .collect();
    plan.entries.extend(again);
    let mut firsts = BTreeSet::new();
    for round in 0..20 {
        let groups: Vec<usize> = plan
            .round(round)
            .iter()
            .map(|trial| plan.entries[trial.entry].group)
            .collect();
        let (first, second) = groups.split_at(services);
        assert!(
            first.iter().all(|group| *group == first[0]),
            "round {round}: {groups:?}"
        );
        assert!(
            second.iter().all(|group| *group != first[0]),
            "round {round}: {groups:?}"
        );
        firsts.insert(first[0]);
    }
    assert_eq!(firsts.len(), 2, "one workload is always the first");
}

#[test]
fn the_seed_decides_the_order() {
    let order = |seed| {
        let wishes = PlanOverrides {
            seed,
            rounds: Some(20),
            ..PlanOverrides::default()
        };
        let plan = Checkout::new().plan(&wishes).expect("a plan");
        plan.trials().map(|trial| trial.entry).collect::<Vec<usize>>()
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
    let first = order(1);
    assert!(
        first.chunks(3).any(|round| round != &first[..3]),
        "every round has the same order"
    );
}

#[test]
fn a_plan_survives_the_store() {
    let plan = Checkout::new().plan(&PlanOverrides::default()).expect("a plan");
    let text = serde_json::to_string(&plan).expect("JSON");
    assert_eq!(serde_json::from_str::<Plan>(&text).expect("a plan"), plan);
}

#[test]
fn wishes_narrow_the_plan() {
    let wishes = PlanOverrides {
        services: vec!["go-two".into()],
        rounds: Some(1),
        ..PlanOverrides::default()
    };
    assert_eq!(Checkout::new().plan(&wishes).expect("a plan").len(), 2);
    let wishes = PlanOverrides {
        services: vec!["go-tow".into()],
        ..PlanOverrides::default()
    };
    let error = Checkout::new()
        .plan(&wishes)
        .expect_err("no such service")
        .to_string();
    assert_eq!(
        error,
        "no service `go-tow/*`: did you mean `go-two`? Known are go-one, go-two"
    );
}

#[test]
fn faults_of_a_suite_are_told_with_their_line() {
    for (from, to, expected) in [
        ("rounds", "round", "suites/a.toml:2: unknown field `round`"),
        (
            "\"go-one\"",
            "\"go-on\"",
            "suites/a.toml:7: no service `go-on`: did you mean `go-one`?",
        ),
        (
            "\"go-two/*\"",
            "\"go-two/era\"",
            "suites/a.toml:7: no service `go-two/era`: variants: known are current, single",
        ),
        (
            "contract = \"hello\"",
            "contract = \"hallo\"",
            "suites/a.toml:4: no contract `hallo`: did you mean `hello`?",
        ),
        (
            "connections = 8",
            "connections = 0",
            "suites/a.toml:6: `load`: `connections` is 0",
        ),
        (
            "connections = 8",
            "connections = []",
            "suites/a.toml:6: `load`: `connections` is empty: add at least one number",
        ),
        (
            "connections = 8",
            "connections = [8, 0]",
            "suites/a.toml:6: `load`: `connections` is 0",
        ),
        (
            "connections = 8",
            "connections = [8, 16, 8]",
            "suites/a.toml:6: `load`: `connections` contains 8 twice",
        ),
        (
            "connections = 8",
            "connections = [8, \"many\"]",
            "suites/a.toml:6: invalid type: string \"many\", expected u32",
        ),
        (
            "\"closed\", connections = 8",
            "\"open\", rate = 5, connections = [8, 16]",
            "suites/a.toml:6: `load`: `connections` is a list, which only a closed load may have",
        ),
        (
            "kind = \"closed\"",
            "kind = \"shut\"",
            "suites/a.toml:6: unknown variant `shut`, expected one of `closed`, `open`, `users`",
        ),
        (
            "rounds = 3",
            "precision = 2",
            "suites/a.toml:2: `precision` is 2: give a share between 0 and 1",
        ),
        (
            "rounds = 3",
            "warm_up = 3",
            "suites/a.toml:2: expected a duration",
        ),
        (
            "load = {",
            "rank_by = \"speed\"\nload = {",
            "suites/a.toml:6: unknown variant `speed`, expected one of `goodput`, `sequences`, `p50`, `p99`, `cpu`",
        ),
        (
            "load = {",
            "rank_by = \"sequences\"\nload = {",
            "suites/a.toml:6: `rank_by`: the workload is not a sequence",
        ),
    ] {
        let error = with_suite(from, to);
        assert!(error.starts_with(expected), "{to}: {error}");
    }
}

#[test]
fn a_group_says_what_it_is_ranked_by() {
    let with = |rank_by: &str, load: &str| {
        let checkout = Checkout::new();
        let keys = format!("rank_by = \"{rank_by}\"\nload = {load}\n# ");
        checkout.write("suites/a.toml", &SUITE.replace("load = ", &keys));
        checkout.plan(&PlanOverrides::default())
    };
    let closed = r#"{ kind = "closed", connections = 8 }"#;
    let open = r#"{ kind = "open", rate = 100, connections = 8 }"#;
    for (rank_by, load, key) in [
        ("goodput", closed, "goodput_per_s"),
        ("p99", closed, "response_time_ns_p99"),
        ("p50", open, "response_time_ns_p50"),
        ("cpu", open, "cpu_ns_per_request"),
    ] {
        let plan = with(rank_by, load).unwrap_or_else(|error| panic!("{rank_by}: {error}"));
        assert_eq!(plan.groups[0].ranked_by().as_deref(), Some(key));
        let written = serde_json::to_value(&plan).expect("plain data");
        assert_eq!(written["groups"][0]["rank_by"], rank_by);
    }
    let error = with("goodput", open).expect_err("all have the same").to_string();
    assert!(
        error.contains("suites/a.toml:6: `rank_by`: the rate of requests is the same for all services"),
        "{error}"
    );
    // An interleaved design from the command line has its own default ranking.
    let turns = PlanOverrides {
        design: Some(prony_config::Design::interleaved()),
        ..PlanOverrides::default()
    };
    let checkout = Checkout::new();
    checkout.write(
        "suites/a.toml",
        &SUITE.replace("load = ", "rank_by = \"goodput\"\nload = "),
    );
    let plan = checkout.plan(&turns).expect("a plan");
    assert_eq!(plan.groups[0].rank_by, None);
}

#[test]
fn several_numbers_of_connections_are_a_group_each() {
    let checkout = Checkout::new();
    let several = SUITE.replace("connections = 8", "connections = [64, 8, 256], in_flight = 2");
    checkout.write("suites/a.toml", &several);
    let plan = checkout.plan(&PlanOverrides::default()).expect("a plan");
    let loads: Vec<Load> = plan.groups.iter().map(|group| group.load.clone()).collect();
    assert_eq!(
        loads,
        [64, 8, 256].map(|connections| Load::closed(connections, 2))
    );
    for group in 0..3 {
        let services = plan.entries.iter().filter(|entry| entry.group == group);
        assert_eq!(services.count(), 3, "each has every service");
    }
    // A separate group with one of these loads would be a duplicate.
    let again = several.clone()
        + "\n[[group]]\ncontract = \"hello\"\nload = { kind = \"closed\", connections = 8, in_flight = 2 }\nservices = [\"go-one\"]\n";
    checkout.write("suites/a.toml", &again);
    let error = checkout.error();
    assert!(error.contains("as the group in line 4"), "{error}");
    // A profile may set other loads.
    let quick = several
        + "\n[group.profile.quick]\nload = { kind = \"closed\", connections = [1, 2] }\n[profile.quick]\n";
    checkout.write("suites/a.toml", &quick);
    let suite = Suite::read(&checkout.path("suites/a.toml"), Some("quick")).expect("a suite");
    let loads: Vec<Option<Load>> = suite.groups.into_iter().map(|group| group.load).collect();
    assert_eq!(
        loads,
        [1, 2].map(|connections| Some(Load::closed(connections, 1)))
    );
}

#[test]
fn profiles_change_what_they_name() {
    let checkout = Checkout::new();
    let profiles = "\n[profile.smoke]\nrounds = 1\nduration = \"100ms\"\n";
    checkout.write("suites/a.toml", &format!("{SUITE}{profiles}"));
    let suite = Suite::read(&checkout.path("suites/a.toml"), Some("smoke")).expect("a suite");
    assert_eq!((suite.rounds, suite.groups[0].duration.as_millis()), (1, 100));
    let error = Suite::read(&checkout.path("suites/a.toml"), Some("smok"))
        .expect_err("no such profile")
        .to_string();
    assert!(
        error.contains("no profile `smok`") && error.contains("did you mean `smoke`?"),
        "{error}"
    );
}
