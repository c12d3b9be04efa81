//! External services: queried and measured, but neither started nor stopped.

use crate::common::{Checkout, until};
use crate::ports;
use crate::tls::Front;
use serde_json::Value;
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// A toy that the test starts, not prony.
struct ExternalToy {
    child: Child,
    port: u16,
}

impl ExternalToy {
    fn start(mode: &str) -> Self {
        let port = ports::reserved();
        let child = Command::new("python3")
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/toy/toy.py"))
            .env("HOST", "127.0.0.1")
            .env("PORT", port.to_string())
            .env("MODE", mode)
            .stderr(Stdio::null())
            .spawn()
            .expect("python3 starts");
        until("the toy listens", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        Self { child, port }
    }

    fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("asked").is_none()
    }
}

impl Drop for ExternalToy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A checkout with one service, defined by these lines.
fn checkout(lines: &str) -> Checkout {
    let checkout = Checkout::new(2, &[]);
    let service = format!(
        "name = \"mine\"\ntitle = \"Mine\"\nlanguage = \"Python\"\nframework = \"http.server\"\nclass = \"platform\"\n\
         contracts = [\"hello\"]\nversion = \"3\"\n{lines}\n[[variant]]\nname = \"current\"\n"
    );
    checkout.write("services/mine/service.toml", &service);
    let suite = std::fs::read_to_string(checkout.path("suites/toys.toml")).expect("the suite");
    checkout.write(
        "suites/toys.toml",
        &suite.replace("services = []", "services = [\"mine\"]"),
    );
    checkout
}

fn run(checkout: &Checkout) -> Value {
    let ended = checkout.prony(&["run", "toys", "--json", "--seed", "1", "--keep-disturbed"]);
    let row = ended.json()["groups"][0]["services"][0].clone();
    // Without any number there is nothing to report.
    let code = if row["excluded"].is_null() { 0 } else { 3 };
    assert_eq!(ended.code, Some(code), "{ended:?}");
    row
}

