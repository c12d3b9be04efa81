//! Runs over several hosts. The hosts are agents on this machine and, in one test, namespaces with their own OpenSSH.

use crate::common::{Checkout, CommandOutput, signal, until};
use crate::hosts;
use crate::ports;
use crate::ssh_hosts::SshHosts;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// A service and two workers, each an agent on this machine.
const PIPES: &str = r#"[host.app]
pipe = true
cpus = "0"
[host.one]
pipe = true
[host.two]
pipe = true
[roles]
service = "app"
load = ["one", "two"]
"#;

/// The binary in a checkout with this testbed.
pub(crate) fn with_pipes(rounds: u32, modes: &[&str]) -> Checkout {
    let checkout = Checkout::new(rounds, modes);
    checkout.write("testbed.toml", PIPES);
    checkout
}

pub(crate) fn command(checkout: &Checkout, arguments: &[&str]) -> Command {
    let mut command = checkout.command(arguments);
    command.env("PRONY_AGENT_CACHE", checkout.path("agents"));
    command
}

pub(crate) fn prony(checkout: &Checkout, arguments: &[&str]) -> CommandOutput {
    CommandOutput::of(&command(checkout, arguments).output().expect("the binary starts"))
}

pub(crate) fn service(report: &Value) -> &Value {
    &report["groups"][0]["services"][0]
}

