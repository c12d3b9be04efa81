//! Clients that disconnect in the middle of their streams, and services that notice it or not.

use crate::common::Checkout;

const SERVICE: &str = r#"name = "streams"
title = "Streams"
language = "Python"
framework = "asyncio"
class = "platform"
contracts = ["events"]
toolchains = ["python"]
build = []
run = "exec python3 streams.py"
start_timeout = "20s"

[workers]
uses = "one-cpu"
how = "one process with one event loop"

[[variant]]
name = "notices"
version = "3"

[[variant]]
name = "goes-on"
version = "3"
env = { MODE = "goes-on" }
"#;

/// Work for disconnected clients is detected by its CPU time.
#[test]
fn a_service_that_counts_on_for_who_has_left_is_rejected() {
    let checkout = Checkout::new(1, &[]);
    checkout.write("services/streams/service.toml", SERVICE);
    let toy = include_str!("../toy/streams.py");
    checkout.write("services/streams/streams.py", toy);
    let right = checkout.prony(&["check", "streams/notices", "events"]);
    assert_eq!(right.code, Some(0), "{right:?}");
    let wrong = checkout.prony(&["check", "streams/goes-on", "events"]);
    assert_eq!(wrong.code, Some(3), "{wrong:?}");
    let told = "after 64 clients have left";
    assert!(wrong.out.contains(told), "{wrong:?}");
}
