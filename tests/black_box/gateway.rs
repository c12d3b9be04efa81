//! The paired design from outside: gateways in front of a language model, one of which delays the first event of each stream.

use crate::common::{Checkout, root};
use serde_json::Value;

/// What the slow gateway adds to the first event, in ms.
const PLANTED_MS: f64 = 100.0;

const SERVICE: &str = r#"title = "Toy gateway"
language = "Python"
framework = "asyncio"
class = "platform"
contracts = ["gateway"]
toolchains = ["python"]
run = "exec python3 gateway.py"
start_timeout = "20s"

[workers]
kind = "threads"
note = "one thread"

[[variant]]
name = "current"
version = "3"

[[variant]]
name = "slow"
version = "3"
env = { DELAY_MS = "100" }
"#;

const SUITE: &str = r#"title = "Toy gateways"
rounds = 2
design = "paired"
paired = { block = "500ms", repeats = 1 }
warm_up = "200ms"

[[group]]
contract = "gateway"
workload = "chat"
rank_by = "overhead"
load = { kind = "open", rate = 20, connections = 32 }
services = ["toy-gateway/*"]
"#;

fn checkout() -> Checkout {
    let checkout = Checkout::new(1, &[]);
    checkout.write("services/toy-gateway/service.toml", SERVICE);
    let toy = root().join("tests/toy/gateway.py");
    std::fs::copy(toy, checkout.path("services/toy-gateway/gateway.py")).expect("the toy");
    checkout.write("suites/gateways.toml", SUITE);
    checkout
}

fn point(row: &Value, metric: &str) -> f64 {
    row[metric]["point"]
        .as_f64()
        .unwrap_or_else(|| panic!("no {metric}: {row}"))
}

#[test]
fn a_delay_of_the_first_event_is_found_next_to_the_direct_path() {
    let checkout = checkout();
    let ended = checkout.prony(&["run", "gateways", "--json", "--seed", "7"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    let group = &report["groups"][0];
    assert_eq!(group["ranked_by"], "overhead_first_ns_p50", "{report}");
    let row = |variant: &str| {
        let mut rows = group["services"].as_array().into_iter().flatten();
        rows.find(|row| row["variant"] == variant)
            .unwrap_or_else(|| panic!("no {variant}: {report}"))
    };
    // A busy machine delays both paths, so that only half of it has to be found. The last event is on time again: the model went on meanwhile.
    let found = point(row("slow"), "overhead_first_ns_p50") / 1e6;
    assert!(found > PLANTED_MS / 2.0, "{found} ms: {report}");
    assert!(point(row("slow"), "overhead_last_ns_p50").is_finite(), "{report}");
    for variant in ["current", "slow"] {
        assert!(point(row(variant), "cpu_ns_per_event") > 0.0, "{report}");
        assert!(row(variant)["excluded"].is_null(), "{report}");
    }
    let left = checkout.processes();
    assert!(left.is_empty(), "left behind: {left:?}");
}

#[test]
fn a_contract_without_a_direct_path_cannot_be_paired() {
    let checkout = Checkout::new(1, &["right"]);
    let suite = SUITE
        .replace("contract = \"gateway\"", "contract = \"hello\"")
        .replace("workload = \"chat\"\nrank_by = \"overhead\"\n", "")
        .replace("toy-gateway/*", "toy-right");
    checkout.write("suites/gateways.toml", &suite);
    let ended = checkout.prony(&["run", "gateways"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended
            .err
            .contains("a paired design loads a backing service directly"),
        "{}",
        ended.err
    );
}
