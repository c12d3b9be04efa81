//! Commands other than `run` with a testbed, over hosts that are agents on this machine.

use crate::common::{CommandOutput, PATIENCE, signal, until};
use crate::hosts;
use crate::skip::skipped;
use crate::ssh_hosts::SshHosts;
use crate::testbed::{Toy, command, prony, with_pipes};
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

#[test]
fn the_capacity_of_a_url_is_searched_by_all_workers() {
    let checkout = with_pipes(1, &["right"]);
    let toy = Toy::start(&checkout, "right");
    let arguments = [
        "capacity",
        &toy.url,
        "--testbed",
        "testbed.toml",
        "--objective",
        "errors<50%",
    ];
    let more = [
        "--start",
        "200",
        "--limit",
        "300",
        "--confirm",
        "1s",
        "--precision",
        "50%",
        "-c",
        "4",
        "-d",
        "300ms",
        "--json",
    ];
    let ended = prony(&checkout, &[&arguments[..], &more].concat());
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    let found = ended.json();
    let curve = found["curve"].as_array().expect("points");
    assert!(!curve.is_empty(), "{found}");
    for point in curve {
        assert!(point["outcomes"]["valid"].is_u64(), "{point}");
        assert_eq!(point["network_bound"], false, "{point}");
    }
    assert!(
        ended.err.contains("objective\n") && ended.err.contains("✓\n"),
        "{ended:?}"
    );
    let logs = fs::read_dir(checkout.path("agents/work")).map_or(0, Iterator::count);
    assert_eq!(logs, 0, "the agents ran and removed their folders");
    let remote = prony(
        &checkout,
        &[&arguments[..3], &["nowhere.toml"], &arguments[4..]].concat(),
    );
    assert_eq!(remote.code, Some(2), "{remote:?}");
}

#[test]
fn a_testbed_is_calibrated_and_its_runs_cite_it() {
    let checkout = with_pipes(1, &["right"]);
    let last = ["calibrate", "--last", "--json"];
    let in_testbed = ["--testbed", "testbed.toml"];
    let arguments = ["calibrate", "--short", "--rounds", "3", "--json"];
    let ended = prony(&checkout, &[&arguments[..], &in_testbed].concat());
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    let found = ended.json();
    assert_eq!(
        found["hosts"],
        serde_json::json!(["app", "one", "two"]),
        "{found}"
    );
    assert_eq!(found["checks"].as_array().map(Vec::len), Some(12), "{found}");
    assert_eq!(found["same_twice"]["rounds"], 3, "{found}");
    let machine = found["machine"].as_str().expect("a name");
    assert!(machine.starts_with("app (service) on 1 of "), "{machine}");
    assert_eq!(prony(&checkout, &[&last[..], &in_testbed].concat()).json(), found);
    let text = prony(&checkout, &[&last[..2], &in_testbed].concat()).out;
    assert!(text.contains("this testbed"), "{text}");
    let here = prony(&checkout, &last);
    assert!(here.err.contains("this machine was never calibrated"), "{here:?}");
    let testbed = fs::read_to_string(checkout.path("testbed.toml")).expect("the testbed");
    checkout.write("other.toml", &testbed.replace("[\"one\", \"two\"]", "\"one\""));
    let other = prony(&checkout, &[&last[..], &["--testbed", "other.toml"]].concat());
    assert_eq!(other.code, Some(2), "{other:?}");
    assert!(
        other.err.contains("this testbed was never calibrated"),
        "{other:?}"
    );
    // Both workers loaded the service, which is entered twice in the report.
    let report = prony(&checkout, &["report", "--json"]).json();
    let points = &report["groups"][0]["services"][0]["details"]["points"];
    assert_eq!(points[0]["workers"].as_array().map(Vec::len), Some(2), "{points}");
    let arguments = ["run", "toys", "--json", "--keep-disturbed"];
    let run = prony(&checkout, &[&arguments[..], &in_testbed].concat()).json();
    let at = found["calibrated_at"].as_str().expect("a time");
    let cited = format!("This testbed was calibrated at {at}");
    assert!(run["method"].to_string().contains(&cited), "{}", run["method"]);
    until("nothing is left behind", || checkout.processes().is_empty());
}

