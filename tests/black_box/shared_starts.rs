//! `starts = "shared"` from outside: one process start serves both loads of a round, even if the run was killed in between.

use crate::common::{Checkout, signal, until};
use serde_json::Value;
use std::collections::BTreeMap;

const SHARED: &str = r#"title = "Toys that serve two loads with one start"
rounds = 2
warm_up = "100ms"
duration = "300ms"
starts = "shared"

[[group]]
contract = "hello"
load = { kind = "closed", connections = 2 }
services = ["toy-*"]

[[group]]
contract = "hello"
load = { kind = "closed", connections = 4 }
services = ["toy-*"]
"#;

/// The starts of the trials in a report, by service and round.
fn starts(report: &Value) -> BTreeMap<(String, u64), Vec<Value>> {
    let mut found: BTreeMap<(String, u64), Vec<Value>> = BTreeMap::new();
    let groups = report["groups"].as_array().unwrap_or_else(|| panic!("{report}"));
    for row in groups
        .iter()
        .flat_map(|group| group["services"].as_array().expect("rows"))
    {
        let name = row["service"].as_str().expect("a name").to_owned();
        for point in row["details"]["points"].as_array().expect("trials") {
            let round = point["round"].as_u64().expect("a round");
            found
                .entry((name.clone(), round))
                .or_default()
                .push(point["start"].clone());
        }
    }
    found
}

#[test]
fn a_start_serves_both_loads_of_its_round_also_after_a_kill() {
    let checkout = Checkout::new(1, &["right", "heavy"]);
    checkout.write("suites/shared.toml", SHARED);
    let mut child = checkout.start(&["run", "shared", "--seed", "5", "--keep-disturbed"]);
    until("the run has started", || {
        let runs = checkout.prony(&["list", "runs", "--json"]);
        let known = |runs: &Value| runs["runs"].as_array().is_some_and(|runs| !runs.is_empty());
        runs.code == Some(0) && known(&runs.json())
    });
    signal(&child, "KILL");
    child.wait().expect("ended");
    until("nothing is left", || checkout.processes().is_empty());
    let ended = checkout.prony(&["run", "--resume", "--json", "--keep-disturbed"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let starts = starts(&ended.json());
    assert_eq!(starts.len(), 4, "two services in two rounds: {starts:?}");
    for ((service, round), trials) in starts {
        let [one, other] = trials.as_slice() else {
            panic!("{service} {round}: {trials:?}");
        };
        assert_eq!(one["first"], other["first"], "{service} {round}: {trials:?}");
        let mut served = [&one["served"], &other["served"]].map(Value::as_u64);
        served.sort_unstable();
        assert_eq!(served, [Some(0), Some(1)], "{service} {round}");
    }
    assert!(
        checkout.processes().is_empty(),
        "left behind: {:?}",
        checkout.processes()
    );
}

/// The trials of the store in the order in which they ended: their number, and when they were started.
fn stored(checkout: &Checkout) -> Vec<(u32, String)> {
    let path = checkout.path(".prony/store.db");
    if !path.exists() {
        return Vec::new();
    }
    let store = rusqlite::Connection::open(path).expect("the store");
    let read = || {
        let mut rows = store.prepare("SELECT place, started_at FROM trial ORDER BY sequence")?;
        let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect::<rusqlite::Result<Vec<(u32, String)>>>()
    };
    // The table is there a moment after the file.
    read().unwrap_or_default()
}

#[test]
fn a_kill_in_the_second_load_of_a_start_keeps_the_first() {
    let checkout = Checkout::new(1, &["right"]);
    let suite = SHARED.replace("duration = \"300ms\"", "duration = \"2s\"");
    checkout.write("suites/shared.toml", &suite);
    let mut child = checkout.start(&["run", "shared", "--keep-disturbed"]);
    until("the first load is stored", || !stored(&checkout).is_empty());
    signal(&child, "KILL");
    child.wait().expect("ended");
    until("nothing is left", || checkout.processes().is_empty());
    let kept = stored(&checkout);
    assert_eq!(kept.len(), 1, "its start still serves the second load");
    let ended = checkout.prony(&["run", "--resume", "--json", "--keep-disturbed"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let all = stored(&checkout);
    assert_eq!(all.len(), 4, "{all:?}");
    assert_eq!(all[0], kept[0], "it is not measured again");
}
