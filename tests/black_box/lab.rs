//! Runs over several hosts. Hosts are agents on this machine, or namespaces of it with OpenSSH of their own.

use crate::common::{Checkout, Ended, PATIENCE, signal, until};
use crate::hosts;
use crate::skip::skipped;
use serde_json::Value;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

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

/// The binary in a checkout with this lab.
pub(crate) fn with_pipes(rounds: u32, modes: &[&str]) -> Checkout {
    let checkout = Checkout::new(rounds, modes);
    checkout.write("lab.toml", PIPES);
    checkout
}

pub(crate) fn command(checkout: &Checkout, arguments: &[&str]) -> Command {
    let mut command = checkout.command(arguments);
    command.env("PRONY_AGENT_CACHE", checkout.path("agents"));
    command
}

pub(crate) fn prony(checkout: &Checkout, arguments: &[&str]) -> Ended {
    Ended::of(&command(checkout, arguments).output().expect("the binary starts"))
}

fn service(report: &Value) -> &Value {
    &report["groups"][0]["services"][0]
}

#[test]
fn a_lab_measures_as_one_machine_does() {
    let checkout = with_pipes(2, &["right"]);
    let ended = prony(
        &checkout,
        &["run", "toys", "--lab", "lab.toml", "--json", "--keep-disturbed"],
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
    assert_eq!(hosts["one"]["roles"], serde_json::json!(["load", "companion"]));
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
    let line = "3 hosts: app (service), one (load and companion), two (load)";
    assert!(shown("terminal").out.contains(line), "{:?}", shown("terminal"));
    let markdown = shown("md").out;
    assert!(
        markdown.contains("| one | load, companion | 127.0.0.1 |"),
        "{markdown}"
    );
    until("nothing is left behind", || checkout.processes().is_empty());
    let works = fs::read_dir(checkout.path("agents/work")).map_or(0, Iterator::count);
    assert_eq!(works, 0, "the folders of agents go with them");
}

#[test]
fn a_backend_runs_on_the_host_of_companions() {
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
        &["run", "toys", "--lab", "lab.toml", "--json", "--keep-disturbed"],
    );
    let report = ended.json();
    let row = service(&report);
    let reason = row["excluded"]["reason"].as_str().unwrap_or_default();
    // Whether the toy fulfils all of this contract is another test's: here it must have been asked, with its backend up.
    assert!(!reason.contains("backend did not"), "{row}");
    assert_ne!(row["excluded"]["stage"], "build", "{row}");
    until("nothing is left behind", || checkout.processes().is_empty());
}

