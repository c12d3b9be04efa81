//! One control group, with the same name in every mounted hierarchy.

use super::discover::Hierarchies;
use super::{v2, write};
use crate::{Cpus, Limits};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Controllers of version 1 that are used.
const CONTROLLERS: [&str; 5] = ["cpu", "cpuacct", "cpuset", "memory", "pids"];
/// The period of the CPU limit, µs. The kernel's own default.
const PERIOD_US: u64 = 100_000;

/// A control group. Groups made by prony are removed when dropped; they must be empty by then.
#[derive(Debug)]
pub(crate) struct Group {
    pub(super) owner: GroupOwner,
    pub(super) unified: Option<PathBuf>,
    /// Whether the group of version 2 has the `cpu` and `memory` controllers.
    pub(super) unified_rules: bool,
    /// Its folders of version 1, by controller.
    pub(super) v1: BTreeMap<String, PathBuf>,
}

/// Who created a control group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GroupOwner {
    /// prony, which removes it when dropped.
    Prony,
    /// A container engine, for one of prony's containers. The engine removes it.
    Engine,
    /// Other programs, for themselves: prony never writes to it.
    Others,
}

/// A requested limit that is not in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// A sentence with the reason and what to do.
    pub(crate) text: String,
}

impl Group {
    /// Creates the group in every hierarchy that permits it, on behalf of the process `prony`. `None` if no group could be
    /// created.
    pub(crate) fn make(hierarchies: &Hierarchies, name: &str, prony: i32) -> Option<Self> {
        let mut group = Self {
            owner: GroupOwner::Prony,
            unified: None,
            unified_rules: false,
            v1: BTreeMap::new(),
        };
        if let Some(unified) = &hierarchies.unified
            && let Some((folder, rules)) = v2::GroupLocation::of(unified, prony).make(name)
        {
            group.unified = Some(folder);
            group.unified_rules = rules;
        }
        for controller in CONTROLLERS {
            let Some(own) = hierarchies.v1.get(controller) else {
                continue;
            };
            let folder = own.join(name);
            // Controllers that are mounted together share one folder.
            let made = group.v1.values().any(|made| made == &folder) || fs::create_dir(&folder).is_ok();
            if made {
                group.v1.insert(controller.to_owned(), folder);
            }
        }
        if group.unified.is_none() && group.v1.is_empty() {
            None
        } else {
            Some(group)
        }
    }

    /// Finds the group with this name in all hierarchies.
    pub(super) fn found(hierarchies: &Hierarchies, name: &str, bases: &[PathBuf]) -> Self {
        let v1 = hierarchies
            .v1
            .iter()
            .map(|(controller, own)| (controller.clone(), own.join(name)));
        let mount = hierarchies.unified.as_ref().map(|unified| &unified.mount);
        let unified = bases
            .iter()
            .filter(|base| mount.is_some_and(|mount| base.starts_with(mount)));
        Self {
            owner: GroupOwner::Prony,
            unified: unified.map(|base| base.join(name)).find(|folder| folder.is_dir()),
            unified_rules: false,
            v1: v1.filter(|(_, folder)| folder.is_dir()).collect(),
        }
    }

    /// A group that other programs made, by its folder or by its path as in `/proc/PID/cgroup`; `None` if it does not count CPU
    /// time and memory.
    pub(crate) fn of_others(path: &Path) -> Option<Self> {
        let mounts = Hierarchies::mounted();
        let all = mounts
            .v1
            .values()
            .chain(mounts.unified.as_ref().map(|unified| &unified.mount));
        let below = all.clone().find_map(|mount| path.strip_prefix(mount).ok());
        let below = below.unwrap_or_else(|| path.strip_prefix("/").unwrap_or(path));
        let there = |mount: &PathBuf| Some(mount.join(below)).filter(|folder| folder.is_dir());
        let unified = mounts.unified.as_ref().and_then(|unified| there(&unified.mount));
        let same = mounts.v1.iter();
        let mut v1: BTreeMap<String, PathBuf> = same
            .filter_map(|(controller, mount)| Some((controller.clone(), there(mount)?)))
            .collect();
        // In version 1 the group of a process may have a different path for each controller.
        let first = v1
            .values()
            .chain(&unified)
            .find_map(|folder| processes_below(folder).first().copied());
        let of_first = first.map(Hierarchies::of_process).unwrap_or_default();
        for (controller, folder) in of_first.v1 {
            if mounts.v1.get(&controller) != Some(&folder) {
                v1.entry(controller).or_insert(folder);
            }
        }
        Self::existing(GroupOwner::Others, unified, v1)
    }

