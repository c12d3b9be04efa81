//! The descendants of a process, read from `/proc`. The supervisor is a child subreaper (prctl(2)): it inherits every process
//! whose parent ends, so a process that daemonized is still a descendant.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::HashMap;
use std::fs;

pub(crate) fn parent_of(pid: i32) -> Option<i32> {
    stat_field(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?, 4)?
        .parse()
        .ok()
}

/// A field of `/proc/<pid>/stat` by its number in proc(5), 3 or above. Field 2 is the program's name in parentheses,
/// which may itself contain spaces and parentheses.
pub(crate) fn stat_field(stat: &str, number: usize) -> Option<&str> {
    stat.get(stat.rfind(')')? + 2..)?.split(' ').nth(number - 3)
}

/// All descendants of `root`, without `root` itself. Includes zombies.
pub(crate) fn descendants(root: i32) -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()) {
        if let Some(parent) = parent_of(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        let below = children.remove(&pid).unwrap_or_default();
        open.extend(&below);
        found.extend(below);
    }
    found
}

/// Whether a process exists and is not a zombie.
pub(crate) fn lives(pid: i32) -> bool {
    has_state(pid, |state| !matches!(state, "Z" | "X"))
}

/// Whether the first thread of a process neither runs nor is stopped: it waits for something, or has ended.
pub(crate) fn is_idle(pid: i32) -> bool {
    !has_state(pid, |state| matches!(state, "R" | "D" | "T"))
}

/// Whether a process exists and its state (the third field in proc(5)) is as described.
fn has_state(pid: i32, is_wanted: impl FnOnce(&str) -> bool) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.ok()
        .is_some_and(|stat| stat_field(&stat, 3).is_some_and(is_wanted))
}

/// Sends a signal to each process. Processes that have ended meanwhile are ignored.
pub(crate) fn signal(pids: &[i32], signal: Signal) {
    for &pid in pids {
        let _ = kill(Pid::from_raw(pid), signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let stat = "12 (a) b (c)) S 7 12 12 0";
        assert_eq!(stat_field(stat, 3), Some("S"));
        assert_eq!(stat_field(stat, 4), Some("7"));
    }

    #[test]
    fn finds_a_child() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .expect("sleep runs");
        let pid = child.id() as i32;
        assert!(descendants(std::process::id() as i32).contains(&pid));
        assert!(lives(pid));
        child.kill().expect("killed");
        child.wait().expect("waited for");
        assert!(!lives(pid));
    }
}
