//! Creates groups of version 2, in which a group may have either processes or subgroups with controllers, but not both
//! ("no internal processes", the kernel's `cgroup-v2.rst`).

use super::discover::UnifiedHierarchy;
use super::write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Controllers required for limits.
const NEEDED: [&str; 2] = ["cpu", "memory"];
/// Optional controllers.
const WANTED: [&str; 2] = ["cpuset", "pids"];
/// The subgroup that receives our own processes when they prevent a delegated group from passing on controllers.
const LEAF: &str = "prony-self";
/// Number of attempts to move all processes, including those forked meanwhile.
const TRIES: u32 = 10;

/// The kernel's files, or a fake in tests.
pub(super) trait Tree {
    /// Reads a file of a group; empty if it cannot be read.
    fn read(&self, group: &Path, file: &str) -> String;
    /// Writes to a file of a group.
    fn write(&self, group: &Path, file: &str, value: &str) -> io::Result<()>;
    /// Creates a group.
    fn make(&self, group: &Path) -> io::Result<()>;
    /// Removes an empty group.
    fn remove(&self, group: &Path);
    /// The parent of a process.
    fn parent(&self, pid: i32) -> Option<i32>;
}

/// The kernel's files.
pub(super) struct Kernel;

impl Tree for Kernel {
    fn read(&self, group: &Path, file: &str) -> String {
        fs::read_to_string(group.join(file)).unwrap_or_default()
    }

    fn write(&self, group: &Path, file: &str, value: &str) -> io::Result<()> {
        write(group, file, value)
    }

    fn make(&self, group: &Path) -> io::Result<()> {
        fs::create_dir(group)
    }

    fn remove(&self, group: &Path) {
        let _ = fs::remove_dir(group);
    }

    fn parent(&self, pid: i32) -> Option<i32> {
        crate::tree::parent_of(pid)
    }
}

/// Where to create groups, and for which process.
pub(super) struct GroupLocation<'a> {
    pub(super) tree: &'a dyn Tree,
    /// The hierarchy, and the group that this process is in.
    pub(super) unified: &'a UnifiedHierarchy,
    /// The process id of prony. Only its descendants are ever moved.
    pub(super) prony: i32,
}

impl<'a> GroupLocation<'a> {
    /// A place in the kernel's hierarchy.
    pub(super) const fn of(unified: &'a UnifiedHierarchy, prony: i32) -> Self {
        Self {
            tree: &Kernel,
            unified,
            prony,
        }
    }

    /// Creates `name` below the own group or, if that cannot pass on controllers, below its nearest ancestor that can. The
    /// second value tells whether the new group has the controllers for limits.
    pub(super) fn make(&self, name: &str) -> Option<(PathBuf, bool)> {
        for base in self.bases() {
            if self.hands_down(base) || self.makes_room(base) {
                let folder = base.join(name);
                if self.tree.make(&folder).is_ok() {
                    return Some((folder, true));
                }
            }
        }
        // Without controllers the group still counts CPU time and can kill all its processes at once.
        let folder = self.home().join(name);
        self.tree.make(&folder).is_ok().then_some((folder, false))
    }

    /// Whether [`GroupLocation::make`] would get controllers. The check moves no process and creates no group.
    pub(super) fn may_limit(&self) -> bool {
        self.bases()
            .any(|base| self.hands_down(base) || (base == self.home() && self.may_make_room(base)))
    }

    /// The own group. If an earlier start has moved this process into [`LEAF`], the group above it.
    fn home(&self) -> &Path {
        let own = &self.unified.own;
        match own.parent() {
            Some(above) if own.file_name().is_some_and(|name| name == LEAF) => above,
            _ => own,
        }
    }

    /// The own group and its ancestors, the nearest first.
    fn bases(&self) -> impl Iterator<Item = &Path> {
        let all = self.home().ancestors();
        all.take_while(|folder| folder.starts_with(&self.unified.mount))
    }

    fn has(&self, base: &Path, file: &str, names: &[&str]) -> bool {
        let list = self.tree.read(base, file);
        names
            .iter()
            .all(|name| list.split_whitespace().any(|word| word == *name))
    }

    /// Whether subgroups of `base` have the controllers, after trying to enable them.
    fn hands_down(&self, base: &Path) -> bool {
        if !self.has(base, "cgroup.controllers", &NEEDED) {
            return false;
        }
        if !self.has(base, "cgroup.subtree_control", &NEEDED) {
            // All required controllers in one write, which the kernel accepts or rejects as a whole. It would accept `cpu` alone even
            // for a group with processes, and turn the group into a threaded one, in which limits are impossible.
            let all = NEEDED.map(|name| format!("+{name}")).join(" ");
            if self.tree.write(base, "cgroup.subtree_control", &all).is_err() {
                return false;
            }
        }
        for controller in WANTED {
            // Each in its own write: a controller that does not exist would fail the others.
            if !self.has(base, "cgroup.subtree_control", &[controller]) {
                let one = format!("+{controller}");
                let _ = self.tree.write(base, "cgroup.subtree_control", &one);
            }
        }
        self.has(base, "cgroup.subtree_control", &NEEDED)
    }

    /// Whether moving our processes would help: the group has the controllers, and contains only prony's own processes. A shell
    /// or a session that happens to share the group is never moved.
    fn may_make_room(&self, own: &Path) -> bool {
        let processes = self.processes(own);
        let is_domain = self.tree.read(own, "cgroup.type").trim() == "domain";
        let is_ours = processes.iter().all(|&pid| self.is_prony(pid));
        is_domain && self.has(own, "cgroup.controllers", &NEEDED) && !processes.is_empty() && is_ours
    }

    /// Moves the processes of the own group into a subgroup and tries to enable the controllers again. If that fails, they move
    /// back.
    fn makes_room(&self, base: &Path) -> bool {
        if base != self.home() || !self.may_make_room(base) {
            return false;
        }
        let leaf = base.join(LEAF);
        let made = self.tree.make(&leaf).is_ok();
        self.moves(base, &leaf);
        if self.hands_down(base) {
            return true;
        }
        self.moves(&leaf, base);
        if made {
            self.tree.remove(&leaf);
        }
        false
    }

    /// Moves all processes, including those forked meanwhile.
    fn moves(&self, from: &Path, to: &Path) {
        for _ in 0..TRIES {
            let processes = self.processes(from);
            if processes.is_empty() {
                return;
            }
            let moved = |pid: &i32| self.tree.write(to, "cgroup.procs", &pid.to_string()).is_ok();
            if processes.iter().map(moved).filter(|moved| *moved).count() == 0 {
                return;
            }
        }
    }

    fn processes(&self, group: &Path) -> Vec<i32> {
        let text = self.tree.read(group, "cgroup.procs");
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    fn is_prony(&self, pid: i32) -> bool {
        let mut above = std::iter::successors(Some(pid), |&pid| self.tree.parent(pid));
        above.any(|pid| pid == self.prony)
    }
}

#[cfg(test)]
mod tests;
