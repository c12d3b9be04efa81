//! A worker with a slow link: `testbed check` detects it, and a run over it reports the network as the limit.

use crate::common::{Checkout, CommandOutput};
use crate::skip::skipped;
use crate::ssh_hosts::SshHosts;
use crate::testbed::service;
use serde_json::Value;
use std::fs;

/// The rate of the slow link, bits per second, and as `tc` expects it.
const SLOW: (f64, &str) = (10e6, "10mbit");

/// A toy with replies of 20 kB, so that they saturate a slow link before anything else.
fn large_replies() -> Checkout {
    let checkout = Checkout::new(1, &["right"]);
    let toy = "services/toy-right/toy.py";
    let text = fs::read_to_string(checkout.path(toy)).expect("the toy");
    let large = text.replace("b\"Hello, World!\"", "b\"x\" * 20_000");
    assert_ne!(large, text, "the toy has no greeting");
    checkout.write(toy, &large);
    // The contracts are a link to those of the repository.
    fs::remove_file(checkout.path("contracts")).expect("a link");
    checkout.write(
        "contracts/hello/contract.toml",
        "name = \"hello\"\ntitle = \"Large\"\ndocument = \"0\"\nsummary = \"A large reply.\"\n\
         [operation.hello]\nsummary = \"It.\"\nhttp = \"GET /api/test\"\nexpect = { status = 200 }\n\
         [workload.hello]\nsummary = \"It, again and again.\"\nmix = [{ operation = \"hello\" }]\n\
         load = { kind = \"closed\", connections = 4 }\n",
    );
    let suite = fs::read_to_string(checkout.path("suites/toys.toml")).expect("the suite");
    checkout.write("suites/toys.toml", &suite.replace("300ms", "2s"));
    checkout
}

/// The measured rate of the path from a host to the service, bits per second.
fn carries(links: &Value, from: &str) -> f64 {
    let all = links.as_array().expect("links");
    let link = all
        .iter()
        .find(|link| link["from"] == from && link["to"] == "app");
    link.and_then(|link| link["bits_per_s"].as_f64())
        .unwrap_or_else(|| panic!("no link from {from}: {links}"))
}

#[test]
fn a_slow_link_is_found_and_is_the_limit_of_a_run_over_it() {
    let Some(remote) = SshHosts::with(large_replies()) else {
        return;
    };
    let look = || {
        let mut looked = remote.command(&["testbed", "check", "--testbed", "testbed.toml", "--json"]);
        let looked = CommandOutput::of(&looked.output().expect("it starts"));
        // A slow link costs accuracy; it does not prevent a run.
        assert_eq!(looked.code, Some(0), "{looked:?}");
        looked.json()
    };
    // Installs prony on the hosts, which takes long over a slow link.
    let fast = look();
    if let Err(reason) = remote.hosts.throttle(2, SLOW.1) {
        return skipped(&reason);
    }
    let found = look();
    assert!(carries(&fast["links"], "one") > 2.0 * SLOW.0, "{fast}");
    let slow = carries(&found["links"], "one");
    assert!((SLOW.0 * 0.5..SLOW.0 * 1.1).contains(&slow), "{found}");
    assert!(carries(&found["links"], "two") > 2.0 * slow, "{found}");
    let findings = found["findings"].as_array().expect("findings");
    let told: Vec<&Value> = findings
        .iter()
        .filter(|finding| finding["host"] == "one")
        .collect();
    let is_told = |finding: &&Value| {
        let text = finding["text"].as_str().unwrap_or_default();
        text.starts_with("its link to app carries 0.0") && finding["severity"] == "costs"
    };
    assert!(told.iter().any(is_told), "{found}");
    remote.testbed("slow.toml", "load = \"one\"\ncompanion = \"app\"");
    let run = remote.start(&[
        "run",
        "toys",
        "--testbed",
        "slow.toml",
        "--json",
        "--keep-disturbed",
    ]);
    let ended = SshHosts::ended(run);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    let slow = carries(&report["environment"]["links"], "one");
    // A single trial gives no estimate.
    let goodput = service(&report)["goodput_per_s"]["observed"][0].as_f64();
    let goodput = goodput.unwrap_or_else(|| panic!("no rate: {report}"));
    assert!(goodput * 20_000.0 * 8.0 < slow * 1.1, "{goodput} over {slow}");
    let row = service(&report).to_string();
    for part in ["network_bound", "Network limit: ", "from one to app"] {
        assert!(row.contains(part), "{part}: {row}");
    }
    remote.nothing_is_left(&["h1", "h2", "h3"]);
}
