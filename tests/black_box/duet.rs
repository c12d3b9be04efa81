//! `prony duet` from outside: two toys at the same time, one git revision against another, an open load, and Ctrl-C.

use crate::common::{Checkout, CommandOutput, signal, two_variants, until};
use serde_json::Value;

fn number(value: &Value, path: &str) -> f64 {
    value
        .pointer(path)
        .and_then(Value::as_f64)
        .unwrap_or_else(|| panic!("no number at {path}: {value}"))
}

fn latest(checkout: &Checkout) -> Value {
    checkout.prony(&["list", "runs", "--json"]).json()["runs"][0].clone()
}

fn nothing_is_left(checkout: &Checkout) {
    let left = checkout.processes();
    assert!(left.is_empty(), "left behind: {left:?}");
}

#[test]
fn two_variants_are_compared_and_kept_as_a_run() {
    let checkout = two_variants();
    let ended = checkout.prony(&[
        "duet",
        "toy-right/current",
        "toy-right/slow",
        "--rounds=2",
        "-d1s",
        "--warmup=200ms",
        "-c4",
        "--json",
    ]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let duet = ended.json();
    // A reply takes 40 ms longer, more than any noise.
    assert!(number(&duet, "/goodput/ratio/low") > 1.0, "{duet}");
    assert_eq!(duet["goodput"]["sample"], "windows");
    assert!(
        duet["response_time_ns_p99"].is_null(),
        "two rounds prove nothing: {duet}"
    );
    assert!(
        duet["rounds"][0]["response_time_ns_p99"][1].as_u64() >= Some(40_000_000),
        "{duet}"
    );
    let run = latest(&checkout);
    assert_eq!(
        (run["run"].clone(), run["suite"].clone()),
        (duet["run"].clone(), "duet".into())
    );
    assert_eq!(run["trials"], 4);
    assert!(run["ended_at"].is_string(), "{run}");
    let shown = checkout.prony(&["report"]);
    assert!(
        shown.out.contains("duet") && shown.out.contains("toy-right/current is"),
        "{}",
        shown.out
    );
    let resumed = checkout.prony(&["run", "--resume"]);
    assert_eq!(resumed.code, Some(2), "{resumed:?}");
    assert!(resumed.err.contains("belongs to `prony duet`"), "{}", resumed.err);
    nothing_is_left(&checkout);
}

#[test]
fn a_revision_is_taken_out_of_git() {
    let checkout = two_variants();
    checkout.git(&["init", "-q"]);
    checkout.git(&["add", "contracts", "services"]);
    checkout.git(&["commit", "-q", "-m", "quick"]);
    let toy = std::fs::read_to_string(checkout.path("services/toy-right/toy.py")).expect("the toy");
    checkout.write(
        "services/toy-right/toy.py",
        &toy.replace("DELAY = delay()", "DELAY = SLOW"),
    );
    checkout.git(&["add", "services"]);
    checkout.git(&["commit", "-q", "-m", "slow"]);
    let ended = checkout.prony(&[
        "duet",
        "toy-right@HEAD~1",
        "toy-right",
        "--rounds=2",
        "-d1s",
        "--warmup=200ms",
        "-c4",
        "--json",
    ]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let duet = ended.json();
    assert!(
        duet["first"].as_str().is_some_and(|name| name.contains('@')),
        "{duet}"
    );
    assert!(number(&duet, "/goodput/ratio/low") > 1.0, "{duet}");
    let unknown = checkout.prony(&["duet", "toy-right@no-such", "toy-right"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    nothing_is_left(&checkout);
}

/// A service and its contract change together: each revision is right by its own contract and wrong by the other.
#[test]
fn a_revision_is_checked_and_loaded_with_its_own_contract() {
    let checkout = two_variants();
    // The contracts are a link to those of the repository.
    let file = "contracts/hello/contract.toml";
    let contract = std::fs::read_to_string(checkout.path(file)).expect("a contract");
    std::fs::remove_file(checkout.path("contracts")).expect("a link");
    checkout.write(file, &contract);
    checkout.git(&["init", "-q"]);
    checkout.git(&["add", "contracts", "services"]);
    checkout.git(&["commit", "-q", "-m", "world"]);
    for file in ["services/toy-right/toy.py", file] {
        let text = std::fs::read_to_string(checkout.path(file)).expect("the file");
        let changed = text.replace("Hello, World!", "Hello, Earth!");
        assert_ne!(changed, text, "{file}");
        checkout.write(file, &changed);
    }
    let options = ["--rounds=2", "-d300ms", "--warmup=100ms", "-c2"];
    let ended = checkout.prony(&[&["duet", "toy-right@HEAD", "toy-right"], &options[..]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended
            .err
            .contains("loaded with the contract of that revision, which differs from the current one"),
        "{ended:?}"
    );
    checkout.git(&["add", "contracts", "services"]);
    checkout.git(&["commit", "-q", "-m", "earth"]);
    let both = ["duet", "toy-right@HEAD~1", "toy-right@HEAD"];
    let ended = checkout.prony(&[&both, &options[..]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.err.contains(
            "loaded with the contract of that revision, which differs from that of another revision"
        ),
        "{ended:?}"
    );
    nothing_is_left(&checkout);
}

#[test]
fn an_open_load_compares_response_times() {
    let checkout = two_variants();
    let few = checkout.prony(&["duet", "toy-right", "toy-right/slow", "--rate=50", "--rounds=2"]);
    assert_eq!(few.code, Some(2), "{few:?}");
    assert!(few.err.contains("--rounds 6"), "{}", few.err);
    let ended = checkout.prony(&[
        "duet",
        "toy-right",
        "toy-right/slow",
        "--rate=50",
        "-d500ms",
        "--warmup=100ms",
        "-c8",
        "--json",
    ]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let duet = ended.json();
    assert_eq!(duet["load"]["kind"], "open");
    assert!(number(&duet, "/response_time_ns_p50/ratio/high") < 1.0, "{duet}");
    assert!(number(&duet, "/response_time_ns_p99/ratio/point") < 1.0, "{duet}");
    nothing_is_left(&checkout);
}

const FORWARD: &str = r#"name = "forward"
title = "A message that is relayed"
summary = "A message to which a backend replies."
without = ["unknown path", "wrong method", "percent-encoded path", "query string", "HEAD"]

[backing.backend]
use = "delay"
delay = "5ms"

[operation.forward]
summary = "A message that is relayed."
http = "POST /"
headers = { Content-Type = "application/json", Accept = "*/*", User-Agent = "caller/1.0" }
text = '{"drop":false}'
expect = { status = 204, received = "digest" }

[workload.forward]
summary = "Every message is relayed."
mix = [{ operation = "forward" }]
load = { kind = "closed", connections = 4 }
"#;

#[test]
fn each_of_two_relays_has_a_backend_and_logs_of_its_own() {
    let checkout = two_variants();
    std::fs::remove_file(checkout.path("contracts")).expect("the link");
    checkout.write("contracts/forward/contract.toml", FORWARD);
    let file = "services/toy-right/service.toml";
    let text = std::fs::read_to_string(checkout.path(file)).expect("the service");
    checkout.write(
        file,
        &text.replace("contracts = [\"hello\"]", "contracts = [\"forward\"]"),
    );
    let ended = checkout.prony(&[
        "duet",
        "toy-right/current",
        "toy-right/slow",
        "--rounds=2",
        "-d500ms",
        "--warmup=100ms",
        "-c4",
        "--json",
    ]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let duet = ended.json();
    assert_eq!(duet["contract"], "forward");
    assert!(number(&duet, "/goodput/ratio/low") > 0.0, "{duet}");
    let logs = std::fs::read_dir(checkout.path(".prony/log")).expect("logs");
    let logs = logs
        .flatten()
        .flat_map(|folder| std::fs::read_dir(folder.path()).expect("a folder"));
    let names: Vec<String> = logs
        .filter_map(|log| log.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with("backing-backend"))
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
    nothing_is_left(&checkout);
}

#[test]
fn ctrl_c_leaves_no_process_and_a_duet_that_can_be_continued() {
    let checkout = two_variants();
    let options = [
        "duet",
        "toy-right/current",
        "toy-right/slow",
        "--rounds=6",
        "-d500ms",
        "--warmup=100ms",
        "-c2",
    ];
    let child = checkout.start(&options);
    until("a round is stored", || {
        let listed = checkout.prony(&["list", "runs", "--json"]);
        listed.code == Some(0) && listed.json()["runs"][0]["trials"].as_u64() >= Some(2)
    });
    signal(&child, "INT");
    let ended = CommandOutput::of(&child.wait_with_output().expect("it ends"));
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(
        ended.out.contains("goodput toy-right/current / toy-right/slow")
            && ended.out.contains("no verdict")
            && !ended.out.contains("faster"),
        "{}",
        ended.out
    );
    nothing_is_left(&checkout);
    let stopped = latest(&checkout);
    assert!(
        stopped["ended_at"].is_null() && stopped["trials"].as_u64() < Some(12),
        "{stopped}"
    );
    let other = checkout.prony(&[
        "duet",
        "toy-right/current",
        "toy-right/slow",
        "--rounds=8",
        "--resume",
    ]);
    assert_eq!(other.code, Some(2), "{other:?}");
    assert!(
        other.err.contains("has other services or options"),
        "{}",
        other.err
    );
    let resumed = checkout.prony(&[&options[..], &["--resume", "--json"]].concat());
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(resumed.json()["rounds"].as_array().map(Vec::len), Some(6));
    let whole = latest(&checkout);
    assert_eq!(
        (&whole["run"], whole["trials"].as_u64()),
        (&stopped["run"], Some(12))
    );
    assert!(whole["ended_at"].is_string(), "{whole}");
}
