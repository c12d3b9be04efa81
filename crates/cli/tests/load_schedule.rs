//! The timing and number of requests, and the number of connections; and that a generator reports when it does not get its CPU.

use crate::common::{Request, json_of, listen, prony, reply, server, stderr_of};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::io::{BufReader, Write as _};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

fn load(arguments: &[&str]) -> Output {
    prony(&[&["load"], arguments].concat())
}

fn recording(arguments: &[&str]) -> Value {
    json_of(&load(&[arguments, &["--json"]].concat()))
}

fn kinds(recording: &Value) -> Vec<&str> {
    let warnings = recording["warnings"].as_array().expect("warnings");
    warnings
        .iter()
        .filter_map(|warning| warning["kind"].as_str())
        .collect()
}

/// A server that closes connections on request, and counts them.
fn closing() -> (String, Arc<AtomicU64>) {
    let accepted = Arc::new(AtomicU64::new(0));
    let counting = Arc::clone(&accepted);
    let port = listen(move |stream| {
        counting.fetch_add(1, Ordering::SeqCst);
        let mut stream = BufReader::new(stream);
        loop {
            let request = Request::read(&mut stream)?;
            stream.get_mut().write_all(&reply("ok")).ok()?;
            if request.head.contains("Connection: close") {
                return None;
            }
        }
    });
    (format!("http://127.0.0.1:{port}/"), accepted)
}

#[test]
fn a_number_of_requests_ends_the_measurement() {
    let url = server();
    for more in [&["-c", "7", "-t", "2"][..], &["-c", "3", "--rate", "2000"]] {
        let got = recording(&[&[&url, "-n", "500"][..], more].concat());
        assert_eq!(got["requests"]["offered"], 500, "{got}");
        assert_eq!(got["outcomes"]["valid"], 500);
        assert!(
            got["duration_s"]
                .as_f64()
                .is_some_and(|seconds| seconds > 0.0 && seconds < 60.0)
        );
    }
}

#[test]
fn connections_are_closed_after_each_request_on_request() {
    let (url, accepted) = closing();
    let got = recording(&[&url, "-c", "2", "-n", "20", "--no-keepalive"]);
    assert_eq!(got["outcomes"]["valid"], 20, "{got}");
    // One for each request, those that were made in advance, and the one that probed the port.
    let first = accepted.load(Ordering::SeqCst);
    assert!((21..=23).contains(&first), "{first}");
    let got = recording(&[&url, "-c", "1", "-n", "20", "--requests-per-connection", "5"]);
    assert_eq!(got["outcomes"]["valid"], 20, "{got}");
    let second = accepted.load(Ordering::SeqCst) - first;
    assert!((5..=6).contains(&second), "{second}");
    assert!(!kinds(&got).contains(&"connection_closed"), "{got}");
}

#[test]
fn stages_growth_pauses_and_threads_are_taken() {
    let url = server();
    let got = recording(&[&url, "-c", "4", "--stages", "200ms:100,100ms:1000"]);
    assert_eq!(got["requests"]["offered"], 120, "{got}");
    let got = recording(&[&url, "-c", "2:8:200ms", "-d", "400ms"]);
    assert_eq!(got["connections"]["established"], 8, "{got}");
    let got = recording(&[&url, "-c", "4", "-d", "400ms", "--think", "100ms", "-t", "auto"]);
    let offered = got["requests"]["offered"].as_u64().expect("a number");
    assert!((4..=20).contains(&offered), "{got}");
}

#[test]
fn what_contradicts_itself_is_refused() {
    let url = "http://127.0.0.1:9/";
    for (arguments, said) in [
        (&["-n", "5", "-d", "1s"][..], "--duration"),
        (&["-n", "0"], "1.."),
        (&["--rate", "5", "--stages", "1s:5"], "--stages"),
        (&["--stages", "1s:5", "-d", "1s"], "--duration"),
        (&["--stages", "1s"], "TIME:PER_S"),
        (&["-c", "5:2:1s"], "must not be larger than B"),
        (&["-c", "1:2:1s", "--rate", "5"], "closed load"),
        (&["-n", "5", "--users", "5"], "--users"),
        (
            &["--no-keepalive", "--requests-per-connection", "2"],
            "--requests-per-connection",
        ),
        (&["-t", "several"], "auto"),
    ] {
        let output = load(&[&[url], arguments].concat());
        assert!(
            output.status.code() == Some(2) && stderr_of(&output).contains(said),
            "{arguments:?}: {}",
            stderr_of(&output)
        );
    }
}

/// Stops the process repeatedly, each time for as long as it was allowed to run.
fn throttle(child: &Child) {
    let pid = Pid::from_raw(child.id() as i32);
    // Before the load begins there is nothing to disturb, so it does not matter how long that takes.
    let pulse = Duration::from_millis(150);
    for _ in 0..12 {
        std::thread::sleep(pulse);
        let _ = kill(pid, Signal::SIGSTOP);
        std::thread::sleep(pulse);
        let _ = kill(pid, Signal::SIGCONT);
    }
}

/// The recording of a load whose generator was stopped repeatedly.
fn load_with_stopped_generator(url: &str, transport: &str) -> Value {
    let child = Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(["load", url, "-c", "4", "--rate", "50", "-d", "3s", "--json"])
        .args(["--transport", transport])
        .stdout(Stdio::piped())
        .spawn()
        .expect("prony runs");
    throttle(&child);
    json_of(&child.wait_with_output().expect("its end"))
}

/// Maximum number of tries. On a machine so busy that the server needs a second for a reply, a delay of 150 ms is hidden.
const TRIES: u32 = 10;

/// Its lag is far above the service time, so it is the generator's own, not caused by a backlog of the service.
#[test]
fn a_generator_that_was_stopped_warns() {
    let url = server();
    for transport in ["epoll", "io-uring"] {
        let shows = |got: &Value| got["response_time_ns"]["p50"].as_u64() < Some(1_000_000_000);
        let mut tries = (0..TRIES).map(|_| load_with_stopped_generator(&url, transport));
        let got = tries.find(shows).unwrap_or_else(|| {
            panic!(
                "{transport}: this machine is too busy: {TRIES} times the server needed a second for a reply"
            )
        });
        assert!(
            kinds(&got).contains(&"schedule_lag"),
            "{transport}: {}",
            got["warnings"]
        );
    }
}
