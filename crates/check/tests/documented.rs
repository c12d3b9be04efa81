//! The worked example of `docs/CONTRACTS.md` does what the page says.

use crate::toy::{self, Call, FaultMode, Handler, ScriptedReply};
use crate::{request, target};
use prony_check::{CheckReport, check};
use prony_config::contract::Contract;
use prony_load::{Order, Protocol};
use std::path::Path;
use std::sync::Arc;

/// The example from the page.
fn example() -> Contract {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/CONTRACTS.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let (_, after) = page
        .split_once("<!-- example: contracts/greeting/contract.toml -->\n```toml\n")
        .expect("the mark of the example");
    let (text, _) = after.split_once("\n```").expect("the end of the example");
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("greeting");
    std::fs::create_dir(&own).expect("a folder");
    std::fs::write(own.join("contract.toml"), text).expect("written");
    Contract::load(&own).unwrap_or_else(|error| panic!("{error}"))
}

fn right(call: &Call) -> ScriptedReply {
    match (call.method.as_str(), call.segments().as_slice()) {
        ("GET" | "HEAD", ["greet", who]) => ScriptedReply::of(200, "text/plain", format!("Hello, {who}!")),
        ("POST", ["visit"]) if serde_json::from_slice::<serde_json::Value>(&call.body).is_ok() => {
            ScriptedReply::of(200, "application/json", call.body.clone())
        }
        ("POST", ["visit"]) => ScriptedReply::new(400),
        (_, ["greet", _] | ["visit"]) => ScriptedReply::new(405),
        _ => ScriptedReply::new(404),
    }
}

fn check_with(contract: &Contract, handler: Arc<Handler>) -> CheckReport {
    let toy = toy::serve(FaultMode::Right, handler);
    check(&request(contract, &target(toy.address), Protocol::Http1))
}

#[test]
fn a_right_server_passes() {
    let report = check_with(&example(), Arc::new(right));
    assert_eq!(report.first_failure(), None);
    assert!(
        report
            .cases
            .iter()
            .any(|case| case.name == "names of every kind" && case.exchanges == 3)
    );
}

#[test]
fn a_wrong_server_fails_with_its_fault() {
    let report = check_with(
        &example(),
        Arc::new(|call: &Call| {
            let mut answer = right(call);
            if answer.status == 400 {
                answer.status = 500;
            }
            answer
        }),
    );
    let said = report.first_failure().expect("a failure");
    assert_eq!(said, "malformed JSON: POST /visit: status: expected 400, got 500");
}

#[test]
fn its_workload_mixes_nine_to_one() {
    let workload = example()
        .workload("greet", Protocol::Http1)
        .expect("the workload");
    let Order::Mix(steps) = workload.order else {
        panic!("a mix")
    };
    assert_eq!(steps.iter().map(|step| step.weight).collect::<Vec<_>>(), [9, 1]);
}
