//! Nothing is left behind, whichever process is killed.

use crate::common::{self, Toy, until};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const TOY: &str = env!("CARGO_BIN_EXE_prony-host-toy");

/// A caller in a separate process, which starts trees one after the other.
fn driver(mark: &str) -> Child {
    drives("drive", mark)
}

fn drives(how: &str, mark: &str) -> Child {
    Command::new(TOY)
        .args([how, mark])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("the toy runs")
}

#[test]
fn killing_the_caller_ends_everything() {
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().display().to_string();
    // Kills at ten different times: while a supervisor starts, while a tree grows, while it is stopped.
    for moment in 0..10_u64 {
        let mut driver = driver(&mark);
        until("a tree has started", || !common::marked(&mark).is_empty());
        std::thread::sleep(Duration::from_millis(moment * moment * 3));
        driver.kill().expect("killed");
        driver.wait().expect("waited for");
        until("nothing is left", || common::marked(&mark).is_empty());
    }
}

#[test]
fn a_killed_supervisor_leaves_nothing_to_its_caller() {
    loses_its_supervisor(&Toy::new());
}

#[test]
fn a_killed_supervisor_leaves_nothing_without_groups_either() {
    loses_its_supervisor(&Toy::without_groups());
}

/// A second tree of the same caller must survive.
fn loses_its_supervisor(toy: &Toy) {
    let other = Toy::without_groups();
    let mut neighbour = other.start(&["tree"]);
    until("four others run", || other.leftovers().len() >= 4);
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
    assert!(other.leftovers().len() >= 4 && neighbour.ended().is_none());
}

#[test]
fn a_caller_killed_with_its_supervisor_is_cleared_up_after() {
    dies_with_its_supervisor("drive");
}

#[test]
fn a_caller_killed_with_its_supervisor_is_cleared_up_after_without_groups_too() {
    dies_with_its_supervisor("drive-without-groups");
}

fn dies_with_its_supervisor(how: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().display().to_string();
    let mut driver = drives(how, &mark);
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

/// `/dev/full` behaves like a full disk.
#[test]
fn a_full_disk_ends_no_process_and_leaves_none() {
    for toy in [Toy::new(), Toy::without_groups()] {
        let mut spec = toy.spec(&["tree"]);
        spec.grace = Duration::from_millis(50);
        spec.log = "/dev/full".into();
        let mut process = toy.host.start(&spec).expect("started");
        until("four processes run", || toy.leftovers().len() >= 4);
        until("the log is known to be lost", || {
            assert_eq!(process.ended(), None);
            let texts = process.warnings().iter().map(|warning| &warning.text);
            texts
                .clone()
                .any(|text| text.contains("No space left") && text.contains("/dev/full"))
        });
        let ending = process.stop().expect("the supervisor has gone on");
        assert!(ending.ignored_term, "{ending:?}");
        assert_eq!(toy.leftovers(), Vec::<i32>::new());
    }
}

#[test]
fn without_a_log_nothing_is_started() {
    let toy = Toy::new();
    let mut spec = toy.spec(&["tree"]);
    spec.log = toy.log().parent().expect("a folder").to_owned();
    std::fs::create_dir_all(&spec.log).expect("made");
    let error = toy.host.start(&spec).err().expect("refused").to_string();
    assert!(
        error.contains("its log") && error.contains("cannot write") && error.contains("free disk space"),
        "{error}"
    );
    assert_eq!(toy.leftovers(), Vec::<i32>::new());
}

fn parent_of(pid: u32) -> i32 {
    common::parent(pid as i32).expect("a parent")
}
