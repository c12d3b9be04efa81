//! `prony call` of a checkout's own reference service: prony builds, starts, calls and stops it.

use crate::common::Checkout;

#[test]
fn a_reference_service_of_the_checkout_is_started_for_one_call() {
    let checkout = Checkout::new(1, &["right"]);
    let toy = std::fs::read_to_string(checkout.path("services/toy-right/service.toml")).expect("the toy");
    let reference = toy
        .replace("\"toy-right\"", "\"go-reference\"")
        .replace("\"platform\"", "\"reference\"")
        .replace("build = []", "build = [\"touch built\"]");
    checkout.write("services/go-reference/service.toml", &reference);
    let program = checkout.path("services/toy-right/toy.py");
    std::fs::copy(program, checkout.path("services/go-reference/toy.py")).expect("a copy");
    let called = checkout.prony(&["call", "hello", "hello"]);
    assert_eq!(called.code, Some(0), "{called:?}");
    assert!(called.out.contains("Hello, World!"), "{called:?}");
    for part in ["building go-reference", "go-reference/current at 127.0.0.1:"] {
        assert!(called.err.contains(part), "{part}: {called:?}");
    }
    assert!(checkout.processes().is_empty(), "{:?}", checkout.processes());
}
