//! A toy process in a folder of its own, and waiting for conditions.
#![allow(dead_code, reason = "each test binary uses its own part")]

use prony_host::{Connect, Host, Local, Pipe, Process, ProcessSpec, Remote, Usage};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

pub(crate) const TIME: Duration = Duration::from_secs(30);
const TOY: &str = env!("CARGO_BIN_EXE_prony-host-toy");

pub(crate) struct Toy {
    pub(crate) host: Box<dyn Host>,
    folder: tempfile::TempDir,
}

impl Toy {
    /// On this machine; in the tests of `remote.rs` through an agent on it.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let host: Box<dyn Host> = if env!("CARGO_CRATE_NAME") == "remote" {
            Box::new(connected(&folder.path().join("cache")))
        } else {
            Box::new(local())
        };
        Self { host, folder }
    }

    pub(crate) fn supervised_by(supervisor: Vec<std::ffi::OsString>) -> Self {
        Self {
            host: Box::new(Local::new(supervisor)),
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    pub(crate) fn without_groups() -> Self {
        Self {
            host: Box::new(local().without_groups()),
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    pub(crate) fn log(&self) -> std::path::PathBuf {
        self.folder.path().join("log/toy.log")
    }

    pub(crate) fn spec(&self, words: &[&str]) -> ProcessSpec {
        let words = words.iter().map(|&word| word.to_owned());
        let mark = self.folder.path().display().to_string();
        ProcessSpec {
            name: "toy".to_owned(),
            command: std::iter::once(TOY.to_owned()).chain(words).collect(),
            folder: self.folder.path().to_owned(),
            environment: BTreeMap::from([("PRONY_TOY".to_owned(), mark)]),
            log: self.log(),
            log_bytes: 65_536,
            grace: Duration::from_secs(5),
            sample_every: Some(Duration::from_millis(100)),
            ..ProcessSpec::default()
        }
    }

    /// Creates the file for which a `burn-on-word` toy waits.
    pub(crate) fn give_word(&self) {
        std::fs::write(self.folder.path().join("word"), "").expect("written");
    }

    /// What a waiting toy uses from the word until its log ends with `burnt`.
    pub(crate) fn usage_of_burning(&self, process: &mut dyn Process) -> Usage {
        until("it waits", || process.log_tail(1) == ["waiting"]);
        process.begin_window().expect("begun");
        self.give_word();
        until("it has burnt", || process.log_tail(1) == ["burnt"]);
        process.end_window().expect("ended")
    }

    pub(crate) fn assert_tree_ended(&self) {
        let mut spec = self.spec(&["tree"]);
        spec.grace = Duration::from_millis(50);
        let mut process = self.host.start(&spec).expect("started");
        until("four processes run", || self.leftovers().len() >= 4);
        process.stop().expect("stopped");
        assert_eq!(self.leftovers(), Vec::<i32>::new());
    }

    pub(crate) fn start(&self, words: &[&str]) -> Box<dyn Process> {
        self.host.start(&self.spec(words)).expect("started")
    }

    /// Live processes that this toy started, wherever they are: its mark is in their environment.
    pub(crate) fn leftovers(&self) -> Vec<i32> {
        marked(&self.folder.path().display().to_string())
    }
}

fn local() -> Local {
    Local::new(vec![TOY.into(), "supervise".into()])
}

/// An agent on this machine with its own cache.
pub(crate) fn pipe(cache: &std::path::Path) -> Pipe {
    let mut pipe = Pipe::new(vec![TOY.into(), "agent".into()]);
    pipe.environment = vec![
        ("PRONY_AGENT_CACHE".into(), cache.into()),
        ("PRONY_LOCKS".into(), cache.join("locks").into()),
    ];
    pipe
}

/// This machine, through an agent.
pub(crate) fn connected(cache: &std::path::Path) -> Remote {
    Remote::connect(&Connect::to("here", "a test"), &pipe(cache), &|_| {}).expect("connected")
}

/// Live processes with the mark in their environment.
pub(crate) fn marked(mark: &str) -> Vec<i32> {
    let pids = std::fs::read_dir("/proc").expect("there").flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let wanted = format!("PRONY_TOY={mark}");
    let has = |pid: &i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment
            .split(|&byte| byte == 0)
            .any(|variable| variable == wanted.as_bytes())
    };
    pids.filter(has).filter(|&pid| alive(pid as u32)).collect()
}

pub(crate) fn alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ")
        .next()
        .is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

pub(crate) fn until(what: &str, condition: impl FnMut() -> bool) {
    until_within(TIME, what, condition);
}

pub(crate) fn until_within(time: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + time;
    while !condition() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn parent(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(") ").next()?.split(' ').nth(1)?.parse().ok()
}

pub(crate) fn children(pid: u32) -> Vec<i32> {
    let pids = std::fs::read_dir("/proc").expect("there").flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|&child| parent(child) == Some(pid as i32)).collect()
}