#[test]
fn services_are_built_several_times_on_their_host() {
    let checkout = with_pipes(4, &["right"]);
    checkout.add("right", "\"date +%N > built\"");
    let run = || {
        let arguments = [
            "run",
            "toys",
            "--testbed",
            "testbed.toml",
            "--builds",
            "2",
            "--json",
        ];
        let ended = prony(&checkout, &[&arguments[..], &["--keep-disturbed"]].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.json()
    };
    let stamps = || -> Vec<String> {
        let projects = fs::read_dir(checkout.path("agents/projects")).expect("the projects there");
        let builds = projects
            .flatten()
            .flat_map(|project| fs::read_dir(project.path().join(".prony/build")).expect("builds"));
        let stamps = builds.flatten().map(|build| build.path().join("built"));
        stamps
            .filter_map(|stamp| fs::read_to_string(stamp).ok())
            .collect()
    };
    let report = run();
    let components = &report["groups"][0]["services"][0]["variation"]["components"];
    assert!(components.to_string().contains("between_builds"), "{report}");
    let first = stamps();
    assert_eq!(first.len(), 2, "{first:?}");
    assert_ne!(first[0], first[1], "each build is separate");
    run();
    let second = stamps();
    assert_eq!(second.len(), 2, "{second:?}");
    assert!(
        second.iter().all(|stamp| !first.contains(stamp)),
        "{first:?} {second:?}"
    );
}

#[test]
fn a_running_server_is_not_checked_in_a_testbed() {
    let checkout = with_pipes(1, &["right"]);
    let arguments = [
        "check",
        "--url",
        "http://127.0.0.1:1",
        "hello",
        "--testbed",
        "testbed.toml",
    ];
    let ended = prony(&checkout, &arguments);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("remove --testbed"), "{ended:?}");
}

/// `prony serve` in a checkout.
struct Serves {
    process: Child,
    address: String,
    token: String,
}

impl Serves {
    fn start(checkout: &crate::common::Checkout) -> Self {
        let mut process = command(checkout, &["serve", "--port", "0", "--json"])
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().expect("piped"))
            .read_line(&mut line)
            .expect("it says where it listens");
        let said: Value = serde_json::from_str(&line).expect("JSON");
        let url = said["url"].as_str().expect("a URL");
        let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let token = said["token"].as_str().expect("a token").to_owned();
        Self {
            process,
            address,
            token,
        }
    }

    /// The lines of a response.
    fn lines(&self, path: &str) -> impl Iterator<Item = String> + use<> {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
            self.address, self.token
        );
        stream.write_all(request.as_bytes()).expect("sent");
        BufReader::new(stream).lines().map_while(Result::ok)
    }
}

