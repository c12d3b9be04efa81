//! The controller of a testbed is killed at ten points of a run: no host keeps any process or file, and the run can be resumed.

use crate::common::{Checkout, CommandOutput, PATIENCE, until};
use crate::ssh_hosts::SshHosts;
use crate::testbed::service;
use rusqlite::Connection;
use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

const HOSTS: [&str; 3] = ["h1", "h2", "h3"];
/// Within this time, every host must be clean: twice the lease of an agent.
const CLEAN_WITHIN: Duration = Duration::from_secs(10);

/// The externally visible state of a run.
struct RunState<'a> {
    remote: &'a SshHosts,
    /// The stored progress of the run before this controller started.
    before: Option<String>,
}

/// A point of a run at which the controller is killed, and whether the run has reached it.
type KillPoint = (&'static str, fn(&RunState<'_>) -> bool);

/// In chronological order: each kill leaves the run at an earlier point than the next one.
const KILL_POINTS: [KillPoint; 10] = [
    ("prony is copied to a host", |run| {
        let cache = run.remote.hosts.of("h1", "home").join(".cache/prony/agent");
        fs::read_dir(cache).is_ok_and(|mut files| files.next().is_some())
    }),
    ("every host is reached", |run| run.runs_on(&HOSTS, " agent ")),
    ("the network is measured", |run| {
        run.runs_on(&["h1"], "link --listen")
    }),
    ("services are built", |run| run.runs_on(&["h1"], "build --json")),
    ("the service starts", |run| run.runs_on(&["h1"], "toy.py")),
    ("a request is sent to the service", |run| {
        let works = run.remote.hosts.of("h1", "home").join(".cache/prony/work");
        holds(&works, b"a request")
    }),
    ("the workers have their shares", |run| {
        run.runs_on(&["h2", "h3"], "load --job")
    }),
    ("the warm-up", |run| run.phase().is_some() || run.trials() > 0),
    ("the measurement", |run| {
        run.phase().is_some_and(|phase| phase != "warm_up") || run.trials() > 0
    }),
    ("the second trial", |run| {
        run.trials() > 0 && run.runs_on(&["h1"], "toy.py")
    }),
];

impl RunState<'_> {
    fn runs_on(&self, hosts: &[&str], words: &str) -> bool {
        hosts
            .iter()
            .all(|host| self.remote.running(host, words).is_some())
    }

    fn phase(&self) -> Option<String> {
        let now = progress(self.remote);
        let changed = now.filter(|now| self.before.as_ref() != Some(now))?;
        let now: serde_json::Value = serde_json::from_str(&changed).expect("JSON");
        now["phase"].as_str().map(str::to_owned)
    }

    fn trials(&self) -> i64 {
        ask(self.remote, "SELECT count(*) FROM trial").unwrap_or(0)
    }
}

/// The stored progress of the current run.
fn progress(remote: &SshHosts) -> Option<String> {
    ask(remote, "SELECT record FROM progress")
}

fn ask<T: rusqlite::types::FromSql>(remote: &SshHosts, question: &str) -> Option<T> {
    let store = remote.checkout.path(".prony/store.db");
    // Opening a store that does not exist would create it.
    let store = store.exists().then(|| Connection::open(store))?.ok()?;
    store.query_row(question, [], |row| row.get(0)).ok()
}

/// Whether a file below a folder contains these bytes.
fn holds(folder: &Path, bytes: &[u8]) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| {
        let found = |content: Vec<u8>| content.windows(bytes.len()).any(|part| part == bytes);
        holds(&path, bytes) || fs::read(&path).is_ok_and(found)
    })
}

#[test]
fn a_controller_killed_at_ten_points_leaves_nothing_on_any_host() {
    let checkout = Checkout::new(2, &["logs"]);
    let Some(remote) = SshHosts::with(checkout) else {
        return;
    };
    remote.testbed("testbed.toml", "load = [\"one\", \"two\"]\ncompanion = \"app\"");
    let mut longest = Duration::ZERO;
    for (point, has_come) in KILL_POINTS {
        let run = RunState {
            remote: &remote,
            before: progress(&remote),
        };
        let began = Instant::now();
        let (child, killed) = kill(start(&remote, &[]), point, || has_come(&run));
        remote.nothing_is_left(&HOSTS);
        let left = killed.elapsed();
        longest = longest.max(left);
        println!("{point}: killed after {:?}, clean after {left:?}", killed - began);
        assert!(left < CLEAN_WITHIN, "{point}: leftovers for {left:?}");
        let halves = |host: &&str| {
            let copies = remote.hosts.of(host, "home").join(".cache/prony/agent");
            let copies = fs::read_dir(copies).into_iter().flatten().flatten();
            let mut names = copies.map(|file| file.file_name().to_string_lossy().into_owned());
            names.any(|name| name.contains(".part."))
        };
        until("no partial copy of prony is left", || !HOSTS.iter().any(halves));
        until("nothing is left here", || remote.checkout.processes().is_empty());
        let listed = remote.checkout.prony(&["list", "runs"]);
        assert_eq!(listed.code, Some(0), "{point}: {child:?}: {listed:?}");
    }
    println!("every host was clean after at most {longest:?}");
    let ended = SshHosts::ended(start(&remote, &["--json"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(service(&ended.json())["trials"], 2, "{ended:?}");
    remote.nothing_is_left(&HOSTS);
}

/// Starts the run, or resumes it if it is stored.
fn start(remote: &SshHosts, more: &[&str]) -> Child {
    let is_stored = ask::<i64>(remote, "SELECT count(*) FROM run").is_some_and(|runs| runs > 0);
    let what: &[&str] = if is_stored {
        &["run", "--resume"]
    } else {
        &["run", "toys"]
    };
    remote.start(&[what, &["--testbed", "testbed.toml", "--keep-disturbed"], more].concat())
}

/// Kills a controller as soon as this point is reached; returns its output, and when it was killed.
fn kill(mut child: Child, point: &str, has_come: impl Fn() -> bool) -> (CommandOutput, Instant) {
    let deadline = Instant::now() + PATIENCE;
    while !has_come() {
        let ended = child.try_wait().expect("asked");
        if ended.is_some() || Instant::now() > deadline {
            let _ = child.kill();
            panic!("{point}: never reached: {:?}", SshHosts::ended(child));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().expect("KILL");
    let killed = Instant::now();
    (SshHosts::ended(child), killed)
}
