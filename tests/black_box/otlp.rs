//! `prony run --otlp` from outside: the metrics that a collector receives about each trial during the run.

use crate::collector::{Collector, Value, gone, last};
use crate::common::Checkout;
use prony_store::Store;
use std::collections::BTreeMap;

/// Complete replies in the intervals of all measurements of a service, according to the store.
fn stored(checkout: &Checkout) -> (String, BTreeMap<String, u64>) {
    let store = Store::open_existing(&checkout.path(".prony/store.db")).expect("a store");
    let run = store.latest_run().expect("reads").expect("a run");
    let mut completed = BTreeMap::new();
    for trial in store.trials(&run.id).expect("trials") {
        let measured = trial.result.expect("a measurement");
        let intervals = measured.recording.intervals.iter();
        *completed.entry(trial.service.service).or_default() +=
            intervals.map(|interval| interval.completed).sum::<u64>();
    }
    (run.id, completed)
}

/// The same according to a collector, with all attributes except the service.
fn told(collector: &Collector) -> BTreeMap<String, (u64, BTreeMap<String, String>)> {
    let mut found: BTreeMap<String, (u64, BTreeMap<String, String>)> = BTreeMap::new();
    for ((name, mut attributes), value) in last(&collector.all()) {
        if name == "prony.replies" && attributes.remove("prony.phase").as_deref() == Some("measurement") {
            let Value::Count(count) = value else {
                panic!("{value:?}");
            };
            let service = attributes.remove("prony.service").expect("a service");
            // Each start has a port of its own.
            let port = attributes.remove("server.port").expect("a port");
            assert_ne!(port, "0");
            let entry = found.entry(service).or_insert((0, attributes.clone()));
            entry.0 += count;
            assert_eq!(entry.1, attributes);
        }
    }
    found
}

#[test]
fn a_run_tells_each_service_by_its_name() {
    let checkout = Checkout::new(2, &["right", "heavy"]);
    let collector = Collector::new(|_| Some("200 OK"));
    let ended = checkout.prony(&["run", "toys", "--keep-disturbed", "--otlp", &collector.url]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let (run, stored) = stored(&checkout);
    let told = told(&collector);
    let counts: BTreeMap<String, u64> = told
        .iter()
        .map(|(name, (count, _))| (name.clone(), *count))
        .collect();
    assert_eq!(counts, stored);
    let expected = [
        ("prony.contract", "hello"),
        ("prony.load", "closed loop on 4 connections"),
        ("prony.run", run.as_str()),
        ("prony.variant", "current"),
        ("prony.workload", "hello"),
        ("server.address", "127.0.0.1"),
    ];
    let mut expected: BTreeMap<String, String> = expected
        .map(|(key, text)| (key.to_owned(), text.to_owned()))
        .into();
    let load = told["toy-right"].1["prony.load_id"].clone();
    assert!(
        load.len() == 12 && load.chars().all(|digit| digit.is_ascii_hexdigit()),
        "{load}"
    );
    expected.insert("prony.load_id".to_owned(), load);
    assert!(
        told.values().all(|(_, attributes)| *attributes == expected),
        "{told:?}"
    );
}

#[test]
fn windows_of_turns_are_told_by_who_has_them() {
    let checkout = Checkout::new(1, &["right", "heavy"]);
    let suite = r#"title = "Interleaved toys"
rounds = 1
warm_up = "200ms"
duration = "1500ms"
design = "turns"
turns = { window = "250ms", cycles = 6 }

[[group]]
contract = "hello"
load = { kind = "closed", connections = 4 }
services = ["toy-*"]
"#;
    checkout.write("suites/turns.toml", suite);
    let collector = Collector::new(|_| Some("200 OK"));
    let ended = checkout.prony(&["run", "turns", "--otlp", &collector.url]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let counts: BTreeMap<String, u64> = told(&collector)
        .into_iter()
        .map(|(name, (count, _))| (name, count))
        .collect();
    assert_eq!(counts, stored(&checkout).1);
}

#[test]
fn a_run_goes_on_without_a_collector() {
    let checkout = Checkout::new(2, &["right"]);
    let ended = checkout.prony(&["run", "toys", "--keep-disturbed", "--otlp", &gone()]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let about = ended
        .err
        .lines()
        .filter(|line| line.contains("live metrics"))
        .count();
    assert_eq!(about, 1, "{}", ended.err);
    assert!(stored(&checkout).1["toy-right"] > 0);
}