#[test]
fn a_load_of_many_workers_sends_what_was_asked_for() {
    let checkout = with_pipes(1, &["right"]);
    let mut toy = Toy::start(&checkout);
    let arguments = [
        "load", &toy.url, "--lab", "lab.toml", "-c", "6", "-n", "600", "--json",
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
fn services_are_checked_and_compared_in_a_lab() {
    let checkout = with_pipes(1, &["right", "slow"]);
    let checked = prony(&checkout, &["check", "toy-right", "--lab", "lab.toml"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let arguments = [
        "duet",
        "toy-right",
        "toy-slow",
        "--lab",
        "lab.toml",
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
        &["run", "toys", "--lab", "lab.toml", "--json", "--keep-disturbed"],
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    assert!(service(&report)["excluded"].is_null(), "{}", service(&report));
}

#[test]
fn a_lab_is_looked_at() {
    let checkout = with_pipes(1, &["right"]);
    let ended = prony(&checkout, &["lab", "check", "--lab", "lab.toml", "--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let found = ended.json();
    assert_eq!(found["hosts"]["app"]["cpus"], serde_json::json!([0]));
    let links = found["links"].as_array().expect("links");
    assert_eq!(
        links.len(),
        3,
        "both workers to the service, the service to its companion: {found}"
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
fn a_run_of_a_lab_goes_on_in_the_same_lab() {
    let checkout = with_pipes(4, &["right"]);
    let child = command(
        &checkout,
        &["run", "toys", "--lab", "lab.toml", "--keep-disturbed"],
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
    let ended = Ended::of(&child.wait_with_output().expect("it ends"));
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let resume = |more: &[&str]| {
        let arguments = [&["run", "--resume", "--json", "--keep-disturbed"], more].concat();
        prony(&checkout, &arguments)
    };
    let refused = resume(&[]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    for part in ["began in a lab of the hosts app, one, two", "--lab lab.toml"] {
        assert!(refused.err.contains(part), "{part}: {refused:?}");
    }
    checkout.write("other.toml", &PIPES.replace("[\"one\", \"two\"]", "\"one\""));
    let refused = resume(&["--lab", "other.toml"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    for part in ["hosts: app (service)", "--force"] {
        assert!(refused.err.contains(part), "{part}: {refused:?}");
    }
    let toy = "services/toy-right/toy.py";
    let text = fs::read_to_string(checkout.path(toy)).expect("the toy");
    checkout.write(toy, &format!("{text}# changed\n"));
    let refused = resume(&["--lab", "lab.toml"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.err.contains("build of toy-right/current: "),
        "{refused:?}"
    );
    assert!(!refused.err.contains("hosts: "), "{refused:?}");
    checkout.write(toy, &text);
    let done = resume(&["--lab", "lab.toml"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(stored(), 4);
    until("nothing is left behind", || checkout.processes().is_empty());
}

#[test]
fn a_lab_file_that_is_wrong_is_told_by_its_line() {
    let checkout = with_pipes(1, &["right"]);
    checkout.write(
        "lab.toml",
        &PIPES.replace("service = \"app\"", "service = \"apps\""),
    );
    for arguments in [
        ["run", "toys", "--lab", "lab.toml"],
        ["lab", "check", "--lab", "lab.toml"],
    ] {
        let ended = prony(&checkout, &arguments);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(
            ended.err.contains("lab.toml:9: roles.service: no host `apps`"),
            "{ended:?}"
        );
    }
    checkout.write("lab.toml", &PIPES.replace("cpus = \"0\"", "cpus = \"4095\""));
    let ended = prony(&checkout, &["lab", "check", "--lab", "lab.toml"]);
    assert!(ended.err.contains("on app: it has no CPU 4095"), "{ended:?}");
}

#[test]
fn a_build_that_fails_there_is_a_row_with_the_reason() {
    let checkout = with_pipes(1, &["right"]);
    checkout.add("right", "\"echo what a pity; exit 4\"");
    let ended = prony(&checkout, &["run", "toys", "--lab", "lab.toml", "--json"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let report = ended.json();
    let excluded = &service(&report)["excluded"];
    assert_eq!(excluded["stage"], "build", "{excluded}");
    assert!(
        excluded["log_tail"].to_string().contains("what a pity"),
        "{excluded}"
    );
}

/// A toy of a checkout that runs by itself.
pub(crate) struct Toy {
    process: Child,
    pub(crate) url: String,
}

impl Toy {
    pub(crate) fn start(checkout: &Checkout) -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a port")
            .port();
        let process = Command::new("python3")
            .arg(checkout.path("services/toy-right/toy.py"))
            .env("HOST", "127.0.0.1")
            .env("PORT", port.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("python3");
        until("the toy listens", || {
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        let url = format!("http://127.0.0.1:{port}/api/test");
        Self { process, url }
    }

    fn end(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Toy {
    fn drop(&mut self) {
        self.end();
    }
}

/// A checkout, and hosts with OpenSSH: `h1` for the service, `h2` and `h3` for the load.
pub(crate) struct Away {
    pub(crate) checkout: Checkout,
    pub(crate) hosts: hosts::Lab,
}

impl Away {
    /// `None` where no hosts can be made, which is said.
    pub(crate) fn new(rounds: u32, measured: &str) -> Option<Self> {
        if let Some(reason) = hosts::without_labs() {
            skipped(&reason);
            return None;
        }
        let hosts = hosts::Lab::new(3, "");
        let checkout = Checkout::new(rounds, &["right"]);
        let suite = fs::read_to_string(checkout.path("suites/toys.toml")).expect("the suite");
        checkout.write(
            "suites/toys.toml",
            &suite.replace("duration = \"300ms\"", &format!("duration = \"{measured}\"")),
        );
        let words: Vec<String> = hosts.ssh().iter().map(|word| format!("\"{word}\"")).collect();
        let lab = format!(
            "[host.app]\nssh = \"h1\"\n[host.one]\nssh = \"h2\"\n[host.two]\nssh = \"h3\"\n[roles]\nservice = \"app\"\n\
             load = [\"one\", \"two\"]\n[ssh]\ncommand = [{}]\n",
            words.join(", ")
        );
        checkout.write("lab.toml", &lab);
        Some(Self { checkout, hosts })
    }

    /// The binary in the network of the controller.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let inner = self.checkout.command(arguments);
        let mut command = Command::new("nsenter");
        command
            .arg(self.hosts.net())
            .arg(inner.get_program())
            .args(inner.get_args());
        command.current_dir(self.checkout.path(""));
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self) -> Child {
        let arguments = ["run", "toys", "--lab", "lab.toml", "--json", "--keep-disturbed"];
        self.command(&arguments).spawn().expect("the binary starts")
    }

    fn ended(child: Child) -> Ended {
        Ended::of(&child.wait_with_output().expect("it ends"))
    }

    /// Processes of prony on a host, and what they started.
    fn processes(&self, host: &str) -> Vec<(i32, String)> {
        let home = self.hosts.of(host, "home");
        let pids = fs::read_dir("/proc").expect("/proc").filter_map(Result::ok);
        pids.filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let inside =
                |link: &str| fs::read_link(entry.path().join(link)).is_ok_and(|path| path.starts_with(&home));
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            (inside("exe") || inside("cwd")).then_some((pid, line))
        })
        .collect()
    }

    /// Waits until the generator runs on a host, and gives its process id.
    fn generator(&self, host: &str) -> i32 {
        let mut found = None;
        until("the generator runs", || {
            let all = self.processes(host);
            found = all
                .iter()
                .find(|(_, line)| line.contains("load --job"))
                .map(|(pid, _)| *pid);
            found.is_some()
        });
        found.expect("found")
    }

    pub(crate) fn nothing_is_left(&self, hosts: &[&str]) {
        for host in hosts {
            until("nothing is left behind", || self.processes(host).is_empty());
            let works = self.hosts.of(host, "home").join(".cache/prony/work");
            until("no folder is left behind", || {
                fs::read_dir(&works).map_or(0, Iterator::count) == 0
            });
        }
    }
}

#[test]
fn three_hosts_measure_over_ssh() {
    let Some(away) = Away::new(1, "300ms") else { return };
    let looked = Ended::of(
        &away
            .command(&["lab", "check", "--lab", "lab.toml", "--json"])
            .output()
            .expect("it starts"),
    );
    assert_eq!(looked.code, Some(0), "{looked:?}");
    let began = Instant::now();
    let ended = Away::ended(away.run());
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
    away.nothing_is_left(&["h1", "h2", "h3"]);
}

#[test]
fn a_lab_that_is_not_fit_is_refused_before_anything_is_built() {
    let Some(away) = Away::new(1, "300ms") else { return };
    let lab = fs::read_to_string(away.checkout.path("lab.toml")).expect("the lab");
    let elsewhere = lab.replace("ssh = \"h1\"", "ssh = \"h1\"\naddress = \"10.79.0.99\"");
    away.checkout.write("lab.toml", &elsewhere);
    let ended = Away::ended(away.run());
    assert_eq!(ended.code, Some(2), "{ended:?}");
    for part in [
        "the lab is not fit for a run",
        "one: app (10.79.0.99) is not reached from there",
        "two: app (10.79.0.99) is not reached from there",
        "mend `address` under [host.app]",
    ] {
        assert!(ended.err.contains(part), "{part}: {ended:?}");
    }
    assert!(!ended.err.contains("building"), "{ended:?}");
    away.nothing_is_left(&["h1", "h2", "h3"]);
}

#[test]
fn a_killed_worker_voids_the_trial_which_is_done_again() {
    let Some(away) = Away::new(1, "4s") else { return };
    let child = away.run();
    kill(away.generator("h3"));
    let ended = Away::ended(child);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended
            .err
            .contains("the bench failed, not the service: the generator on two"),
        "{ended:?}"
    );
    assert_eq!(service(&ended.json())["trials"], 1, "{ended:?}");
    away.nothing_is_left(&["h1", "h2", "h3"]);
}

#[test]
fn a_worker_that_stands_still_is_named_in_time() {
    let Some(away) = Away::new(1, "4s") else { return };
    let child = away.run();
    let late = away.generator("h3");
    send("STOP", late);
    let began = Instant::now();
    let ended = Away::ended(child);
    println!(
        "a worker that stands still: the run ended after {:?}",
        began.elapsed()
    );
    assert!(began.elapsed() < PATIENCE * 2, "{ended:?}");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended
            .err
            .contains("the bench failed, not the service: two came not as far as the other workers"),
        "{ended:?}"
    );
    assert_eq!(service(&ended.json())["trials"], 1, "{ended:?}");
    away.nothing_is_left(&["h1", "h2", "h3"]);
}

#[test]
fn a_host_without_power_ends_the_run_and_is_named() {
    let Some(mut away) = Away::new(4, "20s") else {
        return;
    };
    let child = away.run();
    away.generator("h2");
    away.hosts.switch_off(1);
    let began = Instant::now();
    let ended = Away::ended(child);
    assert!(began.elapsed() < PATIENCE * 2, "{ended:?}");
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let report = ended.json();
    let excluded = &service(&report)["excluded"];
    let reason = excluded["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("app"), "{excluded}");
    assert!(
        ended
            .err
            .contains("ended early, since a host of the lab is lost: cannot reach app"),
        "{ended:?}"
    );
    assert!(report["ended_at"].is_null(), "it can go on: {report}");
    away.nothing_is_left(&["h2", "h3"]);
}

#[test]
fn a_host_that_comes_back_is_used_again() {
    let Some(away) = Away::new(1, "6s") else { return };
    let child = away.run();
    away.generator("h3");
    away.hosts.cut("h3");
    // Longer than the lease, after which both sides give the connection up.
    std::thread::sleep(Duration::from_secs(8));
    away.hosts.mend("h3");
    let ended = Away::ended(child);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended
            .err
            .contains("the bench failed, not the service: lost the connection to two"),
        "{ended:?}"
    );
    let report = ended.json();
    assert_eq!(service(&report)["trials"], 1, "{report}");
    assert_eq!(report["state"], "ended", "{report}");
    away.nothing_is_left(&["h1", "h2", "h3"]);
}

#[test]
fn a_killed_controller_leaves_nothing_on_any_host() {
    let Some(away) = Away::new(1, "20s") else { return };
    let mut child = away.run();
    away.generator("h2");
    child.kill().expect("KILL");
    child.wait().expect("it is gone");
    let began = Instant::now();
    away.nothing_is_left(&["h1", "h2", "h3"]);
    println!(
        "after the end of the controller nothing was left within {:?}",
        began.elapsed()
    );
}

#[test]
fn ended_by_the_user_it_leaves_nothing() {
    let Some(away) = Away::new(3, "2s") else { return };
    let child = away.run();
    away.generator("h3");
    signal(&child, "INT");
    let ended = Away::ended(child);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    away.nothing_is_left(&["h1", "h2", "h3"]);
}

#[test]
fn two_runs_on_one_host_refuse_each_other() {
    let Some(away) = Away::new(1, "20s") else { return };
    let mut first = away.run();
    away.generator("h2");
    let second = Away::ended(away.run());
    assert_eq!(second.code, Some(2), "{second:?}");
    assert!(second.err.contains("is taken by `prony run toys"), "{second:?}");
    first.kill().expect("KILL");
    first.wait().expect("it is gone");
    away.nothing_is_left(&["h1", "h2", "h3"]);
}

#[test]
fn a_cut_of_three_seconds_is_survived() {
    let Some(away) = Away::new(1, "8s") else { return };
    let child = away.run();
    away.generator("h2");
    away.hosts.cut("h2");
    // A cut is an event in time: there is nothing to wait for but its end.
    std::thread::sleep(Duration::from_secs(3));
    away.hosts.mend("h2");
    let ended = Away::ended(child);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(service(&ended.json())["trials"], 1, "{ended:?}");
    away.nothing_is_left(&["h1", "h2", "h3"]);
}

fn kill(pid: i32) {
    send("KILL", pid);
}

fn send(signal: &str, pid: i32) {
    let sent = Command::new("kill")
        .args([&format!("-{signal}"), &pid.to_string()])
        .status()
        .expect("kill");
    assert!(sent.success());
}
