//! `prony load` and `prony check` against servers that misbehave, each in a way that has occurred in practice
//! (`tests/toy/misbehaving.py`): exact counts of each outcome.

use crate::common::CommandOutput;
use crate::tls::{Authority, typed};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A server of [`misbehaving.py`](../toy/misbehaving.py); it is stopped on drop.
struct Server {
    process: Child,
    port: String,
}

impl Server {
    fn start(mode: &str) -> Self {
        Self::spawn(mode, &[])
    }

    /// With an untrusted certificate.
    fn with_tls(mode: &str) -> Self {
        let authority = Authority::new();
        let (certificate, key) = authority.signed("localhost");
        let certificate = authority.write("server.pem", &certificate.pem());
        let key = authority.write("server.key", &key.serialize_pem());
        // The server reads the certificate before it prints the port.
        Self::spawn(mode, &[typed(&certificate), typed(&key)])
    }

    fn spawn(mode: &str, certificate: &[&str]) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/toy/misbehaving.py");
        let mut process = Command::new("python3")
            .arg(script)
            .arg(mode)
            .args(certificate)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 starts");
        let mut port = String::new();
        let output = process.stdout.take().expect("it is piped");
        BufReader::new(output).read_line(&mut port).expect("a line");
        let port = port.trim().to_owned();
        assert!(!port.is_empty(), "{mode} has no port");
        Self { process, port }
    }

    /// The recording of a load of the path `/api/test`.
    fn load(&self, scheme: &str, arguments: &[&str]) -> Value {
        let ended = self.loaded(scheme, arguments);
        let recording = ended.json();
        assert_eq!(json!(ended.code), recording["exit"], "{ended:?}");
        assert_judged(&recording);
        recording
    }

    fn loaded(&self, scheme: &str, arguments: &[&str]) -> CommandOutput {
        let url = format!("{scheme}://127.0.0.1:{}/api/test", self.port);
        prony(&[&["load", &url, "--json"], arguments].concat())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn prony(arguments: &[&str]) -> CommandOutput {
    let output = Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(arguments)
        .env("NO_COLOR", "1")
        .output();
    CommandOutput::of(&output.expect("the binary starts"))
}

/// The outcomes with a count, by their names.
fn outcomes(recording: &Value) -> Value {
    let all = recording["outcomes"].as_object().expect("outcomes").clone();
    all.into_iter().filter(|(_, count)| count != 0).collect()
}

/// The verdict follows from the outcomes, whatever the server did: a load with fewer than half valid replies never passes.
fn assert_judged(recording: &Value) {
    let outcomes = recording["outcomes"].as_object().expect("outcomes");
    let due: u64 = outcomes.values().filter_map(Value::as_u64).sum();
    let valid = outcomes["valid"].as_u64().expect("a count");
    let verdict = recording["verdict"].as_str().expect("a verdict");
    let (wanted, exit): (&[&str], u64) = match valid {
        valid if valid == 0 || 2 * valid < due => (&["failed"], 3),
        valid if valid < due => (&["errors"], 0),
        _ => (&["ok", "lower_bound"], 0),
    };
    assert!(
        wanted.contains(&verdict),
        "{verdict}, not {wanted:?}: {recording:#}"
    );
    assert_eq!(recording["exit"], exit, "{recording:#}");
}

/// Whether there is a warning of this kind.
fn warns(recording: &Value, kind: &str) -> bool {
    let warnings = recording["warnings"].as_array().expect("warnings");
    warnings.iter().any(|warning| warning["kind"] == kind)
}

#[test]
fn each_outcome_is_counted_exactly() {
    let once = ["-c", "1", "-n", "20"];
    let pipelined = ["-c", "2", "--in-flight", "8", "-n", "400"];
    let second = ["-d", "1s", "--timeout", "500ms"];
    for (mode, arguments, wanted) in [
        ("all-404", once.to_vec(), json!({"status": 20})),
        ("all-503", once.to_vec(), json!({"status": 20})),
        (
            "each-tenth-hangs",
            [&["--rate", "100", "-c", "64"], second.as_slice()].concat(),
            json!({"valid": 90, "timeout": 10}),
        ),
        (
            "each-second-closes",
            [&["--no-retry"], once.as_slice()].concat(),
            json!({"valid": 10, "reset": 10}),
        ),
        // Requests that were not processed after `Connection: close` are sent again, as after GOAWAY.
        ("ten-per-connection", pipelined.to_vec(), json!({"valid": 400})),
        (
            "ten-per-connection-http2",
            [&["--http2"], pipelined.as_slice()].concat(),
            json!({"valid": 400}),
        ),
        (
            "gzip-without-body",
            [&["--decode"], once.as_slice()].concat(),
            json!({"valid": 20}),
        ),
        (
            "gzip-without-body",
            [&["--decode", "-X", "HEAD"], once.as_slice()].concat(),
            json!({"valid": 20}),
        ),
        ("length-twice", once.to_vec(), json!({"valid": 20})),
        ("folded-line", once.to_vec(), json!({"valid": 20})),
        ("bare-line-feeds", once.to_vec(), json!({"unexpected": 20})),
        ("length-and-chunks", once.to_vec(), json!({"unexpected": 20})),
    ] {
        let recording = Server::start(mode).load("http", &arguments);
        assert_eq!(outcomes(&recording), wanted, "{mode}: {recording:#}");
    }
}

#[test]
fn a_fast_503_is_in_no_percentile_of_valid_replies() {
    let server = Server::start("half-503");
    let recording = server.load("http", &["--rate", "40", "-c", "64", "-d", "1s"]);
    assert_eq!(outcomes(&recording), json!({"valid": 20, "status": 20}));
    let slow = |figure: &str| {
        let value = recording[figure]["p50"].as_u64();
        value.unwrap_or_else(|| panic!("{figure}: {recording:#}")) >= 200_000_000
    };
    assert!(slow("response_time_ns") && slow("valid_time_ns"), "{recording:#}");
    assert_eq!(recording["response_time_ns"]["p75"], "no_bound", "{recording:#}");
}

#[test]
fn requests_of_a_server_that_never_answers_are_told() {
    let server = Server::start("silent");
    let load = ["-c", "2", "-d", "300ms", "--warmup", "200ms", "--timeout", "1s"];
    let recording = server.load("http", &load);
    assert_eq!(outcomes(&recording), json!({"timeout": 2}), "{recording:#}");
    assert_eq!(recording["response_time_ns"]["p50"], "no_bound", "{recording:#}");
    let endless = Server::start("endless");
    let recording = endless.load("http", &["-c", "1", "-n", "2", "--timeout", "300ms"]);
    assert_eq!(outcomes(&recording), json!({"timeout": 2}), "{recording:#}");
}

/// Ten requests a second over one connection to a server that takes 200 ms for each.
#[test]
fn a_timeout_counts_from_when_a_request_was_due() {
    let server = Server::start("slow");
    let load = ["-c", "1", "--rate", "10", "-d", "2s", "--timeout", "500ms"];
    let recording = server.load("http", &load);
    let slowest = recording["valid_time_ns"]["max"].as_u64().expect("a time");
    assert!(slowest <= 510_000_000, "{recording:#}");
    let found = outcomes(&recording);
    let count = |name: &str| found[name].as_u64().unwrap_or(0);
    assert!(count("valid") > 0 && count("timeout") > 0, "{recording:#}");
    assert_eq!(count("valid") + count("timeout"), 20, "{recording:#}");
}

#[test]
fn a_408_on_an_idle_connection_accuses_nobody() {
    let server = Server::start("timeout-408");
    let recording = server.load("http", &["--rate", "2", "-c", "2", "-d", "2s"]);
    assert_eq!(outcomes(&recording), json!({"valid": 4}), "{recording:#}");
    assert!(
        !recording["warnings"].to_string().contains("protocol"),
        "{recording:#}"
    );
}

#[test]
fn a_request_lost_with_an_idle_connection_is_sent_once_more_if_it_is_safe() {
    let server = Server::start("fifth-request-lost");
    let recording = server.load("http", &["-c", "1", "-n", "200"]);
    assert_eq!(outcomes(&recording), json!({"valid": 200}), "{recording:#}");
    assert!(warns(&recording, "retried"), "{recording:#}");
    for arguments in [
        ["-c", "1", "-n", "200", "-X", "POST"].as_slice(),
        &["-c", "1", "-n", "200", "--no-retry"],
    ] {
        let recording = server.load("http", arguments);
        assert_eq!(
            outcomes(&recording),
            json!({"valid": 160, "reset": 40}),
            "{arguments:?}: {recording:#}"
        );
    }
}

#[test]
fn a_connection_is_replaced_at_goaway_while_an_old_stream_runs() {
    let server = Server::start("goaway-before-a-slow-stream");
    let load = [
        "--http2",
        "-c",
        "1",
        "--in-flight",
        "32",
        "--rate",
        "20",
        "-d",
        "3s",
    ];
    let recording = server.load("http", &load);
    assert_eq!(outcomes(&recording), json!({"valid": 60}), "{recording:#}");
    // Three of the sixty take a second; the other streams do not wait for them.
    let p75 = recording["response_time_ns"]["p75"].as_u64().expect("a time");
    assert!(p75 < 900_000_000, "{recording:#}");
}

#[test]
fn a_server_that_says_goodbye_first_is_named() {
    let server = Server::start("goaway-in-greeting");
    let ended = server.loaded("http", &["--http2", "-c", "4", "-d", "1s"]);
    assert_ne!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.out.contains("GOAWAY") || ended.err.contains("GOAWAY"),
        "{ended:?}"
    );
    let server = Server::with_tls("http1-in-greeting");
    let ended = server.loaded("https", &["--insecure", "--http2", "-c", "1", "-n", "5"]);
    assert_ne!(ended.code, Some(0), "{ended:?}");
    let said = format!("{}{}", ended.out, ended.err);
    assert!(said.contains("the service answers in HTTP/1.1"), "{ended:?}");
}

