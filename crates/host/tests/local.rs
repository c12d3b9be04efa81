//! Processes on this machine, through the real supervisor.

use crate::common::{self, TIME, Toy, until};
use nix::sys::signal::{Signal, kill as kill_process};
use nix::unistd::Pid;
use prony_host::{Cpus, Host as _, KillReason, Limits, ProcessSpec, Stdio};
use std::fs;
use std::io::{Read as _, Write as _};
use std::time::Duration;

#[test]
fn starts_logs_and_stops() {
    let toy = Toy::new();
    let mut process = toy.start(&["say", "one", "two"]);
    until("both lines are in the log", || {
        process.log_tail(9) == ["one", "two"]
    });
    assert!(common::alive(process.pid()));
    assert_eq!(process.ended(), None);
    let ending = process.stop().expect("stopped");
    assert_eq!(ending.signal, Some(15), "{ending:?}");
    assert!(!ending.ignored_term);
    assert!(!common::alive(process.pid()));
}

#[test]
fn tells_how_a_process_ended() {
    let toy = Toy::new();
    let mut process = toy.start(&["exit", "7"]);
    until("it has ended", || process.ended().is_some());
    assert_eq!(
        process.ended().expect("ended").to_string(),
        "ended with exit code 7"
    );
    assert_eq!(process.stop().expect("stopped").code, Some(7));
}

#[test]
fn a_kill_from_outside_is_told_from_all_other_ends() {
    let toy = Toy::new();
    let mut process = toy.start(&["wait"]);
    kill(process.pid());
    until("it has ended", || process.ended().is_some());
    let ending = process.ended().expect("ended");
    assert_eq!((ending.signal, ending.why), (Some(9), Some(KillReason::Outside)));
    assert!(ending.is_from_outside());
    let mut spec = toy.spec(&[]);
    // A shell that waits for its command ends with a code.
    let toy_and_more = format!("{} wait; exit $?", spec.command[0]);
    spec.command = ["sh", "-c", &toy_and_more].map(str::to_owned).to_vec();
    let mut process = toy.host.start(&spec).expect("started");
    let below =
        || fs::read_to_string(format!("/proc/{0}/task/{0}/children", process.pid())).unwrap_or_default();
    until("its command runs", || !below().trim().is_empty());
    kill(below().trim().parse().expect("one process"));
    until("it has ended", || process.ended().is_some());
    let ending = process.ended().expect("ended");
    assert_eq!((ending.code, ending.why), (Some(137), Some(KillReason::Outside)));
    let mut process = toy.start(&["exit", "9"]);
    until("it has ended", || process.ended().is_some());
    assert_eq!(process.ended().expect("ended").why, None);
}

fn kill(pid: u32) {
    kill_process(Pid::from_raw(pid as i32), Signal::SIGKILL).expect("killed");
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let toy = Toy::new();
    let mut spec = toy.spec(&[]);
    spec.command = vec!["./no-such-server".to_owned()];
    let error = toy.host.start(&spec).err().expect("refused").to_string();
    assert!(
        error.contains("`./no-such-server`") && error.contains("is it installed and built?"),
        "{error}"
    );
}

#[test]
fn ignoring_term_does_not_help() {
    let toy = Toy::new();
    let mut spec = toy.spec(&["ignore-term"]);
    spec.grace = Duration::from_millis(50);
    let mut process = toy.host.start(&spec).expect("started");
    until("it is ready", || process.log_tail(1) == ["ready"]);
    let ending = process.stop().expect("stopped");
    assert!(ending.ignored_term && ending.signal == Some(9), "{ending:?}");
    assert_eq!(ending.why, None, "prony killed it");
}

#[test]
fn a_process_in_the_background_is_found_and_ended() {
    let toy = Toy::new();
    let mut spec = toy.spec(&["background", "1"]);
    spec.grace = Duration::from_millis(50);
    let mut process = toy.host.start(&spec).expect("started");
    until("the daemon runs", || process.log_tail(1) == ["ready"]);
    until("the first process has ended", || process.ended().is_some());
    let ending = process.ended().expect("ended");
    assert_eq!((ending.code, ending.left), (Some(0), 1));
    assert!(ending.to_string().contains("must stay in the foreground"));
    process.stop().expect("stopped");
    assert_eq!(toy.leftovers(), Vec::<i32>::new());
}

#[test]
fn a_whole_tree_is_ended() {
    Toy::new().assert_tree_ended();
}

#[test]
fn dropping_a_process_ends_it() {
    let toy = Toy::new();
    let process = toy.start(&["wait"]);
    let pid = process.pid();
    drop(process);
    assert!(!common::alive(pid));
}

