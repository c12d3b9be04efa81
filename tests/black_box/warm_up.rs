//! When a service is warm, from outside: a toy compiles for a known CPU time and becomes faster by a known factor.

use crate::common::{Checkout, root};
use serde_json::Value;

/// A service that is fast at once, one that needs a second and a half of CPU time to become five times faster, and one whose compiler
/// never rests.
const SERVICE: &str = r#"name = "toy"
title = "Toy that compiles"
language = "C"
framework = "threads"
contracts = ["hello"]
build = ["cc -O2 -pthread -o toy compiling.c"]
run = "exec ./toy"
compiler_threads = ["toy-compiler"]
env = { FAST_US = "200", SLOW_US = "1000" }

[[variant]]
name = "fast"
version = "1"

[[variant]]
name = "compiling"
version = "1"
env = { COMPILE_MS = "1500" }

[[variant]]
name = "endless"
version = "1"
env = { DUTY = "100" }
"#;

const SUITE: &str = r#"title = "Toys"
rounds = ROUNDS
duration = "1s"
limits = { cpus = 1 }
DESIGN

[[group]]
contract = "hello"
load = { kind = "closed", connections = CONNECTIONS }
services = [SERVICES]
"#;

const BOTH: &str = r#""toy/fast", "toy/compiling""#;

fn checkout(design: &str, services: &str) -> Checkout {
    let checkout = Checkout::new(1, &[]);
    checkout.write("services/toy/service.toml", SERVICE);
    std::fs::copy(
        root().join("tests/toy/compiling.c"),
        checkout.path("services/toy/compiling.c"),
    )
    .expect("the toy");
    // Two loads for a start that serves several.
    let connections = if design.contains("shared") {
        "[64, 8]"
    } else {
        "64"
    };
    // Each load of a start of one after the other comes first in some round.
    let rounds = if design == "starts = \"shared\"" { "2" } else { "1" };
    let suite = SUITE
        .replace("ROUNDS", rounds)
        .replace("DESIGN", design)
        .replace("SERVICES", services)
        .replace("CONNECTIONS", connections);
    checkout.write("suites/warm.toml", &suite);
    checkout
}

/// The trials of a variant under all loads.
fn trials<'a>(report: &'a Value, variant: &str) -> Vec<&'a Value> {
    let groups = report["groups"].as_array().unwrap_or_else(|| panic!("{report}"));
    let rows = groups
        .iter()
        .flat_map(|group| group["services"].as_array().expect("rows"));
    let rows = rows.filter(|row| row["variant"] == variant);
    rows.flat_map(|row| row["details"]["points"].as_array().expect("trials"))
        .collect()
}

/// The CPU time per request of each trial, sorted.
fn costs(report: &Value, variant: &str) -> Vec<f64> {
    let trials = trials(report, variant);
    let cost = |trial: &&Value| {
        let cost = trial["cpu_ns_per_request"].as_f64();
        cost.unwrap_or_else(|| panic!("{trial}"))
    };
    let mut costs: Vec<f64> = trials.iter().map(cost).collect();
    costs.sort_by(f64::total_cmp);
    costs
}

/// A run of this design reports the fast value of the service that compiles, and that its compiler is idle.
fn is_warm(design: &str) {
    let checkout = checkout(design, BOTH);
    let ended = checkout.prony(&["run", "warm", "--json", "--keep-disturbed"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    let [fast, compiling] = ["fast", "compiling"].map(|variant| costs(&report, variant));
    let ratio = compiling[compiling.len() / 2] / fast[fast.len() / 2];
    // Within 3 % on a quiet machine; other tests run at the same time.
    assert!((0.93..1.07).contains(&ratio), "{ratio}: {compiling:?} {fast:?}");
    // Each load of a shared start comes first in some round, and last in another one: the order has no effect.
    let range = compiling[compiling.len() - 1] / compiling[0];
    assert!(range < 1.2, "{compiling:?}");
    for trial in trials(&report, "compiling") {
        assert_ne!(trial["warm_up"]["classification"], "warming", "{trial}");
        assert!(trial["warm_up"]["light_s"].as_f64() > Some(1.5), "{trial}");
        let share = trial["compiler_share"].as_f64();
        assert!(share.is_some_and(|share| share < 0.01), "{trial}");
    }
}

#[test]
fn a_service_is_measured_when_it_is_compiled_one_after_the_other() {
    is_warm("");
}

#[test]
fn a_service_is_measured_when_it_is_compiled_in_shared_starts() {
    is_warm("starts = \"shared\"");
}

#[test]
fn a_service_is_measured_when_it_is_compiled_interleaved() {
    is_warm("design = \"interleaved\"\ninterleaved = { window = \"200ms\", cycles = 8 }");
}

#[test]
fn a_service_is_measured_when_it_is_compiled_interleaved_in_shared_starts() {
    is_warm(
        "design = \"interleaved\"\ninterleaved = { window = \"200ms\", cycles = 8 }\nstarts = \"shared\"",
    );
}

#[test]
fn services_are_compared_when_they_are_compiled() {
    let checkout = checkout("", BOTH);
    let options = ["--rounds=2", "-d1s", "-c64", "--json"];
    let ended = checkout.prony(&[&["duet", "toy/fast", "toy/compiling"], &options[..]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let ratio = ended.json()["goodput"]["ratio"]["point"].as_f64();
    let ratio = ratio.unwrap_or_else(|| panic!("{ended:?}"));
    // It would be a fifth if it was still compiling. Other programs may disturb one of them more.
    assert!((0.8..1.25).contains(&ratio), "{ratio}: {ended:?}");
    let run = checkout.prony(&["report", "--format", "json"]);
    for variant in ["fast", "compiling"] {
        for trial in trials(&run.json(), variant) {
            assert_ne!(trial["warm_up"]["classification"], "fixed", "{trial}");
            assert!(trial["warm_up"]["planned_s"].as_f64() > Some(1.0), "{trial}");
        }
    }
}

#[test]
fn a_service_whose_compiler_never_rests_is_labelled() {
    let design = "warm_up = { min = \"500ms\", max = \"4s\" }";
    let checkout = checkout(design, "\"toy/endless\"");
    let ended = checkout.prony(&["run", "warm", "--json", "--keep-disturbed"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    for trial in trials(&report, "endless") {
        assert_eq!(trial["warm_up"]["classification"], "warming", "{trial}");
        // 64 threads compete with it for one CPU.
        let share = trial["compiler_share"].as_f64();
        assert!(
            share.is_some_and(|share| (0.005..0.3).contains(&share)),
            "{trial}"
        );
    }
    let warnings = report["groups"][0]["services"][0]["warnings"].to_string();
    assert!(warnings.contains("compiler was still at work"), "{warnings}");
}