impl Drop for Serves {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn each_worker_is_shown_while_a_run_goes_on() {
    let checkout = with_pipes(1, &["right"]);
    let arguments = [
        "run",
        "toys",
        "--testbed",
        "testbed.toml",
        "--keep-disturbed",
        "-d",
        "50s",
    ];
    let mut child = command(&checkout, &arguments).spawn().expect("the binary starts");
    until("the run has started", || {
        let listed = checkout.prony(&["list", "runs", "--json"]);
        listed.code == Some(0) && listed.json()["runs"][0]["run"].is_string()
    });
    let server = Serves::start(&checkout);
    let news = server.lines("/api/runs/latest/events").filter_map(|line| {
        let data = line.strip_prefix("data:")?.trim().to_owned();
        serde_json::from_str::<Value>(&data).ok()
    });
    let rate = |worker: &Value| worker["throughput_per_s"].as_f64().is_some_and(|rate| rate > 0.0);
    let seen = news
        .inspect(|news| assert_eq!(news["running"], true, "{news}"))
        .map(|news| news["progress"]["workers"].clone())
        .find(|workers| {
            let workers = workers.as_array().map_or(&[][..], Vec::as_slice);
            workers.len() == 2 && workers.iter().all(rate)
        });
    let seen = seen.expect("the rates of both workers");
    assert_eq!(
        (&seen[0]["name"], &seen[1]["name"]),
        (&"one".into(), &"two".into()),
        "{seen}"
    );
    for worker in seen.as_array().expect("both") {
        let state = worker["state"].as_str().expect("a state");
        assert!(["warm_up", "measurement"].contains(&state), "{seen}");
    }
    let body: String = server
        .lines("/api/runs/latest")
        .skip_while(|line| !line.is_empty())
        .collect();
    let start = body.find('{').expect("JSON");
    let end = body.rfind('}').expect("JSON");
    let report: Value = serde_json::from_str(&body[start..=end]).expect("JSON");
    let hosts = &report["environment"]["hosts"];
    assert_eq!(hosts["app"]["roles"], serde_json::json!(["service"]), "{hosts}");
    // The first signal lets it finish this trial, further ones stop it at once.
    until("it ends", || {
        signal(&child, "INT");
        child.try_wait().expect("a state").is_some()
    });
    let ended = CommandOutput::of(&child.wait_with_output().expect("it ends"));
    assert_eq!(ended.code, Some(130), "{ended:?}");
    drop(server);
    until("nothing is left behind", || checkout.processes().is_empty());
}

/// A process that is killed on drop.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A toy with large replies on the host of the service, which prony did not start.
fn wide_toy(remote: &SshHosts) -> Ends {
    let server = Command::new("nsenter")
        .args([&remote.hosts.net_of(1), "python3"])
        .arg(remote.checkout.path("services/toy-wide/toy.py"))
        .envs([
            ("HOST", hosts::address(1).as_str()),
            ("PORT", "8080"),
            ("MODE", "wide"),
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let server = Ends(server.expect("python3"));
    until("the toy listens", || {
        let reach = format!("exec 3<>/dev/tcp/{}/8080", hosts::address(1));
        let mut command = Command::new("nsenter");
        command
            .args([&remote.hosts.net(), "bash", "-c", &reach])
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    });
    server
}

#[test]
fn a_network_that_is_the_limit_is_named_by_duets_and_loads() {
    let Some(remote) = SshHosts::new(1, "300ms") else {
        return;
    };
    if Command::new("tc").arg("-V").output().is_err() {
        return skipped("`tc` is missing (apt-get install iproute2)");
    }
    remote.checkout.add("wide", "");
    let prony = |arguments: &[&str]| {
        let output = remote
            .command(&[arguments, &["--testbed", "testbed.toml", "--json"]].concat())
            .output();
        let ended = CommandOutput::of(&output.expect("it starts"));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.json()
    };
    // Installs the binary there while the network is fast.
    prony(&["testbed", "check"]);
    if let Err(reason) = remote.hosts.throttle(1, "4mbit") {
        skipped(&reason);
        return;
    }
    let times = ["--rounds", "2", "-d", "2s", "--warmup", "500ms", "-c", "8"];
    let duet = prony(&[&["duet", "toy-wide", "toy-wide"], &times[..]].concat());
    let warnings = duet["warnings"].to_string();
    assert!(warnings.contains(" of 2 rounds: Network limit: "), "{warnings}");
    assert!(warnings.contains(" Gbit/s from "), "{warnings}");
    let run = duet["run"].as_str().expect("a run");
    let report = remote.checkout.prony(&["report", run, "--json"]).json();
    assert!(
        report["environment"]["links"].to_string().contains("\"two\""),
        "{report}"
    );
    assert!(report["groups"].to_string().contains("network_bound"), "{report}");
    let _server = wide_toy(&remote);
    let url = format!("http://{}:8080/api/test", hosts::address(1));
    let recording = prony(&["load", &url, "-c", "8", "-d", "2s"]);
    let warnings = recording["warnings"].to_string();
    assert!(warnings.contains("\"network_bound\""), "{warnings}");
    assert!(warnings.contains("to app"), "{warnings}");
    let capacity = [
        "capacity",
        &url,
        "--objective",
        "errors<50%",
        "--start",
        "40",
        "--limit",
        "40",
        "-c",
        "4",
        "-d",
        "1s",
    ];
    let found = prony(&capacity);
    assert_eq!(found["curve"][0]["network_bound"], false, "{found}");
    remote.nothing_is_left(&["h2", "h3"]);
}

/// Hosts that are pods of a cluster that does not exist.
const PODS: &str = r#"
[kubernetes]
kubeconfig = "nowhere"
namespace = "bench"
image = "debian:12"
[host.app]
cpus = 2
[host.load]
replicas = 2
[roles]
service = "app"
load = "load"
"#;

#[test]
fn pods_need_a_cluster_and_rights_that_are_printed() {
    let checkout = with_pipes(1, &["right"]);
    let pipes = prony(&checkout, &["testbed", "clean", "--testbed", "testbed.toml"]);
    assert_eq!(pipes.code, Some(2), "{pipes:?}");
    assert!(pipes.err.contains("its hosts are not pods"), "{pipes:?}");
    checkout.write("testbed.toml", PODS);
    let role = prony(
        &checkout,
        &["testbed", "rbac", "--testbed", "testbed.toml", "--user", "ann"],
    );
    assert_eq!(role.code, Some(0), "{role:?}");
    for part in [
        "namespace: bench}",
        "resources: [pods/exec]",
        "{kind: User, name: \"ann\",",
    ] {
        assert!(role.out.contains(part), "{part}: {role:?}");
    }
    let wrong = prony(&checkout, &["testbed", "rbac", "--namespace", "Not one"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    let said = if cfg!(feature = "kubernetes") {
        "cannot connect to a cluster"
    } else {
        "this prony was built without Kubernetes"
    };
    for arguments in [
        &["testbed", "check", "--testbed", "testbed.toml"][..],
        &["testbed", "clean", "--testbed", "testbed.toml"],
        &["run", "toys", "--testbed", "testbed.toml"],
    ] {
        let ended = prony(&checkout, arguments);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.err.contains(said), "{ended:?}");
    }
    checkout.write("testbed.toml", &PODS.replace("cpus = 2", "cpus = 0.5"));
    let part = prony(&checkout, &["testbed", "check", "--testbed", "testbed.toml"]);
    assert_eq!(part.code, Some(2), "{part:?}");
    assert!(
        part.err.contains("`cpus` is the number 0.5") && part.err.contains("\n  testbed.toml:7:8\n"),
        "{part:?}"
    );
}
