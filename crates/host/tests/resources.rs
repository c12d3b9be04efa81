//! Measures toys with known usage, and checks that limits hold.

use crate::common::{Toy, until};
use crate::skip;
use prony_host::{Isolation, KillReason, Limits, Process};
use prony_records::{Resources, WarningKind};
use std::time::Duration;

const MIB: u64 = 1 << 20;

fn within(what: &str, got: Option<u64>, wanted: u64, share: f64) {
    let got = got.unwrap_or_else(|| panic!("{what} is not known"));
    let off = got as f64 / wanted as f64 - 1.0;
    assert!(
        off.abs() <= share,
        "{what}: {got} instead of {wanted}, {:+.1} %",
        off * 100.0
    );
}

/// Limits of half a CPU and 64 MiB; the toy does not start if they cannot be set.
fn narrow(toy: &Toy, words: &[&str]) -> prony_host::ProcessSpec {
    let mut spec = toy.spec(words);
    spec.limits = Limits {
        cpus: Some(0.5),
        memory_bytes: Some(64 * MIB),
        ..Limits::default()
    };
    spec.isolation = Isolation::Required;
    spec
}

/// Starts a toy within these limits. `None`, after reporting the skip, if this machine has no usable control groups.
fn within_limits(toy: &Toy, words: &[&str]) -> Option<Box<dyn Process>> {
    match (
        toy.host.start(&narrow(toy, words)),
        skip::without_control_groups(),
    ) {
        (Ok(process), _) => Some(process),
        (Err(error), None) => panic!("limits need control groups, which can be created here: {error}"),
        (Err(_), Some(reason)) => {
            skip::skipped(reason);
            None
        }
    }
}

/// What a toy uses once it holds its memory.
fn resources_while_holding(process: &mut dyn Process) -> Resources {
    until("it holds", || {
        process
            .log_tail(1)
            .first()
            .is_some_and(|line| line.starts_with("holding"))
    });
    process.begin_window().expect("begun");
    process.end_window().expect("ended").resources
}

#[test]
fn cpu_time_under_a_limit_is_counted_exactly() {
    let toy = Toy::new();
    let Some(mut process) = within_limits(&toy, &["burn-on-word", "600"]) else {
        return;
    };
    let usage = toy.usage_of_burning(process.as_mut());
    let resources = usage.resources;
    within("CPU time", resources.cpu_ns, 600_000_000, 0.05);
    assert_eq!(
        resources
            .cpu_user_ns
            .zip(resources.cpu_system_ns)
            .map(|(u, s)| u + s),
        resources.cpu_ns
    );
    // At half a CPU it takes twice as long, except in the first and the last period.
    assert!(resources.window_ns >= 1_000_000_000, "{} ns", resources.window_ns);
    assert!(resources.cpu_throttled_ns.is_some(), "{resources:?}");
    assert!(resources.source.starts_with("cgroup"), "{}", resources.source);
    assert!(
        resources.samples.len() >= 8,
        "{} samples",
        resources.samples.len()
    );
    assert!(
        resources
            .samples
            .windows(2)
            .all(|pair| pair[0].cpu_ns <= pair[1].cpu_ns)
    );
    assert!(usage.before.iter().all(|sample| sample.at_s < 0.0));
}

#[test]
fn cpu_time_of_children_that_have_ended_is_counted() {
    let toy = Toy::new();
    let mut process = toy.start(&["burn-in-children", "200"]);
    let usage = toy.usage_of_burning(process.as_mut());
    // Starting two processes costs a few milliseconds more.
    within("CPU time", usage.resources.cpu_ns, 400_000_000, 0.08);
    assert!(usage.resources.context_switches.is_some_and(|count| count > 0));
}

#[test]
fn memory_under_a_limit_is_counted() {
    let toy = Toy::new();
    let Some(mut process) = within_limits(&toy, &["hold", "40"]) else {
        return;
    };
    let resources = resources_while_holding(process.as_mut());
    within("peak memory", resources.memory_bytes_peak, 40 * MIB, 0.05);
    within("mean memory", resources.memory_bytes_mean, 40 * MIB, 0.05);
    within("anonymous memory", resources.anon_bytes_peak, 40 * MIB, 0.05);
    assert!(
        resources.rss_bytes_peak > Some(40 * MIB) && resources.pss_bytes_peak > Some(40 * MIB),
        "{resources:?}"
    );
    assert_eq!(
        (resources.threads_peak, resources.processes_peak),
        (Some(1), Some(1))
    );
    assert!(
        resources.files_peak.is_some_and(|files| (3..20).contains(&files)),
        "{:?}",
        resources.files_peak
    );
    within("memory now", process.memory_bytes(), 40 * MIB, 0.05);
}

#[test]
fn a_footprint_is_what_a_process_has_used_until_now() {
    for toy in [Toy::new(), Toy::without_groups()] {
        let mut process = toy.start(&["hold", "40"]);
        resources_while_holding(process.as_mut());
        let used = process.footprint();
        within("anonymous memory", used.anonymous_bytes, 40 * MIB, 0.05);
        assert!(used.memory_bytes >= used.anonymous_bytes, "{used:?}");
        assert!(used.cpu_ns.is_some_and(|ns| ns > 0), "{used:?}");
        assert!(used.file_bytes.is_some(), "{used:?}");
        let program = std::path::Path::new(env!("CARGO_BIN_EXE_prony-host-toy"));
        let files = process.used_files();
        assert!(files.iter().any(|file| file == program), "{files:?}");
    }
}