    /// A group that prony did not create; `None` if it does not count CPU time and memory.
    fn existing(owner: GroupOwner, unified: Option<PathBuf>, v1: BTreeMap<String, PathBuf>) -> Option<Self> {
        let group = Self {
            owner,
            unified_rules: unified
                .as_ref()
                .is_some_and(|folder| folder.join("memory.current").is_file()),
            unified,
            v1,
        };
        group.source().is_some().then_some(group)
    }

    /// The group that an engine made for a process's container; `None` if it made none that counts CPU time and memory.
    pub(crate) fn of_container(pid: i32) -> Option<Self> {
        let (theirs, ours) = (Hierarchies::of_process(pid), Hierarchies::of_this_process());
        // A group that contains this process as well is not the container's.
        let is_own = |folder: &PathBuf, ours: Option<&PathBuf>| {
            folder.is_dir() && ours.is_none_or(|ours| !ours.starts_with(folder))
        };
        let mut v1 = theirs.v1;
        v1.retain(|controller, folder| is_own(folder, ours.v1.get(controller)));
        let ours = ours.unified.map(|unified| unified.own);
        let unified = theirs.unified.map(|unified| unified.own);
        let unified = unified.filter(|folder| is_own(folder, ours.as_ref()));
        Self::existing(GroupOwner::Engine, unified, v1)
    }

    /// Sets limits and CPUs; returns the limits that could not be set. CPU affinity is set as well, so that the CPUs hold
    /// without a group; the group prevents a service from changing its affinity.
    pub(crate) fn limit(&self, limits: &Limits, cpus: &Cpus) -> Vec<Problem> {
        let mut problems = Vec::new();
        if let Some(share) = limits.cpus
            && let Err(error) = self.limit_cpus(share)
        {
            problems.push(Problem::new(&format!("the limit of {share} CPUs"), &error));
        }
        if let Some(bytes) = limits.memory_bytes
            && let Err(error) = self.limit_memory(bytes)
        {
            problems.push(Problem::new(
                &format!("the limit of {} of memory", crate::process::Size(bytes)),
                &error,
            ));
        }
        if !cpus.is_empty() {
            // Without a cpuset controller only the affinity remains, which a service could change.
            let _ = self.keep_on(cpus);
        }
        problems
    }

    fn limit_cpus(&self, share: f64) -> io::Result<()> {
        let quota = ((share * PERIOD_US as f64).round() as u64).max(1_000);
        if let Some(folder) = self.v1.get("cpu") {
            write(folder, "cpu.cfs_period_us", &PERIOD_US.to_string())?;
            return write(folder, "cpu.cfs_quota_us", &quota.to_string());
        }
        write(self.rules()?, "cpu.max", &format!("{quota} {PERIOD_US}"))
    }

    fn limit_memory(&self, bytes: u64) -> io::Result<()> {
        if let Some(folder) = self.v1.get("memory") {
            write(folder, "memory.limit_in_bytes", &bytes.to_string())?;
            // Swap would hide the limit. Kernels without swap accounting lack the file.
            let _ = write(folder, "memory.memsw.limit_in_bytes", &bytes.to_string());
            return Ok(());
        }
        let folder = self.rules()?;
        write(folder, "memory.max", &bytes.to_string())?;
        let _ = write(folder, "memory.swap.max", "0");
        Ok(())
    }

    fn keep_on(&self, cpus: &Cpus) -> io::Result<()> {
        if let Some(folder) = self.v1.get("cpuset") {
            let parent = folder.parent().unwrap_or(folder);
            let nodes = fs::read_to_string(parent.join("cpuset.effective_mems"))
                .or_else(|_| fs::read_to_string(parent.join("cpuset.mems")))?;
            // A cpuset group of version 1 accepts no process before both are set.
            write(folder, "cpuset.mems", nodes.trim())?;
            return write(folder, "cpuset.cpus", &cpus.to_string());
        }
        write(self.rules()?, "cpuset.cpus", &cpus.to_string())
    }

