//! Making a group of version 2, where a group may hold either processes or groups with controllers, but not both
//! ("no internal processes", the kernel's `cgroup-v2.rst`).

use super::discover::Unified;
use super::write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Controllers that limits need.
const NEEDED: [&str; 2] = ["cpu", "memory"];
/// Controllers that are used where they are to be had.
const WANTED: [&str; 2] = ["cpuset", "pids"];
/// Where processes move that stand in the way in a group that was given to us.
const LEAF: &str = "prony-self";
/// Tries to move what is forked meanwhile, too.
const TRIES: u32 = 10;

/// The kernel's files, or what stands in for them in a test.
pub(super) trait Tree {
    /// A file of a group; empty where it cannot be read.
    fn read(&self, group: &Path, file: &str) -> String;
    /// Writes to a file of a group.
    fn write(&self, group: &Path, file: &str, value: &str) -> io::Result<()>;
    /// Makes a group.
    fn make(&self, group: &Path) -> io::Result<()>;
    /// Removes an empty group.
    fn remove(&self, group: &Path);
    /// The parent of a process.
    fn parent(&self, pid: i32) -> Option<i32>;
}

/// The kernel's.
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

/// Where groups are made, for whom.
pub(super) struct Place<'a> {
    /// The kernel's files.
    pub(super) tree: &'a dyn Tree,
    /// The hierarchy and the group that we are in.
    pub(super) unified: &'a Unified,
    /// The process that prony is: what does not descend from it is never moved.
    pub(super) prony: i32,
}

impl<'a> Place<'a> {
    /// In the kernel's hierarchy.
    pub(super) const fn of(unified: &'a Unified, prony: i32) -> Self {
        Self {
            tree: &Kernel,
            unified,
            prony,
        }
    }

    /// Makes `name` below the own group or, where that cannot hand down controllers, below the nearest group above it that
    /// can. The second value says whether it has the controllers for limits.
    pub(super) fn make(&self, name: &str) -> Option<(PathBuf, bool)> {
        for base in self.bases() {
            if self.hands_down(base) || self.makes_room(base) {
                let folder = base.join(name);
                if self.tree.make(&folder).is_ok() {
                    return Some((folder, true));
                }
            }
        }
        // Without controllers it still counts CPU time and kills all at once.
        let folder = self.home().join(name);
        self.tree.make(&folder).is_ok().then_some((folder, false))
    }

    /// Whether [`Place::make`] would get controllers. Nothing is moved and nothing is made to find it out.
    pub(super) fn may_limit(&self) -> bool {
        self.bases()
            .any(|base| self.hands_down(base) || (base == self.home() && self.may_make_room(base)))
    }

    /// The own group. One in which an earlier start has put us, so that the group above has room, counts as that one.
    fn home(&self) -> &Path {
        let own = &self.unified.own;
        match own.parent() {
            Some(above) if own.file_name().is_some_and(|name| name == LEAF) => above,
            _ => own,
        }
    }

    /// The own group and those above it, the nearest first.
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

    /// Whether groups below `base` have the controllers, after asking for them.
    fn hands_down(&self, base: &Path) -> bool {
        if !self.has(base, "cgroup.controllers", &NEEDED) {
            return false;
        }
        if !self.has(base, "cgroup.subtree_control", &NEEDED) {
            // All that are needed in one write, which the kernel grants or refuses as a whole. `cpu` alone it would grant to a
            // group that holds processes, too: as a threaded one, in which nothing can be limited any more.
            let all = NEEDED.map(|name| format!("+{name}")).join(" ");
            if self.tree.write(base, "cgroup.subtree_control", &all).is_err() {
                return false;
            }
        }
        for controller in WANTED {
            // Each alone: a controller that is not there would refuse the others with it.
            if !self.has(base, "cgroup.subtree_control", &[controller]) {
                let one = format!("+{controller}");
                let _ = self.tree.write(base, "cgroup.subtree_control", &one);
            }
        }
        self.has(base, "cgroup.subtree_control", &NEEDED)
    }

    /// Whether room would help: the group has the controllers and holds nothing but prony's own processes. A shell or a session
    /// that happens to share the group is never moved.
    fn may_make_room(&self, own: &Path) -> bool {
        let processes = self.processes(own);
        let is_domain = self.tree.read(own, "cgroup.type").trim() == "domain";
        let is_ours = processes.iter().all(|&pid| self.is_prony(pid));
        is_domain && self.has(own, "cgroup.controllers", &NEEDED) && !processes.is_empty() && is_ours
    }

    /// Moves the processes of the own group into a group below it and asks for the controllers again. Where that does not help
    /// they move back.
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

    /// Moves all, those too that are forked meanwhile.
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
