//! Attaching to processes that already run: they are measured as exactly as own processes, and never touched.

use crate::common::{Toy, alive, until};
use crate::skip;
use prony_host::{AttachSpec, AttachTarget, Cpus, Process};
use std::path::PathBuf;
use std::time::Duration;

fn attach(toy: &Toy, attached: AttachTarget) -> Result<Box<dyn Process>, prony_host::HostError> {
    toy.host.attach(&AttachSpec {
        name: "theirs".to_owned(),
        attached,
        supervisor_cpus: Cpus::default(),
        sample_every: Duration::from_millis(50),
        compiler_threads: Vec::new(),
    })
}

/// The usage of a toy that burns 400 ms on demand, measured by a process that did not start it.
fn seen(toy: &Toy, theirs: &mut dyn Process, own: &dyn Process) -> prony_host::Usage {
    until("it waits", || own.log_tail(1) == ["waiting"]);
    assert!(theirs.memory_bytes() > Some(10_000));
    theirs.begin_window().expect("begun");
    toy.give_word();
    until("it has burnt", || own.log_tail(1) == ["burnt"]);
    theirs.end_window().expect("ended")
}

fn is_about(got: Option<u64>, wanted: u64) {
    let off = got.expect("known") as f64 / wanted as f64 - 1.0;
    assert!(off.abs() < 0.1, "{got:?} instead of {wanted}");
}

#[test]
fn a_process_that_others_started_is_counted_and_runs_on() {
    let toy = Toy::new();
    let mut own = toy.start(&["burn-on-word", "400"]);
    let mut theirs = attach(&toy, AttachTarget::Pid(own.pid() as i32)).expect("attached");
    let usage = seen(&toy, &mut *theirs, &*own);
    is_about(usage.resources.cpu_ns, 400_000_000);
    assert_eq!(usage.resources.source, "proc");
    assert!(usage.machine.is_some_and(|machine| machine.busy_ns > 300_000_000));
    theirs.rest().expect("accepted");
    theirs.stop().expect("stopped");
    drop(theirs);
    assert!(alive(own.pid()), "it was touched");
    assert_eq!(own.ended(), None);
    // Its end is reported as well.
    let mut theirs = attach(&toy, AttachTarget::Pid(own.pid() as i32)).expect("attached");
    assert_eq!(theirs.ended(), None);
    let pid = own.pid();
    own.stop().expect("stopped");
    until("its end is reported", || theirs.ended().is_some());
    let error = attach(&toy, AttachTarget::Pid(pid as i32))
        .err()
        .expect("refused")
        .to_string();
    assert!(error.contains("is the service running?"), "{error}");
}

#[test]
fn a_control_group_of_others_is_counted_and_stays() {
    let toy = Toy::new();
    let mut own = toy.start(&["burn-on-word", "400"]);
    let Some(path) = group_of(own.pid()) else {
        match skip::without_control_groups() {
            Some(reason) => return skip::skipped(reason),
            None => panic!("a process is in no group, although groups can be created"),
        }
    };
    let mut theirs = attach(&toy, AttachTarget::Cgroup(path.clone())).expect("attached");
    let usage = seen(&toy, &mut *theirs, &*own);
    is_about(usage.resources.cpu_ns, 400_000_000);
    assert!(
        usage.resources.source.starts_with("cgroup"),
        "{}",
        usage.resources.source
    );
    drop(theirs);
    assert!(alive(own.pid()), "it was touched");
    assert_eq!(group_of(own.pid()), Some(path), "its group was touched");
    own.stop().expect("stopped");
    let error = attach(&toy, AttachTarget::Cgroup("/no/such/group".into())).err();
    let error = error.expect("refused").to_string();
    assert!(error.contains("is not a control group"), "{error}");
}

/// The group that the toy's supervisor created for a process, as in `/proc/PID/cgroup`.
fn group_of(pid: u32) -> Option<PathBuf> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let counts = |line: &&str| line.contains(":memory:") || line.contains("::");
    let mut paths = text
        .lines()
        .filter(counts)
        .filter_map(|line| line.rsplit(':').next());
    paths.find(|path| path.contains("prony")).map(PathBuf::from)
}
