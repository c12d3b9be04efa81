use super::discover::Hierarchies;
use super::read::keyed;
use std::path::PathBuf;

#[test]
fn finds_version_2_alone() {
    let found = Hierarchies::of(
        "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n",
        "0::/user.slice/user-1000.slice/session-2.scope\n",
    );
    assert_eq!(found.version(), "v2");
    let own = found.unified.expect("unified").own;
    assert_eq!(
        own,
        PathBuf::from("/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope")
    );
}

#[test]
fn finds_controllers_mounted_together_and_an_empty_version_2() {
    let found = Hierarchies::of(
        "31 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
         32 23 0:28 / /sys/fs/cgroup/memory rw shared:4 - cgroup cgroup rw,memory\n\
         33 23 0:29 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n\
         34 23 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
        "4:memory:/jobs/7\n3:cpu,cpuacct:/\n1:name=systemd:/\n0::/\n",
    );
    assert_eq!(found.version(), "hybrid");
    assert_eq!(found.v1["cpu"], PathBuf::from("/sys/fs/cgroup/cpu,cpuacct/"));
    assert_eq!(found.v1["cpuacct"], found.v1["cpu"]);
    assert_eq!(found.v1["memory"], PathBuf::from("/sys/fs/cgroup/memory/jobs/7"));
    assert!(!found.v1.contains_key("systemd"));
}

#[test]
fn a_container_sees_only_what_is_below_its_own_group() {
    let found = Hierarchies::of(
        "41 30 0:26 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
        "9:memory:/docker/abc/inner\n",
    );
    assert_eq!(found.v1["memory"], PathBuf::from("/sys/fs/cgroup/memory/inner"));
}

#[test]
fn a_pod_finds_its_own_group_in_either_version() {
    let scope = "/kubepods.slice/kubepods-pod1.slice/cri-containerd-ab.scope";
    // With a cgroup namespace, the default for containers of version 2; and without one, if the runtime is configured so.
    for (root, own) in [("/", "/"), (scope, scope)] {
        let found = Hierarchies::of(
            &format!("700 690 0:26 {root} /sys/fs/cgroup ro,nosuid,nodev,noexec - cgroup2 cgroup rw\n"),
            &format!("0::{own}\n"),
        );
        assert_eq!(found.version(), "v2");
        let unified = found.unified.expect("unified");
        assert_eq!(unified.own, PathBuf::from("/sys/fs/cgroup/"), "{root}");
        assert_eq!(unified.mount, PathBuf::from("/sys/fs/cgroup"));
    }
    let pod = "/kubepods/pod1/ab";
    let found = Hierarchies::of(
        &format!(
            "701 699 0:30 {pod} /sys/fs/cgroup/cpu,cpuacct ro,nosuid - cgroup cgroup rw,cpu,cpuacct\n\
             702 699 0:31 {pod} /sys/fs/cgroup/memory ro,nosuid - cgroup cgroup rw,memory\n"
        ),
        &format!("5:memory:{pod}\n4:cpu,cpuacct:{pod}\n"),
    );
    assert_eq!(found.version(), "v1");
    assert_eq!(found.v1["cpu"], PathBuf::from("/sys/fs/cgroup/cpu,cpuacct/"));
    assert_eq!(found.v1["memory"], PathBuf::from("/sys/fs/cgroup/memory/"));
}

#[test]
fn nothing_mounted_is_none() {
    assert_eq!(Hierarchies::of("", "0::/\n").version(), "none");
}

#[test]
fn a_key_is_matched_whole() {
    let stat = "total_pgfault_x 1\npgfault 2\ntotal_pgfault 3\n";
    assert_eq!(keyed(stat, "pgfault"), Some(2));
    assert_eq!(keyed(stat, "total_pgfault"), Some(3));
    assert_eq!(keyed(stat, "absent"), None);
}