#[test]
fn a_service_that_runs_already_is_measured_and_left_alone() {
    let mut toy = ExternalToy::start("right");
    let url = format!("url = \"http://127.0.0.1:{}\"", toy.port);
    let checkout = checkout(&format!("{url}\npid = {}", toy.child.id()));
    let checked = checkout.prony(&["check", "mine"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let row = run(&checkout);
    assert!(row["excluded"].is_null(), "{row}");
    let text = row.to_string();
    assert!(text.contains("it ran already"), "{text}");
    assert!(!text.contains("its resource usage is unknown"), "{text}");
    assert!(
        row["cpu_ns_per_request"]["point"].as_f64() > Some(10_000.0),
        "{row}"
    );
    assert!(row["start_ms"].is_null(), "{row}");
    assert!(
        toy.is_running(),
        "prony stopped a service that it had not started"
    );
    // The process id may be in a file, as servers write it, or unknown.
    checkout.write("toy.pid", &format!("{}\n", toy.child.id()));
    let file = checkout.path("toy.pid");
    let service = std::fs::read_to_string(checkout.path("services/mine/service.toml")).expect("there");
    let pid = format!("pid = {}", toy.child.id());
    checkout.write(
        "services/mine/service.toml",
        &service.replace(&pid, &format!("pid = {:?}", file.display().to_string())),
    );
    assert!(run(&checkout)["cpu_ns_per_request"]["point"].as_f64() > Some(10_000.0));
    checkout.write("services/mine/service.toml", &service.replace(&pid, ""));
    let row = run(&checkout);
    assert!(
        row["excluded"].is_null() && row["cpu_ns_per_request"].is_null(),
        "{row}"
    );
    assert!(row.to_string().contains("its resource usage is unknown"), "{row}");
    assert!(
        toy.is_running(),
        "prony stopped a service that it had not started"
    );
}

#[test]
fn a_service_that_runs_already_gets_writes_only_with_permission() {
    let toy = ExternalToy::start("right");
    let url = format!("url = \"http://127.0.0.1:{}\"", toy.port);
    let checkout = checkout(&url);
    let service = std::fs::read_to_string(checkout.path("services/mine/service.toml")).expect("there");
    let service = service.replace("[\"hello\"]", "[\"writes\"]");
    checkout.write("services/mine/service.toml", &service);
    // The contracts are a link to those of the repository.
    std::fs::remove_file(checkout.path("contracts")).expect("a link");
    checkout.write(
        "contracts/writes/contract.toml",
        "format = 1\n[operation.read]\nhttp = \"GET /api/test\"\nexpect.status = 200\n\
         [operation.write]\nhttp = \"POST /api/test\"\nexpect.status = [404, 405]\ncommon_cases = false\n\
         [workload.all]\nmix = [{ operation = \"write\" }]\nload = { kind = \"closed\", connections = 2 }\n",
    );
    let suite = std::fs::read_to_string(checkout.path("suites/toys.toml")).expect("the suite");
    checkout.write("suites/toys.toml", &suite.replace("\"hello\"", "\"writes\""));
    let row = run(&checkout);
    let reason = row["excluded"]["reason"].as_str().unwrap_or_default();
    assert!(
        reason.contains("workload `all` sends requests that may change data (write)")
            && reason.contains("`allow_writes = true`"),
        "{row}"
    );
    checkout.write(
        "services/mine/service.toml",
        &service.replace(&url, &format!("{url}\nallow_writes = true")),
    );
    let row = run(&checkout);
    assert!(row["excluded"].is_null(), "{row}");
}

#[test]
fn a_service_that_runs_already_may_speak_tls() {
    let toy = ExternalToy::start("right");
    let front = Front::before(toy.port, &["http/1.1"]);
    let url = format!("url = \"{}\"", front.url());
    let trusting = checkout(&format!("{url}\ncacert = \"ca.pem\""));
    std::fs::copy(front.cacert(), trusting.path("services/mine/ca.pem")).expect("a file");
    let checked = trusting.prony(&["check", "mine"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let row = run(&trusting);
    assert!(row["excluded"].is_null(), "{row}");
    assert!(row["goodput_per_s"]["point"].as_f64() > Some(0.0), "{row}");
    let lax = checkout(&format!("{url}\ninsecure = true"));
    assert_eq!(lax.prony(&["check", "mine"]).code, Some(0));
    let strict = checkout(&url);
    let row = run(&strict);
    let reason = row["excluded"]["reason"].as_str().unwrap_or_default();
    assert!(
        reason.contains("not trusted") && reason.contains("`cacert`"),
        "{row}"
    );
}

#[test]
fn a_service_that_is_not_there_or_dies_is_a_row_with_the_reason() {
    let toy = ExternalToy::start("mortal");
    let url = format!("url = \"http://127.0.0.1:{}\"", toy.port);
    let checkout = checkout(&format!("{url}\npid = {}", toy.child.id()));
    let row = run(&checkout);
    let reason = row["excluded"]["reason"].as_str().unwrap_or_default();
    assert!(!reason.is_empty(), "{row}");
    drop(toy);
    let row = run(&checkout);
    let reason = row["excluded"]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("is the service running?"), "{row}");
    let service = std::fs::read_to_string(checkout.path("services/mine/service.toml")).expect("there");
    let without_pid: Vec<&str> = service.lines().filter(|line| !line.starts_with("pid")).collect();
    checkout.write("services/mine/service.toml", &without_pid.join("\n"));
    let row = run(&checkout);
    let reason = row["excluded"]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("nothing listens on"), "{row}");
}

#[test]
fn what_is_wrong_with_its_lines_is_told() {
    for (lines, line, part) in [
        (
            "url = \"http://127.0.0.1:1\"\ncacert = \"ca.pem\"",
            9,
            "write it as https://",
        ),
        ("run = \"true\"\ninsecure = true", 9, "give its `url`"),
        (
            "url = \"https://127.0.0.1:1\"\ncacert = \"ca.pem\"\ninsecure = true",
            9,
            "remove one of them",
        ),
        (
            "url = \"https://127.0.0.1:1\"\ncacert = \"missing.pem\"",
            9,
            "there is no such file",
        ),
        (
            "url = \"https://127.0.0.1:1\"\ncacert = \"service.toml\"",
            9,
            "contains no certificate",
        ),
        ("url = \"http://127.0.0.1:1/api\"", 8, "give only the host"),
        ("url = \"ftp://127.0.0.1:1\"", 8, "http"),
        (
            "url = \"http://127.0.0.1:1\"\nrun = \"true\"",
            8,
            "`run` and `url`",
        ),
        (
            "url = \"http://127.0.0.1:1\"\npid = 1\ncgroup = \"/x\"",
            10,
            "`pid` and `cgroup`",
        ),
        ("run = \"true\"\npid = 1", 9, "give its `url`"),
        (
            "url = \"http://127.0.0.1:1\"\nbuild = [\"true\"]",
            11,
            "remove `build`",
        ),
        ("", 10, "has no `run`, `image`, `containerfile` or `url`"),
    ] {
        let checkout = checkout(lines);
        let ended = checkout.prony(&["check", "mine"]);
        assert_eq!(ended.code, Some(2), "{lines}: {ended:?}");
        assert!(ended.err.contains(part), "{lines}: {}", ended.err);
        assert!(
            ended.err.contains(&format!("service.toml:{line}:"))
                || ended.err.contains(&format!("service.toml:{line} ")),
            "{lines}: {}",
            ended.err
        );
    }
}
