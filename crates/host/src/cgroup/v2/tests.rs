use super::*;
use nix::errno::Errno;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

const MOUNT: &str = "/sys/fs/cgroup";
/// Controllers that a threaded group may have.
const THREADED: [&str; 3] = ["cpu", "cpuset", "pids"];

#[derive(Default)]
struct FakeGroup {
    processes: Vec<i32>,
    hands_down: BTreeSet<String>,
}

/// Implements the kernel's rules (`cgroup_vet_subtree_control_enable`, `cgroup_migrate_vet_dst`).
struct Fake {
    groups: RefCell<BTreeMap<PathBuf, FakeGroup>>,
    parents: BTreeMap<i32, i32>,
    /// Controllers of the mount itself: all of them, or those given to a container.
    given: Vec<&'static str>,
    /// Whether the mount shows the real root, which is exempt from the rule about processes.
    real_root: bool,
    /// Whether the groups are read-only.
    read_only: bool,
}

impl Fake {
    fn new(given: &[&'static str]) -> Self {
        let root = BTreeMap::from([(PathBuf::from(MOUNT), FakeGroup::default())]);
        Self {
            groups: RefCell::new(root),
            parents: BTreeMap::new(),
            given: given.to_vec(),
            real_root: false,
            read_only: false,
        }
    }

    fn with(self, path: &str, processes: &[i32]) -> Self {
        let group = FakeGroup {
            processes: processes.to_vec(),
            ..FakeGroup::default()
        };
        self.groups
            .borrow_mut()
            .insert(Path::new(MOUNT).join(path), group);
        self
    }

    /// A shell 10 that started prony 20, which started a supervisor 30.
    fn family(mut self) -> Self {
        self.parents = BTreeMap::from([(10, 1), (20, 10), (30, 20)]);
        self
    }

    fn controllers(&self, path: &Path) -> BTreeSet<String> {
        match path.parent().filter(|_| path != Path::new(MOUNT)) {
            None => self.given.iter().map(|&name| name.to_owned()).collect(),
            Some(above) => self.groups.borrow()[above].hands_down.clone(),
        }
    }

    fn is_exempt(&self, path: &Path) -> bool {
        self.real_root && path == Path::new(MOUNT)
    }

    fn kind(&self, path: &Path) -> &'static str {
        let groups = self.groups.borrow();
        let threads = |path: &Path| {
            let group = &groups[path];
            !self.is_exempt(path) && !group.processes.is_empty() && !group.hands_down.is_empty()
        };
        let invalid = path != Path::new(MOUNT)
            && path
                .ancestors()
                .skip(1)
                .any(|above| above.starts_with(MOUNT) && threads(above));
        match (invalid, threads(path)) {
            (true, _) => "domain invalid",
            (_, true) => "domain threaded",
            _ => "domain",
        }
    }

    fn where_is(&self, pid: i32) -> String {
        let groups = self.groups.borrow();
        let found = groups.iter().find(|(_, group)| group.processes.contains(&pid));
        let (path, _) = found.expect("every process is somewhere");
        path.strip_prefix(MOUNT).expect("below").display().to_string()
    }

    fn names(&self) -> Vec<String> {
        let groups = self.groups.borrow();
        let below = groups.keys().filter_map(|path| path.strip_prefix(MOUNT).ok());
        below
            .map(|path| path.display().to_string())
            .filter(|name| !name.is_empty())
            .collect()
    }

    fn place<'a>(&'a self, unified: &'a UnifiedHierarchy) -> GroupLocation<'a> {
        GroupLocation {
            tree: self,
            unified,
            prony: 20,
        }
    }
}

impl Tree for Fake {
    fn read(&self, group: &Path, file: &str) -> String {
        let join = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(" ");
        match file {
            "cgroup.controllers" => join(self.controllers(group)),
            "cgroup.subtree_control" => join(self.groups.borrow()[group].hands_down.clone()),
            "cgroup.type" if self.is_exempt(group) => String::new(),
            "cgroup.type" => self.kind(group).to_owned(),
            _ => {
                let groups = self.groups.borrow();
                let group = groups.get(group).into_iter();
                let pids = group
                    .flat_map(|group| &group.processes)
                    .map(|pid| format!("{pid}\n"));
                pids.collect()
            }
        }
    }

    fn write(&self, group: &Path, file: &str, value: &str) -> io::Result<()> {
        if self.read_only {
            return Err(Errno::EROFS.into());
        }
        let kind = self.kind(group);
        let has = self.controllers(group);
        let mut groups = self.groups.borrow_mut();
        if file == "cgroup.procs" {
            if kind != "domain" || !(groups[group].hands_down.is_empty() || self.is_exempt(group)) {
                return Err(Errno::EBUSY.into());
            }
            let pid = value.parse().expect("a number");
            for other in groups.values_mut() {
                other.processes.retain(|&known| known != pid);
            }
            groups.get_mut(group).expect("there").processes.push(pid);
            return Ok(());
        }
        let wanted: Vec<&str> = value.split(' ').map(|word| &word[1..]).collect();
        if wanted.iter().any(|name| !has.contains(*name)) {
            return Err(Errno::ENOENT.into());
        }
        let threaded = wanted.iter().all(|name| THREADED.contains(name));
        let entry = groups.get_mut(group).expect("there");
        let error = match kind {
            "domain invalid" => Some(Errno::EOPNOTSUPP),
            _ if self.is_exempt(group) || threaded => None,
            "domain threaded" => Some(Errno::EOPNOTSUPP),
            _ => (!entry.processes.is_empty()).then_some(Errno::EBUSY),
        };
        if let Some(error) = error {
            return Err(error.into());
        }
        entry.hands_down.extend(wanted.into_iter().map(str::to_owned));
        Ok(())
    }