#[test]
fn needing_more_memory_than_allowed_is_named() {
    let toy = Toy::new();
    let Some(mut process) = within_limits(&toy, &["hold", "100"]) else {
        return;
    };
    until("it has ended", || process.ended().is_some());
    let ending = process.ended().expect("ended");
    assert_eq!(
        ending.why,
        Some(KillReason::OutOfMemory {
            limit_bytes: Some(64 * MIB)
        }),
        "{ending:?}"
    );
    assert!(ending.to_string().contains("64 MiB of memory (OOM)"), "{ending}");
}

#[test]
fn a_window_is_only_what_lies_in_it() {
    let toy = Toy::new();
    let mut process = toy.start(&["burn", "300"]);
    until("it has burnt", || process.log_tail(1) == ["burnt"]);
    process.begin_window().expect("begun");
    std::thread::sleep(Duration::from_millis(100));
    let usage = process.end_window().expect("ended");
    assert!(
        usage.resources.cpu_ns < Some(5_000_000),
        "{:?}",
        usage.resources.cpu_ns
    );
    let machine = usage.machine.expect("Linux counts it");
    assert!(
        machine.window_ns >= 100_000_000 && machine.cpus > 0,
        "{machine:?}"
    );
}

#[test]
fn without_a_group_the_same_is_read_from_proc() {
    let toy = Toy::without_groups();
    let mut process = toy.start(&["burn-in-children", "200"]);
    let resources = toy.usage_of_burning(process.as_mut()).resources;
    assert_eq!(resources.source, "proc");
    within("CPU time", resources.cpu_ns, 400_000_000, 0.08);
    assert_eq!(resources.cpu_throttled_ns, None);
    assert!(
        resources.processes_peak.is_some_and(|processes| processes >= 2),
        "{resources:?}"
    );
    assert!(
        resources.page_faults_minor.is_some_and(|faults| faults > 50),
        "{resources:?}"
    );
    let mut process = toy.start(&["hold", "40"]);
    let resources = resources_while_holding(process.as_mut());
    // The resident set also includes pages of the program itself.
    within("peak memory", resources.memory_bytes_peak, 43 * MIB, 0.08);
    within("anonymous memory", resources.anon_bytes_peak, 40 * MIB, 0.05);
}

#[test]
fn without_a_group_limits_are_warnings_or_errors() {
    let toy = Toy::without_groups();
    let mut spec = narrow(&toy, &["wait"]);
    let error = toy.host.start(&spec).err().expect("refused").to_string();
    assert!(
        error.contains("cannot be isolated as required") && error.contains("systemd-run"),
        "{error}"
    );
    spec.isolation = Isolation::WherePossible;
    let process = toy.host.start(&spec).expect("started");
    let kinds: Vec<_> = process.warnings().iter().map(|warning| warning.kind).collect();
    assert_eq!(kinds, [WarningKind::NotIsolated; 2]);
}

#[test]
fn without_a_group_a_whole_tree_is_ended() {
    Toy::without_groups().assert_tree_ended();
}

#[test]
fn the_supervisor_looks_as_often_as_asked_and_its_cpu_time_is_its_own() {
    let toy = Toy::new();
    let mut process = toy.start(&["burn-on-word", "600"]);
    let usage = toy.usage_of_burning(process.as_mut());
    let resources = usage.resources;
    // The cost of a sample is measured in an optimised build: the `watching_cpu_share` of `prony calibrate`. This test counts
    // samples: one per 100 ms, one at the start of the window and one at its end.
    let most = resources.window_ns as usize / 100_000_000 + 2;
    let looks = resources.samples.len();
    assert!((2..=most).contains(&looks), "{looks} samples, at most {most}");
    assert!(usage.supervisor_cpu_ns > 0, "sampling costs CPU time");
    within("CPU time of the process", resources.cpu_ns, 600_000_000, 0.05);
}

#[test]
fn the_speed_of_its_cpus_is_known_of_each_window_where_asked_for() {
    let toy = Toy::new();
    let known = |cpu_speed_probe| {
        let mut spec = toy.spec(&["wait"]);
        spec.cpus = toy
            .host
            .topology()
            .cpus()
            .as_slice()
            .first()
            .copied()
            .into_iter()
            .collect();
        spec.cpu_speed_probe = cpu_speed_probe;
        let mut process = toy.host.start(&spec).expect("started");
        let window = |process: &mut Box<dyn Process>| {
            process.begin_window().expect("begun");
            process.end_window().expect("ended").cpu_speed_probe_ns
        };
        let both = [window(&mut process), window(&mut process)];
        process.stop().expect("stopped");
        both
    };
    for ns in known(true) {
        assert!(ns.is_some_and(|ns| ns > 0.0), "{ns:?}");
    }
    assert_eq!(known(false), [None, None]);
}
