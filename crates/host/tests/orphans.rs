//! Nothing stays behind, whoever is killed.

mod common;

use common::{Toy, until};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const TOY: &str = env!("CARGO_BIN_EXE_prony-host-toy");

/// A caller in a process of its own, which starts one tree after the other.
fn driver(mark: &str) -> Child {
    Command::new(TOY)
        .args(["drive", mark])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("the toy runs")
}

#[test]
fn killing_the_caller_ends_everything() {
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().display().to_string();
    // Ten moments: while a supervisor starts, while a tree grows, while it is stopped.
    for moment in 0..10_u64 {
        let mut driver = driver(&mark);
        until("a tree has begun", || !common::marked(&mark).is_empty());
        std::thread::sleep(Duration::from_millis(moment * moment * 3));
        driver.kill().expect("killed");
        driver.wait().expect("waited for");
        until("nothing is left", || common::marked(&mark).is_empty());
    }
}

#[test]
fn a_killed_supervisor_leaves_nothing_to_its_caller() {
    let toy = Toy::new();
    let mut process = toy.start(&["tree"]);
    until("four processes run", || toy.leftovers().len() >= 4);
    let supervisor = parent_of(process.pid());
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(supervisor),
        nix::sys::signal::Signal::SIGKILL,
    )
    .expect("killed");
    let error = process.stop().expect_err("lost").to_string();
    assert!(error.contains("ended unexpectedly"), "{error}");
    until("nothing is left", || toy.leftovers().is_empty());
}

#[test]
fn a_caller_killed_with_its_supervisor_is_cleared_up_after() {
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().display().to_string();
    let mut driver = driver(&mark);
    until("a tree has grown", || common::marked(&mark).len() >= 4);
    for supervisor in common::children(driver.id()) {
        let pid = nix::unistd::Pid::from_raw(supervisor);
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
    }
    driver.kill().expect("killed");
    driver.wait().expect("waited for");
    until("nothing is left", || {
        let _ = Toy::new();
        common::marked(&mark).is_empty()
    });
}

fn parent_of(pid: u32) -> i32 {
    common::parent(pid as i32).expect("a parent")
}