    fn make(&self, group: &Path) -> io::Result<()> {
        let known = self
            .groups
            .borrow_mut()
            .insert(group.to_owned(), FakeGroup::default());
        assert!(known.is_none(), "{} already exists", group.display());
        if self.read_only {
            self.groups.borrow_mut().remove(group);
            return Err(Errno::EROFS.into());
        }
        Ok(())
    }

    fn remove(&self, group: &Path) {
        self.groups.borrow_mut().remove(group);
    }

    fn parent(&self, pid: i32) -> Option<i32> {
        self.parents.get(&pid).copied()
    }
}

fn unified(own: &str) -> UnifiedHierarchy {
    UnifiedHierarchy {
        mount: PathBuf::from(MOUNT),
        own: Path::new(MOUNT).join(own),
    }
}

/// The root of a container that runs only prony.
#[test]
fn a_group_that_holds_prony_alone_gets_all_controllers() {
    let fake = Fake::new(&["cpu", "cpuset", "memory", "pids"])
        .with("", &[20, 30])
        .family();
    let unified = unified("");
    let (folder, rules) = fake.place(&unified).make("prony-x").expect("made");
    assert!(rules, "{}", fake.kind(Path::new(MOUNT)));
    assert_eq!(folder, Path::new(MOUNT).join("prony-x"));
    assert_eq!(fake.kind(&folder), "domain");
    assert_eq!(
        fake.controllers(&folder),
        ["cpu", "cpuset", "memory", "pids"].map(str::to_owned).into()
    );
    assert_eq!((fake.where_is(20), fake.where_is(30)), (LEAF.into(), LEAF.into()));
}

/// Each supervisor of the same prony, and each prony in the same scope, reuses the subgroup of the first one.
#[test]
fn a_second_start_nests_no_deeper() {
    let fake = Fake::new(&["cpu", "memory"]).with("scope", &[20, 30]).family();
    fake.groups
        .borrow_mut()
        .get_mut(Path::new(MOUNT))
        .expect("there")
        .hands_down = ["cpu", "memory"].map(str::to_owned).into();
    let mut own = "scope".to_owned();
    for number in 0..4 {
        let unified = unified(&own);
        let (folder, rules) = fake
            .place(&unified)
            .make(&format!("prony-{number}"))
            .expect("made");
        assert!(rules);
        // The scope is only used because the mount's own group passes on its controllers.
        assert!(
            folder.ends_with(format!("prony-{number}")),
            "{}",
            folder.display()
        );
        own = fake.where_is(30);
    }
    assert!(
        fake.names().iter().all(|name| name.matches('/').count() <= 1),
        "{:?}",
        fake.names()
    );
}

#[test]
fn a_shell_is_never_moved() {
    let fake = Fake::new(&["cpu", "memory"]).with("", &[10, 20, 30]).family();
    let unified = unified("");
    let (folder, rules) = fake.place(&unified).make("prony-x").expect("made");
    assert!(!rules);
    // The group stays usable: it counts CPU time, since it did not become threaded.
    assert_eq!(fake.kind(&folder), "domain");
    assert_eq!(fake.where_is(10), "");
    assert_eq!(fake.names(), ["prony-x"]);
}

#[test]
fn no_room_is_made_where_it_does_not_help() {
    for given in [&["memory"][..], &["cpu", "pids"], &[]] {
        let fake = Fake::new(given).with("", &[20, 30]).family();
        let unified = unified("");
        let made = fake.place(&unified).make("prony-x");
        assert!(made.is_some_and(|(_, rules)| !rules));
        assert_eq!(fake.names(), ["prony-x"], "{given:?}");
        assert_eq!(fake.where_is(20), "");
    }
    let fake = Fake {
        read_only: true,
        ..Fake::new(&["cpu", "memory"]).with("", &[20]).family()
    };
    assert_eq!(fake.place(&unified("")).make("prony-x"), None);
    assert_eq!(fake.names(), Vec::<String>::new());
}

#[test]
fn looking_moves_nothing() {
    let looks = |processes: &[i32]| {
        let fake = Fake::new(&["cpu", "memory"]).with("", processes).family();
        let may = fake.place(&unified("")).may_limit();
        assert_eq!(fake.names(), Vec::<String>::new());
        assert!(processes.iter().all(|&pid| fake.where_is(pid).is_empty()));
        may
    };
    assert!(looks(&[20]) && !looks(&[10, 20]));
}

#[test]
fn the_real_root_needs_no_room() {
    let mut fake = Fake::new(&["cpu", "memory"]).with("", &[1, 10, 20, 30]).family();
    fake.real_root = true;
    let unified = unified("");
    let place = fake.place(&unified);
    assert!(place.may_limit());
    assert!(place.make("prony-x").is_some_and(|(_, rules)| rules));
    assert_eq!(fake.where_is(20), "");
}

#[test]
fn a_group_above_serves_as_well() {
    let fake = Fake::new(&["cpu", "memory"])
        .with("session", &[10, 20, 30])
        .family();
    let unified = unified("session");
    let (folder, rules) = fake.place(&unified).make("prony-x").expect("made");
    assert!(rules && folder == Path::new(MOUNT).join("prony-x"));
    assert_eq!(fake.where_is(20), "session");
}