#[test]
fn a_testbed_measures_as_one_machine_does() {
    let checkout = with_pipes(2, &["right"]);
    let ended = prony(
        &checkout,
        &[
            "run",
            "toys",
            "--testbed",
            "testbed.toml",
            "--json",
            "--keep-disturbed",
        ],
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    let row = service(&report);
    assert_eq!(row["trials"], 2, "{row}");
    assert!(
        row["goodput_per_s"]["point"]
            .as_f64()
            .is_some_and(|goodput| goodput > 0.0),
        "{row}"
    );
    assert!(
        row["cpu_ns_per_request"]["point"]
            .as_f64()
            .is_some_and(|cost| cost > 0.0),
        "{row}"
    );
    let hosts = &report["environment"]["hosts"];
    assert_eq!(hosts["app"]["roles"], serde_json::json!(["service"]));
    assert_eq!(
        hosts["one"]["roles"],
        serde_json::json!(["load", "backing service"])
    );
    assert_eq!(hosts["two"]["roles"], serde_json::json!(["load"]));
    assert!(hosts["two"]["environment"]["kernel"].is_string(), "{hosts}");
    let points = row["details"]["points"].as_array().expect("trials");
    for point in points {
        let workers = point["workers"].as_array().expect("a row for each worker");
        let names: Vec<&Value> = workers.iter().map(|worker| &worker["name"]).collect();
        assert_eq!(names, ["one", "two"], "{point}");
        assert!(point["workers_start"]["spread_ns"].is_u64(), "{point}");
    }
    let shown = |format: &str| prony(&checkout, &["report", "--format", format]);
    let line = "3 hosts: app (service), one (load and backing service), two (load)";
    assert!(shown("terminal").out.contains(line), "{:?}", shown("terminal"));
    let markdown = shown("md").out;
    assert!(
        markdown.contains("| one | load, backing service | 127.0.0.1 |"),
        "{markdown}"
    );
    until("nothing is left behind", || checkout.processes().is_empty());
    let works = fs::read_dir(checkout.path("agents/work")).map_or(0, Iterator::count);
    assert_eq!(works, 0, "agents remove their folders");
}

#[test]
fn a_backend_runs_on_the_host_of_backing_services() {
    let checkout = with_pipes(1, &["right"]);
    let suite = fs::read_to_string(checkout.path("suites/toys.toml")).expect("the suite");
    let suite = suite.replace(
        "contract = \"hello\"",
        "contract = \"relay\"\nworkload = \"relay\"",
    );
    checkout.write("suites/toys.toml", &suite);
    let file = "services/toy-right/service.toml";
    let text = fs::read_to_string(checkout.path(file)).expect("the service");
    checkout.write(
        file,
        &text.replace("contracts = [\"hello\"]", "contracts = [\"hello\", \"relay\"]"),
    );
    let ended = prony(
        &checkout,
        &[
            "run",
            "toys",
            "--testbed",
            "testbed.toml",
            "--json",
            "--keep-disturbed",
        ],
    );
    let report = ended.json();
    let row = service(&report);
    let reason = row["excluded"]["reason"].as_str().unwrap_or_default();
    // Another test verifies that the toy passes this contract: here it must have been called, with its backend running.
    assert!(!reason.contains("backend did not"), "{row}");
    assert_ne!(row["excluded"]["stage"], "build", "{row}");
    until("nothing is left behind", || checkout.processes().is_empty());
}

#[test]
fn a_load_of_many_workers_sends_what_was_asked_for() {
    let checkout = with_pipes(1, &["right"]);
    let mut toy = Toy::start(&checkout, "right");
    let arguments = [
        "load",
        &toy.url,
        "--testbed",
        "testbed.toml",
        "-c",
        "6",
        "-n",
        "600",
        "--json",
    ];
    let ended = prony(&checkout, &arguments);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let recording = ended.json();
    assert_eq!(recording["requests"]["completed"], 600, "{recording}");
    assert_eq!(recording["outcomes"]["valid"], 600);
    assert_eq!(recording["connections"]["asked"], 6);
    let workers = recording["workers"].as_array().expect("a row for each worker");
    let names: Vec<&Value> = workers.iter().map(|worker| &worker["name"]).collect();
    assert_eq!(names, ["one", "two"]);
    let spread = recording["start"]["spread_ns"].as_u64().expect("known");
    let bound = recording["start"]["bound_ns"].as_u64().expect("known");
    println!("start spread {} µs, at most {} µs", spread / 1000, bound / 1000);
    assert!(spread <= bound, "{recording}");
    toy.end();
}

#[test]
fn services_are_checked_and_compared_in_a_testbed() {
    let checkout = with_pipes(1, &["right", "slow"]);
    let checked = prony(&checkout, &["check", "toy-right", "--testbed", "testbed.toml"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let arguments = [
        "duet",
        "toy-right",
        "toy-slow",
        "--testbed",
        "testbed.toml",
        "--rounds",
        "2",
        "--duration",
        "500ms",
    ];
    let duet = prony(
        &checkout,
        &[&arguments[..], &["--warmup", "100ms", "--json"]].concat(),
    );
    assert!(matches!(duet.code, Some(0 | 3)), "{duet:?}");
    assert!(duet.out.contains("ratio"), "{duet:?}");
    until("nothing is left behind", || checkout.processes().is_empty());
}

#[test]
fn a_capacity_is_searched_by_all_workers() {
    let checkout = with_pipes(1, &["right"]);
    let suite = fs::read_to_string(checkout.path("suites/toys.toml")).expect("the suite");
    let load = "load = { kind = \"open\", rate = 50, connections = 4 }\n\
                capacity = { objective = \"errors<50%\", limit = 60, precision = 0.5, step = \"200ms\" }";
    let suite = suite.replace("load = { kind = \"closed\", connections = 4 }", load);
    checkout.write("suites/toys.toml", &suite);
    let ended = prony(
        &checkout,
        &[
            "run",
            "toys",
            "--testbed",
            "testbed.toml",
            "--json",
            "--keep-disturbed",
        ],
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    assert!(service(&report)["excluded"].is_null(), "{}", service(&report));
}

#[test]
fn a_testbed_is_looked_at() {
    let checkout = with_pipes(1, &["right"]);
    let ended = prony(
        &checkout,
        &["testbed", "check", "--testbed", "testbed.toml", "--json"],
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let found = ended.json();
    assert_eq!(found["hosts"]["app"]["cpus"], serde_json::json!([0]));
    let links = found["links"].as_array().expect("links");
    assert_eq!(
        links.len(),
        3,
        "both workers to the service, the service to its backing service: {found}"
    );
    assert!(
        links
            .iter()
            .all(|link| link["bits_per_s"].as_f64().is_some_and(|speed| speed > 1e6))
    );
    assert!(
        found["hosts"]["one"]["clock_error_ns"]
            .as_u64()
            .is_some_and(|error| error > 0)
    );
}

#[test]
fn a_run_of_a_testbed_goes_on_in_the_same_testbed() {
    let checkout = with_pipes(4, &["right"]);
    let child = command(
        &checkout,
        &["run", "toys", "--testbed", "testbed.toml", "--keep-disturbed"],
    )
    .spawn()
    .expect("the binary starts");
    let stored = || {
        let listed = checkout.prony(&["list", "runs", "--json"]);
        let known = (listed.code == Some(0)).then(|| listed.json()["runs"][0]["trials"].as_u64());
        known.flatten().unwrap_or(0)
    };
    until("a trial is stored", || stored() >= 1);
    signal(&child, "INT");
    let ended = CommandOutput::of(&child.wait_with_output().expect("it ends"));
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let resume = |more: &[&str]| {
        let arguments = [&["run", "--resume", "--json", "--keep-disturbed"], more].concat();
        prony(&checkout, &arguments)
    };
    let refused = resume(&[]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    for part in [
        "began in a testbed of the hosts app, one, two",
        "--testbed testbed.toml",
    ] {
        assert!(refused.err.contains(part), "{part}: {refused:?}");
    }
    checkout.write("other.toml", &PIPES.replace("[\"one\", \"two\"]", "\"one\""));
    let refused = resume(&["--testbed", "other.toml"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    for part in ["hosts: app (service)", "--force"] {
        assert!(refused.err.contains(part), "{part}: {refused:?}");
    }
    let toy = "services/toy-right/toy.py";
    let text = fs::read_to_string(checkout.path(toy)).expect("the toy");
    checkout.write(toy, &format!("{text}# changed\n"));
    let refused = resume(&["--testbed", "testbed.toml"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.err.contains("source files of toy-right/current: "),
        "{refused:?}"
    );
    assert!(!refused.err.contains("hosts: "), "{refused:?}");
    checkout.write(toy, &text);
    let done = resume(&["--testbed", "testbed.toml"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(stored(), 4);
    until("nothing is left behind", || checkout.processes().is_empty());
}

#[test]
fn a_testbed_file_that_is_wrong_is_told_by_its_line() {
    let checkout = with_pipes(1, &["right"]);
    checkout.write(
        "testbed.toml",
        &PIPES.replace("service = \"app\"", "service = \"apps\""),
    );
    for arguments in [
        ["run", "toys", "--testbed", "testbed.toml"],
        ["testbed", "check", "--testbed", "testbed.toml"],
    ] {
        let ended = prony(&checkout, &arguments);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.err.contains("no host `apps`"), "{ended:?}");
    }
    checkout.write("testbed.toml", &PIPES.replace("cpus = \"0\"", "cpus = \"4095\""));
    let ended = prony(&checkout, &["testbed", "check", "--testbed", "testbed.toml"]);
    assert!(ended.err.contains("on app: it has no CPU 4095"), "{ended:?}");
}

#[test]
fn a_build_that_fails_there_is_a_row_with_the_reason() {
    let checkout = with_pipes(1, &["right"]);
    checkout.add("right", "\"echo what a pity; exit 4\"");
    let ended = prony(&checkout, &["run", "toys", "--testbed", "testbed.toml", "--json"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let report = ended.json();
    let excluded = &service(&report)["excluded"];
    assert_eq!(excluded["stage"], "build", "{excluded}");
    assert!(
        excluded["log_tail"].to_string().contains("what a pity"),
        "{excluded}"
    );
}

/// The service is built here, from a checkout that the host does not have, and sent once.
#[test]
fn services_are_built_here_and_sent() {
    let checkout = with_pipes(1, &["right"]);
    checkout.write("testbed.toml", &built_here(PIPES));
    // The build records its folder.
    checkout.add("right", "\"pwd > built.txt\"");
    let arguments = [
        "run",
        "toys",
        "--testbed",
        "testbed.toml",
        "--json",
        "--keep-disturbed",
    ];
    let first = prony(&checkout, &arguments);
    assert_eq!(first.code, Some(0), "{first:?}");
    assert_eq!(service(&first.json())["trials"], 1, "{first:?}");
    let here = fs::read_dir(checkout.path(".prony/build")).expect("builds");
    let here = here.flatten().find(|entry| entry.path().is_dir()).expect("one");
    let sent = sent_to(&checkout.path("agents"));
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert_eq!(sent[0].file_name(), here.path().file_name());
    let built = fs::read_to_string(sent[0].join("built.txt")).expect("it is whole");
    assert_eq!(
        fs::canonicalize(built.trim()).expect("a folder"),
        fs::canonicalize(here.path()).expect("a folder"),
    );
    // A build that is there already is not sent again: the next run uses it unchanged.
    fs::write(sent[0].join("mark"), "").expect("a file");
    let second = prony(&checkout, &arguments);
    assert_eq!(second.code, Some(0), "{second:?}");
    assert!(sent[0].join("mark").exists(), "the build was sent again");
    let checked = prony(&checkout, &["check", "toy-right", "--testbed", "testbed.toml"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    // Other sources make another build.
    checkout.add("right", "\"pwd > built.txt; true\"");
    assert_eq!(prony(&checkout, &arguments).code, Some(0));
    assert_eq!(sent_to(&checkout.path("agents")).len(), 2);
}

#[test]
fn what_runs_in_its_own_folder_alone_is_not_sent() {
    let checkout = with_pipes(1, &["right"]);
    checkout.write("testbed.toml", &built_here(PIPES));
    checkout.add("right", "\"ln -s $PWD/toy.py link.py\"");
    let ended = prony(&checkout, &["run", "toys", "--testbed", "testbed.toml", "--json"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let reason = service(&ended.json())["excluded"]["reason"].to_string();
    for part in ["link.py refers to a folder of this machine", "[host.app]"] {
        assert!(reason.contains(part), "no `{part}` in {reason}");
    }
    assert!(sent_to(&checkout.path("agents")).is_empty());
}

/// A testbed file whose service is built by the controller.
pub(crate) fn built_here(testbed: &str) -> String {
    testbed.replacen("[host.app]\n", "[host.app]\nbuild = \"here\"\n", 1)
}

/// The builds that were sent to the host with this cache.
pub(crate) fn sent_to(cache: &Path) -> Vec<PathBuf> {
    let projects = fs::read_dir(cache.join("projects"))
        .into_iter()
        .flatten()
        .flatten();
    let sent = projects.filter_map(|project| fs::read_dir(project.path().join("sent")).ok());
    sent.flatten().flatten().map(|entry| entry.path()).collect()
}

/// A toy of a checkout that runs on its own.
pub(crate) struct Toy {
    process: Child,
    pub(crate) url: String,
}

impl Toy {
    /// Starts a toy. Its output goes to `toy.log` of the checkout.
    pub(crate) fn start(checkout: &Checkout, mode: &str) -> Self {
        let log = fs::File::create(checkout.path("toy.log")).expect("a file");
        let port = ports::reserved();
        let process = Command::new("python3")
            .arg(checkout.path("services/toy-right/toy.py"))
            .env("HOST", "127.0.0.1")
            .env("PORT", port.to_string())
            .env("MODE", mode)
            .stdout(log)
            .stderr(Stdio::null())
            .spawn()
            .expect("python3");
        until("the toy listens", || {
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        let url = format!("http://127.0.0.1:{port}/api/test");
        Self { process, url }
    }

    pub(crate) fn end(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Toy {
    fn drop(&mut self) {
        self.end();
    }
}

#[test]
fn three_hosts_measure_over_ssh() {
    let Some(remote) = SshHosts::new(1, "300ms") else {
        return;
    };
    let looked = CommandOutput::of(
        &remote
            .command(&["testbed", "check", "--testbed", "testbed.toml", "--json"])
            .output()
            .expect("it starts"),
    );
    assert_eq!(looked.code, Some(0), "{looked:?}");
    let began = Instant::now();
    let ended = SshHosts::ended(remote.run());
    println!(
        "a run of one trial over ssh, with the binary there: {:?}",
        began.elapsed()
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    assert_eq!(service(&report)["trials"], 1, "{}", service(&report));
    assert_eq!(
        report["environment"]["hosts"]["app"]["address"],
        hosts::address(1)
    );
    let links = report["environment"]["links"].as_array().expect("links");
    let ways: Vec<String> = links
        .iter()
        .map(|link| format!("{} {}", link["from"], link["to"]))
        .collect();
    for way in ["\"one\" \"app\"", "\"two\" \"app\""] {
        assert!(ways.iter().any(|known| known == way), "{ways:?}");
    }
    assert!(
        links
            .iter()
            .all(|link| link["bits_per_s"].as_f64().is_some_and(|speed| speed > 1e6))
    );
    remote.nothing_is_left(&["h1", "h2", "h3"]);
}

#[test]
fn runs_of_two_testbeds_are_not_alike() {
    let checkout = with_pipes(1, &["right"]);
    checkout.write("other.toml", &PIPES.replace("[\"one\", \"two\"]", "\"one\""));
    for testbed in ["testbed.toml", "other.toml"] {
        let ended = prony(
            &checkout,
            &["run", "toys", "--testbed", testbed, "--keep-disturbed"],
        );
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    let listed = checkout.prony(&["list", "runs", "--json"]).json();
    // The newest comes first.
    let [testbed, other] = [1, 0].map(|place| {
        let id = listed["runs"][place]["run"].as_str();
        id.unwrap_or_else(|| panic!("two runs: {listed}")).to_owned()
    });
    let refused = checkout.prony(&["compare", &testbed, &other]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    for part in [
        "hosts: app (service) at 127.0.0.1 on CPUs 0, one (load and backing service)",
        "two (load)",
        "--force",
    ] {
        assert!(refused.err.contains(part), "{part}: {refused:?}");
    }
}
