//! Suites with every kind of mistake, and the errors of each: where it is, what is wrong, and what to do.

use super::checkout::{Checkout, SUITE};
use prony_config::format::{Diagnostic, Diagnostics};
use prony_config::{Catalogue, ConfigError, Plan, PlanOverrides, Suite};
use std::sync::LazyLock;

/// The services and contracts of all suites here.
static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    Checkout::new()
        .catalogue()
        .unwrap_or_else(|error| panic!("{error}"))
});

/// The errors of a suite, one a line: `line:column-end message / help`.
fn errors(text: &str) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("a.toml");
    std::fs::write(&file, text).expect("written");
    let suite = Suite::read(&file, None);
    let plan = suite.and_then(|suite| Plan::of(&CATALOGUE, &suite, &PlanOverrides::default()));
    let error = plan.expect_err(text);
    let ConfigError::Files(Diagnostics(found)) = error else {
        panic!("{text}: {error}")
    };
    let one = |one: &Diagnostic| {
        assert!(one.path.ends_with("a.toml"), "{one}");
        let help = one
            .help
            .as_deref()
            .map_or_else(String::new, |help| format!(" / {help}"));
        format!(
            "{}:{}-{} {}{help}",
            one.line, one.column, one.end_column, one.message
        )
    };
    found.iter().map(one).collect()
}

fn with(from: &str, to: &str) -> Vec<String> {
    assert!(SUITE.contains(from), "{from}");
    errors(&SUITE.replace(from, to))
}

/// A suite of one group, with these lines in the group.
fn of_group(lines: &str) -> Vec<String> {
    errors(&format!(
        "format = 1\n[[group]]\ncontract = \"hello\"\nservices = [\"go-one\"]\n{lines}\n"
    ))
}

