//! What groups of suites are: matrices, settings for all groups, profiles, former names, and the outline of a plan.

use super::checkout::{Checkout, SUITE};
use prony_config::format::{SourceFile, Spanned};
use prony_config::{Catalogue, Channel, Design, Factor, Plan, PlanOverrides, RankBy, Suite, WarmUpChoice};
use prony_load::Load;
use std::path::Path;
use std::sync::LazyLock;

/// The services and contracts of all suites here.
static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    Checkout::new()
        .catalogue()
        .unwrap_or_else(|error| panic!("{error}"))
});

fn plan(text: &str) -> Plan {
    plan_with(text, &PlanOverrides::default())
}

fn plan_with(text: &str, overrides: &PlanOverrides) -> Plan {
    Plan::of(&CATALOGUE, &suite(text, None), overrides).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

fn suite(text: &str, profile: Option<&str>) -> Suite {
    let checkout = Checkout::new();
    checkout.write("suites/a.toml", text);
    checkout
        .suite(profile)
        .unwrap_or_else(|error| panic!("{text}\n{error}"))
}

#[test]
fn services_of_a_group_have_a_baseline() {
    let with = |baselines: &str| SUITE.replace("load = ", &format!("baselines = {baselines}\nload = "));
    let of = |text: &str| {
        plan(text).groups[0]
            .baselines
            .clone()
            .into_iter()
            .collect::<Vec<_>>()
    };
    let pair = |service: &str, baseline: &str| (service.to_owned(), baseline.to_owned());
    let by_hand = "go-one/current";
    assert_eq!(of(SUITE), []);
    let all = of(&with("{ \"go-two/*\" = \"go-one\" }"));
    assert!(
        all.len() > 1
            && all
                .iter()
                .all(|(service, baseline)| service.starts_with("go-two/") && baseline == by_hand)
    );
    // Patterns may name the baseline itself, and services that are not measured.
    assert_eq!(of(&with("{ \"go-*\" = \"go-one\" }")), [pair(&all[0].0, by_hand)]);
    let services = SUITE.replace("\"go-one\", ", "");
    let text = services.replace("load = ", "baselines = { \"go-two/*\" = \"go-one\" }\nload = ");
    assert_eq!(of(&text), [], "the baseline is not measured");
    let refused = |text: &str| {
        let plan = Plan::of(&CATALOGUE, &suite(text, None), &PlanOverrides::default());
        plan.expect_err("an error").to_string()
    };
    let several = refused(&with("{ \"go-one\" = \"go-*/*\" }"));
    assert!(several.contains("`go-*/*` names several services"), "{several}");
    assert!(refused(&with("{ \"go-one\" = \"go-three\" }")).contains("go-three"));
}

#[test]
fn a_group_says_what_it_is_ranked_by() {
    let with = |rank_by: &str, load: &str| {
        let keys = format!("rank_by = \"{rank_by}\"\nload = {load}\n# ");
        plan(&SUITE.replace("load = ", &keys))
    };
    let closed = r#"{ kind = "closed", connections = 8 }"#;
    let open = r#"{ kind = "open", rate = 100, connections = 8 }"#;
    for (rank_by, load, key) in [
        ("goodput", closed, "goodput_per_s"),
        ("p99", closed, "response_time_ns_p99"),
        ("p50", open, "response_time_ns_p50"),
        ("p75", open, "response_time_ns_p75"),
        ("p90", open, "response_time_ns_p90"),
        ("p95", open, "response_time_ns_p95"),
        ("p99.9", open, "response_time_ns_p99_9"),
        ("p99.99", open, "response_time_ns_p99_99"),
        ("cpu", open, "cpu_ns_per_request"),
    ] {
        let plan = with(rank_by, load);
        assert_eq!(plan.groups[0].ranked_by().as_deref(), Some(key));
        let written = serde_json::to_value(&plan).expect("plain data");
        assert_eq!(written["groups"][0]["rank_by"], rank_by);
    }
    // An interleaved design from the command line has its own default ranking.
    let interleaved = PlanOverrides {
        design: Some(Design::interleaved()),
        ..PlanOverrides::default()
    };
    let text = SUITE.replace("load = ", "rank_by = \"goodput\"\nload = ");
    assert_eq!(plan_with(&text, &interleaved).groups[0].rank_by, None);
    assert_eq!(plan(&text).groups[0].rank_by, Some(RankBy::Goodput));
}

#[test]
fn several_numbers_of_connections_are_a_group_each() {
    let several = SUITE.replace("connections = 8", "connections = [64, 8, 256], in_flight = 2");
    let plan = plan(&several);
    let loads: Vec<Load> = plan.groups.iter().map(|group| group.load.clone()).collect();
    assert_eq!(
        loads,
        [64, 8, 256].map(|connections| Load::closed(connections, 2))
    );
    for group in 0..3 {
        let services = plan.entries.iter().filter(|entry| entry.group == group);
        assert_eq!(services.count(), 3, "each has every service");
    }
    // A profile may set other loads.
    let quick = several + "\n[group.profile.quick]\nload = { kind = \"closed\", connections = [1, 2] }\n";
    let loads: Vec<Option<Load>> = suite(&quick, Some("quick"))
        .groups
        .into_iter()
        .map(|group| group.load)
        .collect();
    assert_eq!(
        loads,
        [1, 2].map(|connections| Some(Load::closed(connections, 1)))
    );
}

#[test]
fn lists_are_a_matrix_with_workloads_outermost() {
    let text = r#"
[[group]]
contract = "sequence"
workload = ["count", "fib"]
load = { kind = "open", rate = [100, 200], connections = [4, 8] }
services = ["go-*"]
"#;
    let suite = suite(text, None);
    let cells: Vec<String> = suite
        .groups
        .iter()
        .map(|group| {
            group
                .factors
                .iter()
                .map(Factor::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        })
        .collect();
    assert_eq!(
        cells,
        [
            "workload `count`, 100/s, 4 connections",
            "workload `count`, 100/s, 8 connections",
            "workload `count`, 200/s, 4 connections",
            "workload `count`, 200/s, 8 connections",
            "workload `fib`, 100/s, 4 connections",
            "workload `fib`, 100/s, 8 connections",
            "workload `fib`, 200/s, 4 connections",
            "workload `fib`, 200/s, 8 connections",
        ]
    );
    let last = &suite.groups[7];
    assert_eq!(last.workload.as_deref(), Some("fib"));
    assert!(matches!(last.load, Some(Load::Open { connections: 8, .. })));
    // A list of one distinguishes nothing.
    let one = self::suite(&SUITE.replace("connections = 8", "connections = [8]"), None);
    assert_eq!(one.groups[0].factors, []);
    assert_eq!(one.groups[0].load, Some(Load::closed(8, 1)));
}

#[test]
fn groups_take_what_they_leave_out_from_the_top() {
    let text = r#"
services = ["go-one"]
protocols = ["http1", "http2"]
load = { kind = "closed", connections = [2, 4] }

[[group]]
contract = "hello"

[[group]]
contract = "sequence"
services = ["go-two"]
protocols = ["http1"]
load = { kind = "closed", connections = 16 }
[group.profile.quick]
load = { kind = "closed", connections = 1 }
"#;
    let suite = suite(text, None);
    let [first, second, own] = suite.groups.as_slice() else {
        panic!("{:?}", suite.groups)
    };
    assert_eq!(first.load, Some(Load::closed(2, 1)));
    assert_eq!(second.load, Some(Load::closed(4, 1)));
    assert_eq!(first.channels, [Channel::Http1, Channel::Http2]);
    assert_eq!(first.services[0].get_ref(), "go-one");
    assert_eq!(own.load, Some(Load::closed(16, 1)));
    assert_eq!(own.channels, [Channel::Http1]);
    assert_eq!(own.services[0].get_ref(), "go-two");
    let quick = self::suite(text, Some("quick"));
    assert_eq!(quick.groups[2].load, Some(Load::closed(1, 1)));
}

#[test]
fn with_tls_each_protocol_is_a_group_of_the_services_that_offer_tls() {
    let checkout = Checkout::new();
    let file = checkout.path("services/go-one/service.toml");
    let text = std::fs::read_to_string(&file).expect("a file");
    let text = text.replace("[workers]", "tls = [\"h2\", \"http/1.1\"]\n\n[workers]");
    checkout.write("services/go-one/service.toml", &text);
    let plan_of = |pattern: &str| {
        let text = r#"
services = ["PATTERN"]
starts = "shared"

[[group]]
contract = "hello"
protocols = ["http1", "http2", "https1", "https2"]
load = { kind = "closed", connections = 8 }
requests_per_connection = 1
resumption = false
"#;
        checkout.write("suites/a.toml", &text.replace("PATTERN", pattern));
        checkout
            .plan(&PlanOverrides::default())
            .unwrap_or_else(|error| panic!("{error}"))
    };
    let plan = plan_of("*");
    let entries = |plan: &Plan| -> Vec<(String, Channel)> {
        let entries = plan.entries.iter();
        entries
            .map(|entry| (entry.service.clone(), entry.channel))
            .collect()
    };
    // `go-two` has no TLS, and `go-one` no HTTP/2 in clear.
    let expected =
        [Channel::Http1, Channel::Https1, Channel::Https2].map(|channel| ("go-one".to_owned(), channel));
    assert_eq!(entries(&plan), expected);
    assert_eq!(entries(&plan_of("go-{one,two}")), expected);
    let load = plan.groups[1].load_record();
    assert_eq!(load["over"], "https1");
    assert_eq!(load["requests_per_connection"], 1);
    assert_eq!(load["resumption"], false);
    let clear = plan.groups[0].load_record();
    assert_eq!(clear.get("resumption"), None, "no sessions to resume in clear");
    let starts = plan.starts(0);
    assert_eq!(starts.len(), 1, "one process serves all: {starts:?}");
}

#[test]
fn a_group_without_tls_is_recorded_as_before() {
    let plan = plan(SUITE);
    let text = serde_json::to_string(&plan).expect("plain data");
    assert!(
        !text.contains("\"over\"") && !text.contains("resumption"),
        "{text}"
    );
    assert_eq!(
        plan.groups[0].load_record(),
        serde_json::to_value(&plan.groups[0].load).expect("plain data")
    );
}

#[test]
fn profiles_change_what_they_name() {
    let text = format!("{SUITE}\n[profile.smoke]\nrounds = 1\nduration = \"100ms\"\n")
        .replace("title =", "design = \"interleaved\"\ntitle =");
    let smoke = suite(&text, Some("smoke"));
    assert_eq!((smoke.rounds, smoke.groups[0].duration.as_millis()), (1, 100));
    assert_eq!(smoke.design, Design::interleaved());
    let alone = format!("{text}design = \"sequence\"\n");
    assert_eq!(suite(&alone, Some("smoke")).design, Design::Sequence);
    assert_eq!(suite(&alone, None).design, Design::interleaved());
    assert_eq!(smoke.profiles, ["quick", "smoke"]);
    let checkout = Checkout::new();
    checkout.write("suites/a.toml", &text);
    let error = checkout
        .suite(Some("smok"))
        .expect_err("no such profile")
        .to_string();
    assert!(
        error.contains("no profile `smok`") && error.contains("did you mean `smoke`?"),
        "{error}"
    );
}

#[test]
fn every_suite_has_the_profile_quick() {
    let quick = suite(SUITE, Some("quick"));
    assert_eq!((quick.rounds, quick.profile.as_deref()), (3, Some("quick")));
    assert_eq!(quick.profiles, ["quick"]);
    let written = format!("{SUITE}\n[profile.quick]\nrounds = 1\n");
    assert_eq!(suite(&written, Some("quick")).rounds, 1);
}

#[test]
fn the_title_is_optional() {
    assert_eq!(suite(SUITE, None).title, "A suite");
    assert_eq!(
        suite(&SUITE.replace("title = \"A suite\"\n", ""), None).title,
        "a"
    );
}

#[test]
fn sizes_have_two_notations() {
    for (text, bytes) in [
        ("512MiB", 512 << 20),
        ("512Mi", 512 << 20),
        ("2Gi", 2 << 30),
        ("2 GiB", 2 << 30),
        ("4Ki", 4 << 10),
        ("4KiB", 4 << 10),
    ] {
        let limits = suite(&format!("limits.memory = \"{text}\"\n{SUITE}"), None).limits;
        assert_eq!(limits.memory_bytes, Some(bytes), "{text}");
    }
}

/// A file without `format` is read as the file in format 1.
#[test]
fn former_files_mean_the_same() {
    let group = |keys: &str| format!("[[group]]\ncontract = \"hello\"\nservices = [\"go-one\"]\n{keys}\n");
    let top = |keys: &str| format!("{keys}\n{}", group(""));
    let load = |keys: &str| group(&format!("load = {{ {keys} }}"));
    for (old, new) in [
        (top("tie = 0.05"), top("equivalence = 0.05")),
        (
            top("turns = { window = \"100ms\", cycles = 7 }"),
            top("interleaved = { window = \"100ms\", cycles = 7 }"),
        ),
        (top("design = \"turns\""), top("design = \"interleaved\"")),
        (
            top("warm_up = { least = \"1s\", most = \"3s\" }"),
            top("warm_up = { min = \"1s\", max = \"3s\" }"),
        ),
        (
            group("warm_up = { least = \"1s\", most = \"3s\" }"),
            group("warm_up = { min = \"1s\", max = \"3s\" }"),
        ),
        (
            load("kind = \"open\", rate = 5, to = 50, over = \"10s\", connections = 8"),
            load("kind = \"open\", rate = 5, ramp = { to = 50, over = \"10s\" }, connections = 8"),
        ),
        (
            load("kind = \"open\", rate = 5, step = 5, every = \"10s\", connections = 8"),
            load("kind = \"open\", rate = 5, steps = { by = 5, every = \"10s\" }, connections = 8"),
        ),
        (
            load("kind = \"users\", rate = 5, to = 50, over = \"10s\", requests_per_user = 9"),
            load("kind = \"users\", rate = 5, ramp = { to = 50, over = \"10s\" }, requests_per_user = 9"),
        ),
        (
            load("kind = \"closed\", connections = 16, members = 8"),
            load("kind = \"closed\", connections = 16, room_size = 8"),
        ),
        (
            group(
                "load = { kind = \"open\", rate = 5, connections = 1 }\ncapacity = { objective = \"p99<1s\", limit = 99, precision = 0.1, step = \"2s\" }",
            ),
            group(
                "load = { kind = \"open\", rate = 5, connections = 1 }\ncapacity = { objective = \"p99<1s\", max_rate = 99, tolerance = 0.1, probe = \"2s\" }",
            ),
        ),
        (top("profile.quick = {}"), top("")),
        (
            group("[group.profile.quick]\nload = { kind = \"closed\", connections = 4, members = 2 }"),
            group("[group.profile.quick]\nload = { kind = \"closed\", connections = 4, room_size = 2 }"),
        ),
    ] {
        for profile in [None, Some("quick")] {
            let (before, after) = (
                suite(&old, profile),
                suite(&format!("format = 1\n{new}"), profile),
            );
            assert_eq!(meaning(&before), meaning(&after), "{old}");
        }
        // Former names of keys, unlike former values and structures, also stay in format 1.
        let names = ["tie", "turns =", "least", "members", "limit"];
        if names.iter().any(|name| old.contains(name)) {
            assert_eq!(
                meaning(&suite(&format!("format = 1\n{old}"), None)),
                meaning(&suite(&new, None))
            );
        }
    }
}

/// Everything of a suite but its positions.
fn meaning(suite: &Suite) -> String {
    let mut suite = suite.clone();
    let groups: Vec<String> = std::mem::take(&mut suite.groups)
        .iter()
        .map(|group| {
            let services: Vec<&String> = group.services.iter().map(Spanned::get_ref).collect();
            format!(
                "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {services:?}",
                group.contract,
                group.workload,
                group.channels,
                group.load,
                group.search,
                group.rank_by,
                group.warm_up,
                group.duration,
                group.timeout,
            )
        })
        .collect();
    suite.source = SourceFile::new(Path::new("a.toml"), "");
    format!("{suite:?} {groups:#?}")
}

#[test]
fn an_outline_says_what_will_run() {
    let text = r#"
title = "Two contracts"
rounds = 4
warm_up = "2s"
duration = "3s"
budget = "10m"

[[group]]
contract = "hello"
load = { kind = "closed", connections = [1, 64] }
services = ["*/*"]

[[group]]
contract = "hello"
protocols = ["http1", "http2"]
load = { kind = "open", rate = 10, ramp = { to = 100, over = "30s" }, spacing = "poisson", connections = 8, in_flight = 2 }
rank_by = "p99.9"
warm_up = { min = "1s", max = "20s" }
services = ["go-one"]

[[group]]
contract = "hello"
load = { kind = "open", rate = 10, connections = 8 }
capacity = { objective = "p99<10ms", max_rate = 5000 }
services = ["go-one"]
"#;
    let outline = plan(text).outline();
    assert_eq!(
        (outline.title.as_str(), outline.rounds, outline.trials),
        ("Two contracts", 4, 40)
    );
    assert_eq!((outline.design, outline.budget_s), ("sequence", Some(600.0)));
    assert!(outline.expected_s > 0.0);
    let [one, many, open, search] = outline.groups.as_slice() else {
        panic!("{outline:?}")
    };
    assert_eq!(one.load, "closed: 1 connection");
    assert_eq!(many.load, "closed: 64 connections");
    assert_eq!(
        many.services,
        [
            "go-one/current",
            "go-one/single",
            "go-two/current",
            "go-two/single"
        ]
    );
    assert_eq!((many.warm_up.as_str(), many.trials_per_round), ("2s", 4));
    assert!((many.duration_s - 3.0).abs() < 1e-9);
    assert_eq!(
        open.load,
        "open: 10/s to 100/s over 30s at random times on 8 connections, 2 requests in flight on each"
    );
    assert_eq!(open.warm_up, "until steady, 1s to 20s");
    assert_eq!((open.workload.as_str(), open.rank_by), ("hello", Some("p99.9")));
    assert_eq!(
        search.capacity.as_deref(),
        Some("highest rate up to 5000/s with p99<10ms, 1s at each")
    );
    assert!(matches!(
        plan(text).groups[3].warm_up,
        WarmUpChoice::FixedNs(2_000_000_000)
    ));
}
