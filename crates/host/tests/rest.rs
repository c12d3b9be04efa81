//! A frozen tree gets no CPU time, and can be ended like any other.

use crate::common::{Toy, until};
use std::time::{Duration, Instant};

/// CPU time of the tree while this test keeps a CPU busy, ns.
fn used_meanwhile(process: &mut dyn prony_host::Process) -> u64 {
    process.begin_window().expect("begun");
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(200) {
        std::hint::spin_loop();
    }
    let usage = process.end_window().expect("ended");
    usage.resources.cpu_ns.expect("CPU time is known")
}

#[test]
fn a_resting_tree_uses_no_cpu_time_and_goes_on_when_it_is_woken() {
    let toy = Toy::new();
    // The toy and its child, both busy.
    let mut process = toy.start(&["burn-in-children", "600000"]);
    toy.give_word();
    until("it burns", || used_meanwhile(&mut *process) > 0);
    process.rest().expect("rests");
    // CPU time from before the stop may be accounted late, once.
    let _ = used_meanwhile(&mut *process);
    assert_eq!(used_meanwhile(&mut *process), 0);
    process.wake().expect("wakes");
    until("it burns again", || used_meanwhile(&mut *process) > 0);
}

#[test]
fn a_resting_tree_ends_on_term() {
    let toy = Toy::new();
    let mut process = toy.start(&["burn-in-children", "600000"]);
    toy.give_word();
    process.rest().expect("rests");
    let ending = process.stop().expect("stopped");
    assert!(!ending.ignored_term, "{ending:?}");
    assert_eq!(toy.leftovers(), Vec::<i32>::new());
}
