//! CPU and memory limits of groups and their ancestors, set by a container engine, a CI job or any other program.

use super::discover::Hierarchies;
use std::fs;
use std::path::Path;

/// The smallest CPU quota of this process's groups and their ancestors, in CPUs; `None`: no quota.
pub(crate) fn quota() -> Option<f64> {
    cpus_of(&Hierarchies::of_this_process())
}

/// The same for the given groups.
pub(super) fn cpus_of(hierarchies: &Hierarchies) -> Option<f64> {
    let v1 = hierarchies.v1.get("cpu");
    let v1 = v1.into_iter().flat_map(|own| own.ancestors()).filter_map(of_v1);
    let v2 = hierarchies.unified.iter().flat_map(|unified| {
        let above = unified.own.ancestors();
        above
            .take_while(|folder| folder.starts_with(&unified.mount))
            .filter_map(of_v2)
    });
    v1.chain(v2).min_by(f64::total_cmp)
}

/// The smallest memory limit of this process's groups and their ancestors, bytes, if it is below the machine's memory;
/// `None`: no limit.
pub(crate) fn memory_limit(machine: Option<u64>) -> Option<u64> {
    // Version 1 expresses "no limit" as the largest possible number.
    memory_of(&Hierarchies::of_this_process()).filter(|&limit| machine.is_none_or(|all| limit < all))
}

/// The smallest memory limit of groups and their ancestors, bytes; `None`: no limit.
pub(super) fn memory_of(hierarchies: &Hierarchies) -> Option<u64> {
    let number = |folder: &Path, file: &str| fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok();
    let v1 = hierarchies.v1.get("memory");
    let v1 = v1.into_iter().flat_map(|own| own.ancestors());
    let v1 = v1.filter_map(|folder| number(folder, "memory.limit_in_bytes"));
    let v2 = hierarchies.unified.iter().flat_map(|unified| {
        let above = unified.own.ancestors();
        above.take_while(|folder| folder.starts_with(&unified.mount))
    });
    let v2 = v2.filter_map(|folder| number(folder, "memory.max"));
    v1.chain(v2).min()
}

/// A quota of -1 means no quota.
fn of_v1(folder: &Path) -> Option<f64> {
    let number = |file: &str| {
        fs::read_to_string(folder.join(file))
            .ok()?
            .trim()
            .parse::<f64>()
            .ok()
    };
    share(number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?)
}

/// Parses `max 100000` or `200000 100000`.
fn of_v2(folder: &Path) -> Option<f64> {
    let text = fs::read_to_string(folder.join("cpu.max")).ok()?;
    let (quota, period) = text.trim().split_once(' ')?;
    share(quota.parse().ok()?, period.parse().ok()?)
}

fn share(quota: f64, period: f64) -> Option<f64> {
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

#[cfg(test)]
mod tests {
    use super::super::discover::UnifiedHierarchy;
    use super::*;
    use std::collections::BTreeMap;

    fn write(folder: &Path, file: &str, text: &str) {
        fs::create_dir_all(folder).expect("made");
        fs::write(folder.join(file), text).expect("written");
    }

    #[test]
    fn the_tightest_of_version_2_holds() {
        let folder = tempfile::tempdir().expect("a folder");
        let mount = folder.path().join("cgroup");
        let own = mount.join("job/step");
        let hierarchies = Hierarchies {
            unified: Some(UnifiedHierarchy {
                mount: mount.clone(),
                own: own.clone(),
            }),
            v1: BTreeMap::new(),
        };
        assert_eq!(cpus_of(&hierarchies), None);
        write(&own, "cpu.max", "max 100000\n");
        assert_eq!(cpus_of(&hierarchies), None);
        write(&mount.join("job"), "cpu.max", "200000 100000\n");
        write(&mount, "cpu.max", "400000 100000\n");
        // Outside the mount: it does not count.
        write(folder.path(), "cpu.max", "1000 100000\n");
        assert_eq!(cpus_of(&hierarchies), Some(2.0));
        write(&own, "cpu.max", "25000 50000\n");
        assert_eq!(cpus_of(&hierarchies), Some(0.5));
        write(&own, "memory.max", "max\n");
        assert_eq!(memory_of(&hierarchies), None);
        write(&mount, "memory.max", "134217728\n");
        assert_eq!(memory_of(&hierarchies), Some(128 << 20));
    }

    #[test]
    fn the_tightest_of_version_1_holds() {
        let folder = tempfile::tempdir().expect("a folder");
        let own = folder.path().join("docker/abc");
        let hierarchies = Hierarchies {
            unified: None,
            v1: BTreeMap::from([("cpu".to_owned(), own.clone())]),
        };
        write(&own, "cpu.cfs_quota_us", "-1\n");
        write(&own, "cpu.cfs_period_us", "100000\n");
        assert_eq!(cpus_of(&hierarchies), None);
        write(&folder.path().join("docker"), "cpu.cfs_quota_us", "150000\n");
        write(&folder.path().join("docker"), "cpu.cfs_period_us", "100000\n");
        assert_eq!(cpus_of(&hierarchies), Some(1.5));
        assert_eq!(memory_of(&hierarchies), None);
        let memory = folder.path().join("memory/docker/abc");
        let hierarchies = Hierarchies {
            unified: None,
            v1: BTreeMap::from([("memory".to_owned(), memory.clone())]),
        };
        write(&memory, "memory.limit_in_bytes", "9223372036854771712\n");
        write(
            &folder.path().join("memory/docker"),
            "memory.limit_in_bytes",
            "67108864\n",
        );
        assert_eq!(memory_of(&hierarchies), Some(64 << 20));
    }
}
