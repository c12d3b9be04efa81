//! Services with TLS, from their start with a certificate to the report: their cost compared with clear text, and whether they resume.

use crate::common::Checkout;
use serde_json::Value;

const SERVICE: &str = r#"format = 1
contracts = ["hello"]
toolchains = ["python"]
run = "exec python3 toy.py"
tls = ["http/1.1"]
env = { MODE = "MODEWORD" }
"#;

const SUITE: &str = r#"format = 1
rounds = 2
warm_up = "200ms"
duration = "300ms"
starts = "shared"
services = ["toy-*"]

[[group]]
contract = "hello"
protocols = ["http1", "https1"]
load = { kind = "closed", connections = 2 }

[[group]]
contract = "hello"
protocols = ["http1", "https1"]
load = { kind = "closed", connections = 2 }
requests_per_connection = 1
resumption = true
"#;

fn checkout(modes: &[&str]) -> Checkout {
    let checkout = Checkout::new(1, &[]);
    checkout.write("suites/secure.toml", SUITE);
    for mode in modes {
        let folder = format!("services/toy-{mode}");
        checkout.write(
            &format!("{folder}/service.toml"),
            &SERVICE.replace("MODEWORD", mode),
        );
        checkout.write(&format!("{folder}/toy.py"), include_str!("../toy/toy.py"));
    }
    checkout
}

fn group<'a>(report: &'a Value, over: &str, is_new: bool) -> &'a Value {
    let groups = report["groups"].as_array().expect("groups");
    let is = |group: &&Value| {
        let load = &group["load"];
        load["over"] == over && load["requests_per_connection"].is_u64() == is_new
    };
    groups.iter().find(is).unwrap_or_else(|| panic!("{report}"))
}

fn row<'a>(group: &'a Value, service: &str) -> &'a Value {
    let rows = group["services"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["service"] == service);
    row.unwrap_or_else(|| panic!("no {service}: {group}"))
}

#[test]
fn a_service_is_measured_over_tls_beside_clear_text() {
    let checkout = checkout(&["right", "no-tickets"]);
    let run = checkout.prony(&["run", "secure", "--json", "--keep-disturbed"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let report = run.json();
    let kept = row(group(&report, "https1", false), "toy-right");
    let tls = &kept["tls"];
    assert_eq!(tls["pairs"], 2, "{tls}");
    for (ratio, name) in [(&tls["cpu_ratio"], "CPU"), (&tls["goodput_ratio"], "goodput")] {
        let [low, point, high] = ["low", "point", "high"].map(|end| ratio[end].as_f64().expect(name));
        assert!(0.0 < low && low <= point && point <= high, "{name}: {ratio}");
    }
    assert!(tls["handshake_cpu_ns"].is_null(), "connections stay open: {tls}");
    assert_eq!(tls["agreed"]["version"], "TLSv1_3", "{tls}");
    assert_eq!(tls["agreed"]["cipher_suite"], "TLS13_AES_128_GCM_SHA256");
    assert_eq!(tls["agreed"]["key_exchange"], "X25519");
    assert_eq!(tls["agreed"]["protocol"], "http/1.1");
    let clear = row(group(&report, "http1", false), "toy-right");
    assert!(clear.get("tls").is_none(), "{clear}");
    let new = group(&report, "https1", true);
    let tls = &row(new, "toy-right")["tls"];
    assert!(tls["handshake_cpu_ns"]["point"].is_f64(), "{tls}");
    assert!(tls["resumed_share"].as_f64().expect("a share") >= 0.99, "{tls}");
    let without = row(new, "toy-no-tickets");
    let reason = without["excluded"]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("does not resume TLS sessions"), "{without}");
    assert!(
        checkout.processes().is_empty(),
        "left behind: {:?}",
        checkout.processes()
    );
}

#[test]
fn a_check_covers_the_tls_port() {
    let checkout = checkout(&["right", "no-tickets"]);
    let check = checkout.prony(&["check", "toy-right", "hello", "--json"]);
    assert_eq!(check.code, Some(0), "{check:?}");
    let rows = check.json();
    let rows = rows["services"].as_array().expect("rows");
    let protocols: Vec<&str> = rows.iter().filter_map(|row| row["protocol"].as_str()).collect();
    assert_eq!(protocols, ["http", "https1"]);
    assert_eq!(rows[1]["traits"]["resumes"], true, "{}", rows[1]);
    assert_eq!(rows[1]["traits"]["close_notify"], true, "{}", rows[1]);
    let check = checkout.prony(&["check", "toy-no-tickets", "--protocol", "https1"]);
    assert_eq!(check.code, Some(0), "{check:?}");
    let resumes = check.out.lines().find(|line| line.contains("trait: resumes"));
    assert!(resumes.is_some_and(|line| line.ends_with("–  no")), "{check:?}");
    let wrong = checkout.prony(&["check", "toy-right", "--protocol", "https2"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
}
