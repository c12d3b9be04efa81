//! Invalid suites, and suites that set where services listen: every error is reported before anything starts.

use crate::common::{Checkout, CommandOutput};
use crate::ports;
use std::net::TcpListener;

const GROUP: &str = r#"
[[group]]
contract = "hello"
load = { kind = "closed", connections = 4 }
services = ["toy-right"]
"#;

/// `prony run` of a suite with this text.
fn run(checkout: &Checkout, suite: &str, more: &[&str]) -> CommandOutput {
    checkout.write("suites/mine.toml", suite);
    let mut arguments = vec!["run", "mine", "--keep-disturbed"];
    arguments.extend(more);
    checkout.prony(&arguments)
}

fn suite(above: &str, group: &str) -> String {
    format!(
        "title = \"Mine\"\nrounds = 1\nwarm_up = \"50ms\"\nduration = \"200ms\"\n{above}\n[profile.quick]\n{group}"
    )
}

/// Each must be rejected with exit code 2 and these words, before anything starts.
fn is_refused(checkout: &Checkout, faulty: &[(String, &str)]) {
    for (suite, told) in faulty {
        let ended = run(checkout, suite, &[]);
        assert_eq!(ended.code, Some(2), "{suite}\n{ended:?}");
        assert!(ended.err.contains(told), "{told}\n{ended:?}");
        assert!(!ended.err.contains("trials"), "it started: {ended:?}");
    }
}

/// The suite with one replacement in its group.
fn with(from: &str, to: &str) -> String {
    suite("", &GROUP.replace(from, to))
}

#[test]
fn more_than_the_machine_has_is_refused() {
    let faulty = [
        (
            suite("[limits]\ncpus = 4096\n", GROUP),
            "`cpus` is 4096, and this machine has",
        ),
        (
            suite("[limits]\nmemory = \"900000GiB\"\n", GROUP),
            // The memory of this machine, or of the container of this test.
            "`memory` is 921600000 MiB, and ",
        ),
        (
            with("connections = 4", "connections = 4000000000"),
            "4000000000 connections need",
        ),
    ];
    is_refused(&Checkout::new(1, &["right"]), &faulty);
}

#[test]
fn services_that_lack_the_contract_are_refused() {
    let faulty = [
        (with("toy-right", "toy-rihgt"), "did you mean `toy-right`?"),
        (
            with("hello", "sequence"),
            "`toy-right/current` does not offer contract `sequence` over http1",
        ),
        (
            with("\"toy-right\"", "\"*\"").replace("\"hello\"", "\"sequence\""),
            "none of its services offers contract `sequence`",
        ),
        (
            with(
                "contract = \"hello\"",
                "contract = \"hello\"\nprotocols = [\"grpc\"]",
            ),
            "contract `hello` is not available over grpc\n  suites/mine.toml:10:13\n",
        ),
        (
            with(
                "contract = \"hello\"",
                "contract = \"hello\"\nworkload = \"helo\"",
            ),
            "has no workload `helo`",
        ),
    ];
    is_refused(&Checkout::new(1, &["right"]), &faulty);
}