#[test]
fn one_bad_greeting_over_tls_ends_no_load() {
    let server = Server::with_tls("third-greeting-is-http1");
    let load = ["--insecure", "--http2", "-c", "1", "--rate", "50", "-d", "2s"];
    let recording = server.load("https", &load);
    assert_eq!(outcomes(&recording), json!({"valid": 100}), "{recording:#}");
}

#[test]
fn a_body_cut_over_tls_is_no_reply() {
    let server = Server::with_tls("cut-over-tls");
    let recording = server.load("https", &["--insecure", "-c", "1", "-n", "5"]);
    assert_eq!(outcomes(&recording), json!({"unexpected": 5}), "{recording:#}");
    assert!(recording.to_string().contains("close_notify"), "{recording:#}");
}

#[test]
fn users_who_are_refused_count_with_all_their_requests() {
    let server = Server::start("refuses-after-the-probe");
    let load = ["--users", "50", "--requests-per-user", "10", "-d", "1s"];
    let recording = server.load("http", &load);
    assert_eq!(
        outcomes(&recording),
        json!({"connect_error": 500}),
        "{recording:#}"
    );
}

#[test]
fn the_think_time_of_one_user_is_in_no_time_of_another() {
    let server = Server::start("away-for-a-while");
    let load = [
        "--users",
        "2",
        "--requests-per-user",
        "2",
        "--think",
        "3s",
        "-d",
        "4s",
    ];
    let recording = server.load("http", &load);
    let slowest = recording["valid_time_ns"]["max"].as_u64().expect("a time");
    assert!(slowest < 1_500_000_000, "{recording:#}");
    assert_eq!(outcomes(&recording)["connect_error"], 1, "{recording:#}");
}