    fn rules(&self) -> io::Result<&Path> {
        match &self.unified {
            Some(folder) if self.unified_rules => Ok(folder),
            _ => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "no control group with this controller",
            )),
        }
    }

    /// The files through which a process joins the group, by writing `0` to each. Drops a cpuset folder that accepts none.
    pub(crate) fn doors(&mut self) -> Vec<File> {
        let open = |folder: &PathBuf| OpenOptions::new().write(true).open(folder.join("cgroup.procs"));
        let mut doors = Vec::new();
        let usable = |folder: &PathBuf| {
            let cpuset = fs::read_to_string(folder.join("cpuset.cpus"));
            cpuset.map_or(true, |cpus| !cpus.trim().is_empty())
        };
        if self.v1.get("cpuset").is_some_and(|folder| !usable(folder))
            && let Some(folder) = self.v1.remove("cpuset")
            && !self.v1.values().any(|other| other == &folder)
        {
            let _ = fs::remove_dir(folder);
        }
        for folder in self.folders() {
            doors.extend(open(&folder));
        }
        doors
    }

    /// All folders without duplicates.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = self.v1.values().chain(&self.unified).cloned().collect();
        all.sort();
        all.dedup();
        all
    }

    /// The processes in the group.
    pub(crate) fn processes(&self) -> Vec<i32> {
        if self.owner != GroupOwner::Prony {
            // It is unknown in which hierarchy the owner placed the processes. Subgroups are part of the group.
            let counting = self.v1.get("memory").or(self.unified.as_ref());
            return counting.map_or_else(Vec::new, |folder| processes_below(folder));
        }
        let folder = self.unified.as_ref().or_else(|| self.v1.values().next());
        folder.map_or_else(Vec::new, |folder| processes_in(folder))
    }

    /// Kills all processes at once if the kernel can (5.14, version 2). A tree that forks constantly cannot escape it.
    pub(crate) fn kill(&self) -> bool {
        self.unified
            .as_ref()
            .is_some_and(|folder| write(folder, "cgroup.kill", "1").is_ok())
    }

    /// Removes the folders. The kernel needs a moment after the last process has ended.
    fn remove(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(1);
        for folder in self.folders() {
            while let Err(error) = fs::remove_dir(&folder) {
                if error.kind() == io::ErrorKind::NotFound || Instant::now() > deadline {
                    break;
                }
                thread::sleep(Duration::from_millis(2));
            }
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.owner == GroupOwner::Prony {
            self.remove();
        }
    }
}

fn processes_in(folder: &Path) -> Vec<i32> {
    let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

fn processes_below(folder: &Path) -> Vec<i32> {
    let mut found = processes_in(folder);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(processes_below(&entry.path()));
        }
    }
    found
}

impl Problem {
    /// The limits that are not in force for the container of a process. `remedy`: what to do.
    pub(crate) fn in_container(pid: i32, limits: &Limits, remedy: &str) -> Vec<Self> {
        let hierarchies = Hierarchies::of_process(pid);
        let problem = |what: String| Self {
            text: format!("{what} is not enforced in its container. → {remedy}"),
        };
        let cpus = limits.cpus.filter(|share| {
            // Engines round to a whole microsecond of a period.
            super::quota::cpus_of(&hierarchies).is_none_or(|allowed| allowed > share * 1.01)
        });
        let memory = limits
            .memory_bytes
            .filter(|bytes| super::quota::memory_of(&hierarchies).is_none_or(|allowed| allowed > *bytes));
        let cpus = cpus.map(|share| problem(format!("The limit of {share} CPUs")));
        let memory =
            memory.map(|bytes| problem(format!("The limit of {} of memory", crate::process::Size(bytes))));
        cpus.into_iter().chain(memory).collect()
    }

    pub(crate) fn without_batch_policy() -> Self {
        Self {
            text: "The scheduling policy SCHED_BATCH is not enforced. → Allow the system call sched_setscheduler, or use a design other than interleaved.".to_owned(),
        }
    }

    fn new(what: &str, error: &io::Error) -> Self {
        let text = format!("{what} is not enforced: {error}. → {}", super::REMEDY);
        Self { text }
    }

    /// All requested limits, if there is no group at all.
    pub(crate) fn without_group(limits: &Limits) -> Vec<Self> {
        let error = io::Error::new(
            io::ErrorKind::PermissionDenied,
            "this user may not create control groups",
        );
        let cpus = limits
            .cpus
            .map(|share| Self::new(&format!("the limit of {share} CPUs"), &error));
        let memory = limits.memory_bytes.map(|bytes| {
            Self::new(
                &format!("the limit of {} of memory", crate::process::Size(bytes)),
                &error,
            )
        });
        cpus.into_iter().chain(memory).collect()
    }
}