#[test]
fn keys_that_contradict_each_other_are_refused_with_file_line_and_key() {
    let plain = suite("", GROUP);
    let faulty = [
        (suite("", &format!("{GROUP}{GROUP}")), "as the group in line 8"),
        (
            plain.replace("rounds = 1", "rounds = 0"),
            "`rounds` is 0: give at least 1\n  suites/mine.toml:2:10\n",
        ),
        (
            plain.replace("\"50ms\"", "{ least = \"2s\", most = \"1s\" }"),
            "`warm_up`: `min` is 2s, and `max` 1s",
        ),
        (plain.replace("\"200ms\"", "\"0s\""), "`duration` is \"0s\""),
        (suite("[address]\nport = 0\n", GROUP), "`port` is 0"),
        (
            suite("[address]\nhost = \"here\"\n", GROUP),
            "`host` is \"here\", which is no IPv4 address\n  suites/mine.toml:6:8\n",
        ),
        (
            with(
                "services",
                "capacity = { objective = \"p99<10ms\", limit = 100 }\nservices",
            ),
            "`capacity` starts at the constant rate of an open load",
        ),
        (
            with("services", "capacity = { objective = \"p99\" }\nservices"),
            "`p99`: there is no `<`",
        ),
    ];
    let checkout = Checkout::new(1, &["right"]);
    is_refused(&checkout, &faulty);
    let ended = run(&checkout, &plain, &["--profile", "quik"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("no profile `quik`") && ended.err.contains("did you mean `quick`?"));
}

#[test]
fn a_relay_in_a_network_of_its_own_is_refused() {
    let checkout = Checkout::new(1, &["right"]);
    let service = "services/toy-right/service.toml";
    let text = std::fs::read_to_string(checkout.path(service)).expect("a service");
    checkout.write(service, &text.replace("[\"hello\"]", "[\"hello\", \"relay\"]"));
    let relay = suite("[network]\ndelay = \"1ms\"\n", &GROUP.replace("hello", "relay"));
    is_refused(&checkout, &[(relay, "remove `[network]`")]);
}

#[test]
fn the_plan_and_its_length_come_first() {
    let checkout = Checkout::new(2, &["right"]);
    let ended = checkout.prony(&["run", "toys", "--dry-run"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.err.contains("× 2 rounds = 2 trials, about"),
        "{}",
        ended.err
    );
}

#[test]
fn services_listen_where_the_suite_says() {
    let checkout = Checkout::new(1, &["right"]);
    let port = ports::reserved();
    let taken = TcpListener::bind(("127.0.0.1", port)).expect("a reserved port");
    let mine = suite(
        &format!("[address]\nhost = \"127.0.0.1\"\nport = {port}\n"),
        GROUP,
    );
    let ended = run(&checkout, &mine, &["--json"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let told = format!("services cannot listen on port {port} of 127.0.0.1");
    assert!(ended.err.contains(&told), "{}", ended.err);
    drop(taken);
    let ended = run(&checkout, &mine, &["--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let row = &ended.json()["groups"][0]["services"][0];
    assert!(row["excluded"].is_null(), "{row}");
}

#[test]
fn the_environment_goes_before_the_suite() {
    let checkout = Checkout::new(1, &["right"]);
    let taken = TcpListener::bind(("127.0.0.2", 0)).expect("a port");
    let port = taken.local_addr().expect("an address").port();
    checkout.write("suites/mine.toml", &suite("[address]\nport = 1\n", GROUP));
    let output = checkout
        .command(&["run", "mine"])
        .env("PRONY_HOST", "127.0.0.2")
        .env("PRONY_PORT", port.to_string())
        .output()
        .expect("the binary starts");
    let ended = CommandOutput::of(&output);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let told = format!("services cannot listen on port {port} of 127.0.0.2");
    assert!(ended.err.contains(&told), "{}", ended.err);
}

#[test]
fn several_numbers_of_connections_are_a_board_each_and_one_table() {
    let checkout = Checkout::new(1, &["right"]);
    let levels = with("connections = 4", "connections = [1, 3]");
    let ended = run(&checkout, &levels, &["--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    let groups = report["groups"].as_array().expect("groups");
    let connections: Vec<_> = groups.iter().map(|group| &group["load"]["connections"]).collect();
    assert_eq!(connections, [1, 3]);
    for group in groups {
        let row = &group["services"][0];
        assert!(row["excluded"].is_null() && row["trials"] == 1, "{row}");
    }
    for load in ["closed loop on 1 connection ", "closed loop on 3 connections "] {
        assert!(ended.err.contains(load), "{}", ended.err);
    }
    for format in ["terminal", "md"] {
        let ended = checkout.prony(&["report", "--format", format]);
        for part in ["on 1 connection", "on 3 connections", "by number of connections"] {
            assert!(ended.out.contains(part), "{part}: {ended:?}");
        }
    }
}

#[test]
fn a_capacity_is_searched_in_each_trial() {
    let checkout = Checkout::new(1, &["right"]);
    let group = r#"
[[group]]
contract = "hello"
load = { kind = "open", rate = 200, connections = 2 }
capacity = { objective = "p50<5s", limit = 400, precision = 0.5, step = "200ms" }
services = ["toy-right"]
"#;
    let ended = run(&checkout, &suite("", group), &["--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let group = &ended.json()["groups"][0];
    assert_eq!(group["load"]["kind"], "capacity", "{group}");
    assert_eq!(group["load"]["objective"], "p50<5s", "{group}");
    let row = &group["services"][0];
    assert!(row["excluded"].is_null(), "{row}");
    // It sustains the highest rate to try, and reports that this was the limit.
    let goodput = row["goodput_per_s"]["observed"][0].as_f64().unwrap_or_default();
    assert!((200.0..=600.0).contains(&goodput), "{row}");
    assert!(
        row["warnings"].to_string().contains("at the highest rate tried"),
        "{row}"
    );
}

#[test]
fn a_service_whose_objective_cannot_be_judged_is_excluded_with_the_reason() {
    let checkout = Checkout::new(1, &["right"]);
    let group = r#"
[[group]]
contract = "hello"
load = { kind = "open", rate = 4, connections = 2 }
capacity = { objective = "p99<1ms", limit = 8, precision = 0.5, step = "300ms" }
services = ["toy-right"]
"#;
    let ended = run(&checkout, &suite("", group), &["--json"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let excluded = &ended.json()["groups"][0]["services"][0]["excluded"];
    let reason = excluded["reason"].as_str().unwrap_or_default();
    let few = "inconclusive: at 8.0/s a minute has fewer than the 1000 requests that its objective needs";
    assert_eq!(reason, few, "{excluded}");
}
