//! Finds the mount points of control groups, and the groups of this process.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The control group of this process in each hierarchy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hierarchies {
    /// Version 2: mount point and own group.
    pub(crate) unified: Option<UnifiedHierarchy>,
    /// Version 1: own group by controller.
    pub(crate) v1: BTreeMap<String, PathBuf>,
}

/// The single hierarchy of version 2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnifiedHierarchy {
    pub(crate) mount: PathBuf,
    /// The group of this process, below the mount point.
    pub(crate) own: PathBuf,
}

/// One mounted hierarchy.
struct Mount<'a> {
    root: &'a str,
    point: PathBuf,
    kind: &'a str,
    options: &'a str,
}

impl Hierarchies {
    pub(crate) fn of_this_process() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        Self::of(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"))
    }

    /// Parses the contents of `/proc/self/mountinfo` and `/proc/self/cgroup` (cgroups(7)).
    pub(crate) fn of(mountinfo: &str, cgroup: &str) -> Self {
        let mounts: Vec<Mount<'_>> = mountinfo.lines().filter_map(mount).collect();
        let mut found = Self::default();
        for line in cgroup.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
                continue;
            };
            if controllers.is_empty() {
                let mount = mounts.iter().find(|mount| mount.kind == "cgroup2");
                found.unified = mount.map(|mount| UnifiedHierarchy {
                    mount: mount.point.clone(),
                    own: mount.inside(path),
                });
                continue;
            }
            for controller in controllers.split(',').filter(|name| !name.contains('=')) {
                let has = |mount: &&Mount<'_>| {
                    mount.kind == "cgroup" && mount.options.split(',').any(|option| option == controller)
                };
                if let Some(mount) = mounts.iter().find(has) {
                    found.v1.insert(controller.to_owned(), mount.inside(path));
                }
            }
        }
        found
    }

    /// The groups of another process.
    pub(crate) fn of_process(pid: i32) -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        Self::of(
            &read("/proc/self/mountinfo"),
            &read(&format!("/proc/{pid}/cgroup")),
        )
    }

    /// The roots of all hierarchies, in place of the groups of this process.
    pub(crate) fn mounted() -> Self {
        let mountinfo = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let roots = own.lines().filter_map(|line| {
            let mut parts = line.split(':');
            Some(format!("{}:{}:/\n", parts.next()?, parts.next()?))
        });
        Self::of(&mountinfo, &roots.collect::<String>())
    }

    /// `v2`, `v1`, `hybrid` or `none`, as in the environment.
    pub(crate) fn version(&self) -> &'static str {
        match (&self.unified, self.v1.is_empty()) {
            (Some(_), true) => "v2",
            (Some(_), false) => "hybrid",
            (None, false) => "v1",
            (None, true) => "none",
        }
    }
}

impl Mount<'_> {
    /// The folder of a group. In a container the mount shows only the part below `root`.
    fn inside(&self, path: &str) -> PathBuf {
        let below = Path::new(path).strip_prefix(self.root).unwrap_or(Path::new(path));
        self.point.join(below.strip_prefix("/").unwrap_or(below))
    }
}

/// Parses a line of mountinfo: `36 35 0:30 /root /point rw,… shared:1 - cgroup cgroup rw,cpu`.
fn mount(line: &str) -> Option<Mount<'_>> {
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ').skip(3);
    let (root, point) = (before.next()?, before.next()?);
    let mut after = after.split(' ');
    let kind = after.next()?;
    let options = after.nth(1)?;
    kind.starts_with("cgroup").then(|| Mount {
        root,
        point: PathBuf::from(point.replace("\\040", " ")),
        kind,
        options,
    })
}
