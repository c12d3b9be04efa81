//! The controller of a testbed is killed at ten moments of a run: no host keeps any process or file, and the run can be resumed.

use crate::away::Away;
use crate::common::{Checkout, Ended, PATIENCE, until};
use crate::testbed::service;
use rusqlite::Connection;
use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

const HOSTS: [&str; 3] = ["h1", "h2", "h3"];
/// Within this time, every host must be clean: twice the lease of an agent.
const GONE: Duration = Duration::from_secs(10);

/// The externally visible state of a run.
struct Seen<'a> {
    away: &'a Away,
    /// The stored progress of the run before this controller started.
    before: Option<String>,
}

/// A moment of a run, and whether it has been reached.
type Moment = (&'static str, fn(&Seen<'_>) -> bool);

/// In chronological order; each kill leaves the run at an earlier moment than the next one.
const MOMENTS: [Moment; 10] = [
    ("prony is copied to a host", |seen| {
        let cache = seen.away.hosts.of("h1", "home").join(".cache/prony/agent");
        fs::read_dir(cache).is_ok_and(|mut files| files.next().is_some())
    }),
    ("every host is reached", |seen| seen.runs_on(&HOSTS, " agent ")),
    ("the network is measured", |seen| {
        seen.runs_on(&["h1"], "link --listen")
    }),
    ("services are built", |seen| seen.runs_on(&["h1"], "build --json")),
    ("the service starts", |seen| seen.runs_on(&["h1"], "toy.py")),
    ("the service is asked", |seen| {
        let works = seen.away.hosts.of("h1", "home").join(".cache/prony/work");
        holds(&works, b"a request")
    }),
    ("the workers have their shares", |seen| {
        seen.runs_on(&["h2", "h3"], "load --job")
    }),
    ("the warm-up", |seen| seen.phase().is_some() || seen.trials() > 0),
    ("the measurement", |seen| {
        seen.phase().is_some_and(|phase| phase != "warm_up") || seen.trials() > 0
    }),
    ("the second trial", |seen| {
        seen.trials() > 0 && seen.runs_on(&["h1"], "toy.py")
    }),
];

impl Seen<'_> {
    fn runs_on(&self, hosts: &[&str], words: &str) -> bool {
        hosts.iter().all(|host| self.away.running(host, words).is_some())
    }

    fn phase(&self) -> Option<String> {
        let now = progress(self.away);
        let told = now.filter(|now| self.before.as_ref() != Some(now))?;
        let now: serde_json::Value = serde_json::from_str(&told).expect("JSON");
        now["phase"].as_str().map(str::to_owned)
    }

    fn trials(&self) -> i64 {
        ask(self.away, "SELECT count(*) FROM trial").unwrap_or(0)
    }
}

/// The stored progress of the current run.
fn progress(away: &Away) -> Option<String> {
    ask(away, "SELECT record FROM progress")
}

fn ask<T: rusqlite::types::FromSql>(away: &Away, question: &str) -> Option<T> {
    let store = away.checkout.path(".prony/store.db");
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
fn a_controller_killed_at_ten_moments_leaves_nothing_on_any_host() {
    let checkout = Checkout::new(2, &["logs"]);
    let Some(away) = Away::with(checkout) else { return };
    away.testbed("testbed.toml", "load = [\"one\", \"two\"]\ncompanion = \"app\"");
    let mut longest = Duration::ZERO;
    for (moment, has_come) in MOMENTS {
        let seen = Seen {
            away: &away,
            before: progress(&away),
        };
        let began = Instant::now();
        let (child, killed) = kill(start(&away, &[]), moment, || has_come(&seen));
        away.nothing_is_left(&HOSTS);
        let left = killed.elapsed();
        longest = longest.max(left);
        println!(
            "{moment}: killed after {:?}, clean after {left:?}",
            killed - began
        );
        assert!(left < GONE, "{moment}: leftovers for {left:?}");
        let halves = |host: &&str| {
            let copies = away.hosts.of(host, "home").join(".cache/prony/agent");
            let copies = fs::read_dir(copies).into_iter().flatten().flatten();
            let mut names = copies.map(|file| file.file_name().to_string_lossy().into_owned());
            names.any(|name| name.contains(".part."))
        };
        until("no partial copy of prony is left", || !HOSTS.iter().any(halves));
        until("nothing is left here", || away.checkout.processes().is_empty());
        let listed = away.checkout.prony(&["list", "runs"]);
        assert_eq!(listed.code, Some(0), "{moment}: {child:?}: {listed:?}");
    }
    println!("every host was clean after at most {longest:?}");
    let ended = Away::ended(start(&away, &["--json"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(service(&ended.json())["trials"], 2, "{ended:?}");
    away.nothing_is_left(&HOSTS);
}

/// Starts the run, or resumes it if it is stored.
fn start(away: &Away, more: &[&str]) -> Child {
    let is_stored = ask::<i64>(away, "SELECT count(*) FROM run").is_some_and(|runs| runs > 0);
    let what: &[&str] = if is_stored {
        &["run", "--resume"]
    } else {
        &["run", "toys"]
    };
    away.start(&[what, &["--testbed", "testbed.toml", "--keep-disturbed"], more].concat())
}

/// Kills a controller as soon as this moment is reached; returns its output, and when it was killed.
fn kill(mut child: Child, moment: &str, has_come: impl Fn() -> bool) -> (Ended, Instant) {
    let deadline = Instant::now() + PATIENCE;
    while !has_come() {
        let ended = child.try_wait().expect("asked");
        if ended.is_some() || Instant::now() > deadline {
            let _ = child.kill();
            panic!("{moment}: never reached: {:?}", Away::ended(child));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().expect("KILL");
    let killed = Instant::now();
    (Away::ended(child), killed)
}
