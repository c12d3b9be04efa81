//! WebSocket services: checked, loaded, and rejected if they are valid only without a load.

use crate::common::Checkout;
use serde_json::Value;

const SERVICE: &str = r#"name = "sockets"
title = "Sockets"
language = "Python"
framework = "asyncio"
class = "platform"
contracts = ["echo", "room"]
protocols = ["websocket"]
toolchains = ["python"]
build = []
run = "exec python3 sockets.py"
start_timeout = "20s"

[workers]
uses = "one-cpu"
how = "one process with one event loop"

[[variant]]
name = "right"
version = "3"

[[variant]]
name = "tires"
version = "3"
env = { MODE = "tires" }
"#;

const SUITE: &str = r#"title = "Sockets"
rounds = 1
warm_up = "200ms"
duration = "600ms"

[[group]]
contract = "echo"
protocols = ["websocket"]
workload = "text"
load = { kind = "closed", connections = 4, in_flight = 8 }
services = ["sockets/*"]

[[group]]
contract = "room"
protocols = ["websocket"]
workload = "text"
load = { kind = "closed", connections = 8, members = 4 }
services = ["sockets/*"]
"#;

#[test]
fn messages_are_checked_and_loaded_like_requests() {
    let checkout = Checkout::new(1, &[]);
    checkout.write("services/sockets/service.toml", SERVICE);
    let toy = include_str!("../toy/sockets.py");
    checkout.write("services/sockets/sockets.py", toy);
    checkout.write("suites/sockets.toml", SUITE);
    let checked = checkout.prony(&["check", "sockets", "echo"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(checked.out.contains("contract echo, WebSocket"), "{checked:?}");
    let checked = checkout.prony(&["check", "sockets", "room"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");

    let ended = checkout.prony(&["run", "sockets", "--json", "--seed", "1", "--keep-disturbed"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    for group in report["groups"].as_array().expect("groups") {
        let rows = group["services"].as_array().expect("rows");
        let row = |variant: &str| -> &Value {
            let found = rows.iter().find(|row| row["variant"] == variant);
            found.unwrap_or_else(|| panic!("no {variant}: {report}"))
        };
        let right = row("right");
        assert!(right["excluded"].is_null(), "{right}");
        let tires = row("tires");
        let reason = tires["excluded"]["reason"].as_str().unwrap_or_default();
        assert!(!reason.is_empty(), "{tires}");
    }
}