#[test]
fn a_websocket_server_may_speak_first() {
    let server = Server::start("speaks-first");
    let recording = server.load("ws", &["--message", "hi", "-c", "2", "-n", "20"]);
    assert_eq!(outcomes(&recording), json!({"valid": 20}), "{recording:#}");
}

/// Prints the peak memory of a program, KiB, after its output.
const WITH_MEMORY: &str = "import resource, subprocess, sys\n\
    subprocess.run(sys.argv[1:], stderr=subprocess.DEVNULL)\n\
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)";

/// Loads with twelve large bodies in flight at the same time.
#[test]
fn large_bodies_are_kept_only_where_that_is_needed() {
    for (mode, rules) in [
        ("twenty-mebibytes", &[][..]),
        ("twelve-mebibytes-of-json", &["--expect-json", "/id=7"]),
    ] {
        let server = Server::start(mode);
        let url = format!("http://127.0.0.1:{}/", server.port);
        let load = ["load", &url, "-c", "12", "-n", "24", "--timeout", "60s", "--json"];
        let output = Command::new("python3")
            .args(["-c", WITH_MEMORY, env!("CARGO_BIN_EXE_prony")])
            .args([load.as_slice(), rules].concat())
            .output();
        let ended = CommandOutput::of(&output.expect("python3 starts"));
        let (recording, most_kib) = ended.out.trim_end().rsplit_once('\n').expect("two parts");
        let recording: Value =
            serde_json::from_str(recording).unwrap_or_else(|error| panic!("{error}: {ended:?}"));
        assert_eq!(outcomes(&recording), json!({"valid": 24}), "{recording:#}");
        let most_kib: u64 = most_kib.parse().expect("a number");
        assert!(most_kib < 100 << 10, "{mode}: {most_kib} KiB");
    }
}

#[test]
fn the_check_and_the_load_read_a_head_alike() {
    for (mode, is_right) in [
        ("usual-head", true),
        ("length-twice", true),
        ("folded-line", true),
        ("bare-line-feeds", false),
        ("length-and-chunks", false),
    ] {
        let server = Server::start(mode);
        let url = format!("http://127.0.0.1:{}", server.port);
        let checked = prony(&["check", "--url", &url, "hello"]);
        assert_eq!(checked.code == Some(0), is_right, "{mode}: {checked:?}");
        let recording = server.load("http", &["-c", "1", "-n", "10"]);
        assert_eq!(
            outcomes(&recording)["valid"] == 10,
            is_right,
            "{mode}: {recording:#}"
        );
    }
}