#[test]
fn a_gigabyte_of_log_does_not_fill_the_disk() {
    let toy = Toy::new();
    let mut process = toy.start(&["print", "1000000000"]);
    let end = "the last line";
    common::until_within(TIME * 4, "the last line is in the log", || {
        process.log_tail(1) == [end]
    });
    process.stop().expect("stopped");
    let log = fs::read_to_string(toy.log()).expect("a log");
    assert!(log.starts_with("the first line\n"));
    assert!(log.contains("bytes omitted"));
    assert!(log.len() < 70_000, "{}", log.len());
}

#[test]
fn runs_on_its_cpus_alone() {
    let toy = Toy::new();
    let last = *toy.host.topology().cpus().as_slice().last().expect("a CPU");
    let mut spec = toy.spec(&["cpus"]);
    spec.cpus = Cpus::from(vec![last]);
    let process = toy.host.start(&spec).expect("started");
    until("it has printed its CPUs", || {
        process.log_tail(1) == [last.to_string()]
    });
}

#[test]
fn the_batch_policy_holds_for_a_process_and_its_children_where_asked_for() {
    let toy = Toy::new();
    // Field 41 of its stat file: 0 is SCHED_OTHER, 3 is SCHED_BATCH.
    let words = [
        "sh",
        "-c",
        "cut -d' ' -f41 /proc/$$/stat; cut -d' ' -f41 /proc/self/stat; exec sleep 60",
    ];
    for (batch_policy, expected) in [(false, ["0", "0"]), (true, ["3", "3"])] {
        let spec = ProcessSpec {
            command: words.map(str::to_owned).to_vec(),
            batch_policy,
            ..toy.spec(&[])
        };
        let process = toy.host.start(&spec).expect("started");
        until("it has printed its policies", || process.log_tail(2) == expected);
    }
}

/// Where this user may raise priorities; `nice` shows whether that is so.
#[test]
fn processes_with_cpus_of_their_own_run_before_other_programs() {
    // Field 19 of its stat file: the nice value.
    let words = ["sh", "-c", "cut -d' ' -f19 /proc/$$/stat; exec sleep 60"];
    let nice = |arguments: &[&str]| {
        let output = std::process::Command::new("nice").args(arguments).output();
        let text = String::from_utf8(output.expect("nice runs").stdout).expect("text");
        text.trim().to_owned()
    };
    let toy = Toy::new();
    let last = *toy.host.topology().cpus().as_slice().last().expect("a CPU");
    let own: i32 = nice(&[]).parse().expect("a number");
    let raised = nice(&["-n", &(-10 - own).to_string(), "nice"]);
    for (cpus, expected) in [(vec![], own.to_string()), (vec![last], raised)] {
        let spec = ProcessSpec {
            command: words.map(str::to_owned).to_vec(),
            cpus: Cpus::from(cpus),
            ..toy.spec(&[])
        };
        let process = toy.host.start(&spec).expect("started");
        until("it has printed its nice value", || {
            process.log_tail(1) == [expected.as_str()]
        });
    }
}

#[test]
fn a_piped_process_is_spoken_with() {
    let toy = Toy::new();
    let mut spec = toy.spec(&["echo"]);
    spec.stdio = Stdio::Piped;
    let mut process = toy.host.start(&spec).expect("started");
    let (mut input, mut output) = process.take_pipes().expect("pipes");
    input.write_all(b"hello\n").expect("written");
    drop(input);
    let mut text = String::new();
    output.read_to_string(&mut text).expect("read to the end");
    assert_eq!(text, "hello\n");
    until("it has ended", || {
        process.ended().is_some_and(|ending| ending.code == Some(0))
    });
}

#[test]
fn writing_more_than_its_share_of_the_disk_is_the_end() {
    let toy = Toy::new();
    let mut spec = toy.spec(&["write", "64"]);
    spec.limits = Limits {
        disk_bytes: Some(4 << 20),
        ..Limits::default()
    };
    let mut process = toy.host.start(&spec).expect("started");
    until("it has ended", || process.ended().is_some());
    let ending = process.ended().expect("ended");
    assert_eq!(
        ending.why,
        Some(KillReason::DiskFull { limit_bytes: 4 << 20 }),
        "{ending:?}"
    );
}

/// If a supervisor reports that it failed, its reason is reported at once, without waiting for further replies.
#[test]
fn a_supervisor_that_cannot_go_on_is_told() {
    let lines = [
        r#"read first; echo "{\"notice\":\"started\",\"pid\":$$,\"age_ns\":0,\"address\":null,\"warnings\":[]}""#,
        r#"read order; echo "{\"notice\":\"failed\",\"reason\":\"no memory is left\"}""#,
    ];
    let command = ["sh", "-c", &lines.join("; ")].map(std::ffi::OsString::from);
    let host = prony_host::Local::new(command.to_vec());
    let toy = Toy::new();
    let mut process = host
        .start(&toy.spec(&["say", "one"]))
        .expect("it says that it started");
    let error = process.begin_window().expect_err("it fails then").to_string();
    assert!(error.contains("failed (no memory is left)"), "{error}");
}