/// Compares the errors of each case, and shows all that differ.
fn compare(cases: impl IntoIterator<Item = (Vec<String>, &'static str)>) {
    let differ = |(found, expected): &(Vec<String>, &str)| found.as_slice() != [*expected];
    let wrong: Vec<_> = cases.into_iter().filter(differ).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn keys() {
    let cases = [
        (
            "rounds = 3",
            "round = 3",
            "2:1-6 unknown key `round` / did you mean `rounds`?",
        ),
        (
            "rounds = 3",
            "tie = 0.1\nequivalence = 0.1",
            "2:1-4 `tie` and `equivalence` are the same key / remove `tie`, its former name",
        ),
        (
            "rounds = 3",
            "turns = {}\ninterleaved = {}",
            "2:1-6 `turns` and `interleaved` are the same key / remove `turns`, its former name",
        ),
        (
            "contract = \"hello\"\n",
            "",
            "4:1-10 `group` has no `contract` / add `contract`: the contract that the services fulfil",
        ),
        (
            "contract = \"hello\"",
            "contract = 5",
            "5:12-13 `contract` is the number 5: write \"5\"",
        ),
        (
            "services",
            "service",
            "7:1-8 unknown key `service` / did you mean `services`?",
        ),
    ];
    compare(cases.map(|(from, to, expected)| (with(from, to), expected)));
}

#[test]
fn numbers_and_durations() {
    let cases = [
        ("rounds = 0", "2:10-11 `rounds` is 0: give at least 1"),
        ("rounds = \"3\"", "2:10-13 `rounds` is the text \"3\": write 3"),
        (
            "rounds = 2.5",
            "2:10-13 `rounds` is the number 2.5: give a whole number",
        ),
        (
            "precision = 2",
            "2:13-14 `precision` is 2: give a share between 0 and 1, such as 0.02",
        ),
        (
            "confidence = 0.0",
            "2:14-17 `confidence` is 0: give a share between 0 and 1, such as 0.02",
        ),
        (
            "equivalence = 1.0",
            "2:15-18 `equivalence` is 1: give a share between 0 and 1, such as 0.02",
        ),
        ("warm_up = 3", "2:11-12 `warm_up` is the number 3: write \"3s\""),
        (
            "warm_up = true",
            "2:11-15 `warm_up` is true: give a duration, such as \"2s\", or { min = \"1s\", max = \"20s\" }",
        ),
        (
            "warm_up = { min = \"1s\" }",
            "2:11-25 `warm_up` has no `max` / add `max`: the longest warm-up",
        ),
        (
            "warm_up = { min = \"3s\", max = \"2s\" }",
            "2:11-37 `warm_up`: `min` is 3s, and `max` 2s / give a `max` that is not below `min`",
        ),
        (
            "duration = \"0s\"",
            "2:12-16 `duration` is \"0s\": give a duration above 0, such as \"2s\"",
        ),
        ("timeout = 5", "2:11-12 `timeout` is the number 5: write \"5s\""),
    ];
    compare(cases.map(|(to, expected)| (with("rounds = 3", to), expected)));
}

#[test]
fn limits_addresses_and_designs() {
    let cases = [
        (
            "limits.memory = \"2GB\"",
            "2:17-22 `memory` is \"2GB\": give a size, such as \"512MiB\" or \"2GiB\"",
        ),
        (
            "limits.memory = 2048",
            "2:17-21 `memory` is the number 2048: give a size, such as \"512MiB\" or \"2GiB\"",
        ),
        (
            "limits.memory = \"20000000000GiB\"",
            "2:17-33 `memory` is \"20000000000GiB\": give less",
        ),
        ("limits.cpus = 0", "2:15-16 `cpus` is 0: give a number above 0"),
        (
            "network.rate = \"5\"",
            "2:16-19 `rate` is \"5\": give bits per second, such as \"1Gbit\" or \"100Mbit\"",
        ),
        ("address.port = 0", "2:16-17 `port` is 0: give at least 1"),
        (
            "address.port = 70000",
            "2:16-21 `port` is 70000: give at most 65535",
        ),
        (
            "address.host = \"localhost\"",
            "2:16-27 `host` is \"localhost\", which is no IPv4 address / give that of an interface of this machine, such as \"127.0.0.1\" or \"0.0.0.0\"",
        ),
        (
            "design = \"duet\"",
            "2:10-16 `design` is \"duet\" / known are interleaved, paired, sequence, starts",
        ),
        (
            "interleaved = { cycles = 0 }",
            "2:26-27 `cycles` is 0: give at least 1",
        ),
        (
            "starts = \"new\"",
            "2:10-15 `starts` is \"new\" / known are fresh, shared",
        ),
        (
            "format = 2",
            "2:10-11 `format = 2` needs a newer prony: this one reads up to 1",
        ),
    ];
    compare(cases.map(|(to, expected)| (with("rounds = 3", to), expected)));
}

#[test]
fn loads() {
    let closed = "{ kind = \"closed\", connections = 8 }";
    let cases = [
        (
            "{ kind = \"closed\", connections = [] }",
            "6:41-43 `connections` is empty: give at least one",
        ),
        (
            "{ kind = \"closed\", connections = [8, 0] }",
            "6:45-46 `connections` has 0: give at least 1",
        ),
        (
            "{ kind = \"closed\", connections = [8, 16, 8] }",
            "6:49-50 `connections` has 8 twice / remove one",
        ),
        (
            "{ kind = \"closed\", connections = [8, \"many\"] }",
            "6:45-51 `connections` has the text \"many\": give a whole number",
        ),
        (
            "{ kind = \"closed\", connections = \"many\" }",
            "6:41-47 `connections` is the text \"many\": give a whole number or a list of whole numbers",
        ),
        (
            "{ kind = \"closed\", connections = \"8\" }",
            "6:41-44 `connections` is the text \"8\": write 8",
        ),
        (
            "{ kind = \"closed\", connections = [8, 12], room_size = 8 }",
            "6:45-47 12 connections do not fill rooms of 8 / give 8 or 16 connections",
        ),
        (
            "{ kind = \"closed\", connections = 8, room_size = 8, members = 8 }",
            "6:59-66 `members` and `room_size` are the same key / remove `members`, its former name",
        ),
        (
            "{ kind = \"closed\" }",
            "6:8-27 `load` has no `connections` / add `connections`: connections that stay open",
        ),
        (
            "{ kind = \"shut\", connections = 1 }",
            "6:17-23 `kind` is \"shut\" / known are closed, open, users",
        ),
        (
            "{ kind = \"open\", rate = [5, 0], connections = 1 }",
            "6:36-37 `rate` has 0: give a number above 0",
        ),
        (
            "{ kind = \"open\", rate = 5, to = 9, connections = 1 }",
            "6:40-41 `ramp` has no `over` / add `over`: length of the ramp",
        ),
        (
            "{ kind = \"users\", rate = 5, requests_per_user = 0 }",
            "6:56-57 `requests_per_user` is 0: give at least 1",
        ),
        ("5", "6:8-9 `load` is the number 5: give a table with `kind`"),
    ];
    compare(cases.map(|(to, expected)| (with(closed, to), expected)));
}

#[test]
fn names() {
    let cases = [
        (
            "\"go-one\"",
            "\"go-on\"",
            "7:13-20 no service `go-on` / did you mean `go-one`?",
        ),
        (
            "\"go-two/*\"",
            "\"go-two/era\"",
            "7:23-35 no service `go-two/era` / variants: known are current, single",
        ),
        (
            "contract = \"hello\"",
            "contract = \"hallo\"",
            "5:12-19 no contract `hallo` / did you mean `hello`?",
        ),
        (
            "load = {",
            "workload = \"helo\"\nload = {",
            "6:12-18 contract `hello` has no workload `helo` / did you mean `hello`?",
        ),
        (
            "load = {",
            "protocols = [\"grpc\"]\nload = {",
            "6:13-21 contract `hello` is not available over grpc / known are http1, http2",
        ),
        (
            "load = {",
            "protocols = [\"https\"]\nload = {",
            "6:14-21 `protocols` has \"https\" / did you mean `http1`?",
        ),
        (
            "load = {",
            "protocols = []\nload = {",
            "6:13-15 `protocols` is empty: give at least one",
        ),
        (
            "load = {",
            "rank_by = \"speed\"\nload = {",
            "6:11-18 `rank_by` is \"speed\" / known are cpu, cpu_per_event, goodput, memory, memory_per_stream, overhead, p50, p75, p90, p95, p99, p99.9, p99.99, sequences, start_up, steady_rate",
        ),
        (
            "load = {",
            "rank_by = \"sequences\"\nload = {",
            "6:11-22 `rank_by` is \"sequences\", but the workload is not a sequence / remove it to rank by goodput, or write \"goodput\"",
        ),
        (
            "[[group]]",
            "[[group]]\nprofile.ful.duration = \"1s\"",
            "5:9-12 the suite has no profile `ful` / known are quick",
        ),
        (
            "services = [\"go-one\", \"go-two/*\"]\n",
            "",
            "4:1-10 the group has no `services` / add `services`, such as [\"go-*\"], to the group or at the top for all groups",
        ),
        (
            "services = [\"go-one\", \"go-two/*\"]\n",
            "services = []\n",
            "7:12-14 `services` is empty: give at least one",
        ),
    ];
    compare(cases.map(|(from, to, expected)| (with(from, to), expected)));
}

#[test]
fn no_group() {
    let none = [
        "1:1-2 the file has no `[[group]]` / add `[[group]]`: services under the same workload and load, at least one `[[group]]`",
    ];
    assert_eq!(errors("rounds = 3\n"), none);
    assert_eq!(
        errors("group = []\n"),
        ["1:9-11 `group` is empty: give at least one"]
    );
}

#[test]
fn searches() {
    let open = "load = { kind = \"open\", rate = 100, connections = 8 }";
    let cases = [
        (
            format!("{open}\ncapacity = {{ objective = \"p99\" }}"),
            "6:26-31 `objective`: `p99`: there is no `<` / write p99<10ms, p99.9<50ms, mean<5ms, max<1s, errors<0.1% or goodput>1000; for language models ttft<500ms, tpot<50ms, e2el<10s and good>99%",
        ),
        (
            format!("{open}\ncapacity = {{ objective = \"ttft<1s\" }}"),
            "6:26-35 ttft, tpot, e2el and good are for language models / use `prony capacity URL --llm`",
        ),
        (
            format!("{open}\ncapacity = {{ objective = \"p99<1s\", tolerance = 0.9 }}"),
            "6:48-51 `tolerance` is 0.9: give at most 0.5",
        ),
        (
            format!("{open}\ncapacity = {{ objective = \"p99<1s\", limit = 5, max_rate = 5 }}"),
            "6:36-41 `limit` and `max_rate` are the same key / remove `limit`, its former name",
        ),
        (
            format!("{open}\ncapacity = {{ objective = \"p99<1s\" }}\nrank_by = \"p95\""),
            "7:11-16 `rank_by` is \"p95\", but each service is loaded at its highest sustainable rate / remove it to rank by goodput, or write \"cpu\"",
        ),
        (
            "load = { kind = \"closed\", connections = 8 }\ncapacity = { objective = \"p99<1s\" }".to_owned(),
            "6:12-36 `capacity` starts at the constant rate of an open load, which the group does not have / give `load = { kind = \"open\", rate = 1000, connections = 64 }`",
        ),
    ];
    compare(cases.map(|(lines, expected)| (of_group(&lines), expected)));
}

#[test]
fn groups_that_are_the_same() {
    let again = "\n[[group]]\ncontract = \"hello\"\nload = { kind = \"closed\", connections = [4, 8] }\nservices = [\"go-one\"]\n";
    assert_eq!(
        errors(&format!("{SUITE}{again}")),
        [
            "9:1-10 the group has with 8 connections the same contract, workload and load as the group in line 4 / name its services there"
        ]
    );
}

/// The keys of former formats are no keys of format 1, if the meaning of the file would not be clear.
#[test]
fn format_1_has_no_former_values() {
    let text = |line: &str| format!("format = 1\n{line}\n{SUITE}");
    assert_eq!(
        errors(&text("design = \"turns\"")),
        ["2:10-17 `design` is \"turns\" / known are interleaved, paired, sequence, starts"]
    );
    let ramp = SUITE.replace("connections = 8", "connections = 8, to = 5");
    assert_eq!(
        errors(&format!("format = 1\n{ramp}")),
        ["7:44-46 unknown key `to` / known are connections, in_flight, kind, room_size, think"]
    );
}

#[test]
fn all_errors_are_told_at_once() {
    let found = errors(
        r#"rounds = 0
duratoin = "1s"
[limits]
memory = "2GB"
[[group]]
contract = "hello"
load = { kind = "closed", connections = 0 }
services = []
"#,
    );
    assert_eq!(
        found,
        [
            "1:10-11 `rounds` is 0: give at least 1",
            "2:1-9 unknown key `duratoin` / did you mean `duration`?",
            "4:10-15 `memory` is \"2GB\": give a size, such as \"512MiB\" or \"2GiB\"",
            "7:41-42 `connections` is 0: give at least 1",
            "8:12-14 `services` is empty: give at least one",
        ]
    );
    // The same holds for names.
    let found = errors(
        r#"[[group]]
contract = "hello"
workload = ["hello", "helo"]
services = ["go-on", "go-one", "go-tow"]
[[group]]
contract = "hallo"
services = ["go-one"]
"#,
    );
    assert_eq!(
        found,
        [
            "3:22-28 contract `hello` has no workload `helo` / did you mean `hello`?",
            "4:13-20 no service `go-on` / did you mean `go-one`?",
            "4:32-40 no service `go-tow` / did you mean `go-two`?",
            "6:12-19 no contract `hallo` / did you mean `hello`?",
        ]
    );
}

#[test]
fn the_line_is_shown() {
    let checkout = Checkout::new();
    checkout.write(
        "suites/a.toml",
        &SUITE.replace("connections = 8", "connections = 12, room_size = 8"),
    );
    assert_eq!(
        checkout.error(),
        r#"12 connections do not fill rooms of 8
  suites/a.toml:6:41
    6 | load = { kind = "closed", connections = 12, room_size = 8 }
      |                                         ^^ give 8 or 16 connections"#
    );
}
