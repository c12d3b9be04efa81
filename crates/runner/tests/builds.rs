//! Building: once for equal content, with the log of what failed, and nothing left behind.

use crate::common;
use prony_config::{Requirement, Service, Source, System, Toolchain, Version};
use prony_host::Local;
use prony_records::TrialStage;
use prony_runner::testbed::{Member, Testbed as Hosts};
use prony_runner::{Builder, Cancel, Folders, Progress};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A checkout with one service.
struct Checkout {
    folder: tempfile::TempDir,
    hosts: Hosts,
    toolchains: BTreeMap<String, Toolchain>,
    cancel: Cancel,
}

impl Checkout {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("services/toy/inner")).expect("made");
        let write = |name: &str, text: &str| {
            fs::write(folder.path().join("services").join(name), text).expect("written");
        };
        write("toy/source.txt", "one");
        write("toy/inner/more.txt", "two");
        write("toy/service.toml", "name = 'toy'");
        write("shared.sh", "#!/bin/sh\necho shared");
        Self {
            folder,
            hosts: Hosts::here(Member::new(
                "",
                Arc::new(Local::new(vec![common::TOY.into(), "supervise".into()])),
                Vec::new(),
                PathBuf::new(),
            )),
            toolchains: BTreeMap::new(),
            cancel: Cancel::new(),
        }
    }

    fn service(&self, build: &[&str]) -> Service {
        let folder = self.folder.path().join("services/toy");
        let build = build.iter().map(|&command| command.to_owned()).collect();
        Service {
            name: "toy".to_owned(),
            build,
            source: Source::all_of(folder.clone()),
            shared_scripts: Some(self.folder.path().join("services")),
            folder,
            ..common::service("ok", self.folder.path())
        }
    }

    fn builder(&self) -> Builder<'_> {
        let folders = Folders::of(self.folder.path(), &self.folder.path().join("state"));
        Builder::new(&self.hosts, &self.toolchains, folders, &self.cancel)
    }

    fn repeated(&self, number: u32, fresh: bool) -> Builder<'_> {
        self.builder().repeated(number, fresh)
    }

    fn count(&self) -> usize {
        let text = fs::read_to_string(self.folder.path().join("count")).unwrap_or_default();
        text.lines().count()
    }

    /// A command that notes that it ran.
    fn note(&self) -> String {
        format!("echo built >> {}/count", self.folder.path().display())
    }
}

#[test]
fn an_equal_copy_is_never_built_twice() {
    let checkout = Checkout::new();
    let service = checkout.service(&["cat source.txt inner/more.txt > out", &checkout.note()]);
    let first = checkout.builder().build(&service).expect("built");
    assert!(!first.cached);
    assert_eq!(
        fs::read_to_string(first.folder.join("out")).expect("made"),
        "onetwo"
    );
    let second = checkout.builder().build(&service).expect("built");
    assert!(second.cached && second.folder == first.folder);
    assert_eq!(checkout.count(), 1);
}

#[test]
fn the_version_is_what_the_build_tells() {
    let checkout = Checkout::new();
    let mut service = Service {
        version: prony_config::AS_INSTALLED.to_owned(),
        version_from: Some("echo warning >&2; cat made".to_owned()),
        ..checkout.service(&["echo 2.4.1 > made"])
    };
    let version = |service: &Service| checkout.builder().build(service).map(|built| built.version);
    assert_eq!(version(&service).expect("built").as_deref(), Some("2.4.1"));
    // It is kept with the build.
    assert!(checkout.builder().build(&service).expect("there").cached);
    assert_eq!(version(&service).expect("there").as_deref(), Some("2.4.1"));
    // A `version` next to `version_from` must be correct.
    service.version = "2.4.0".to_owned();
    let error = version(&service).expect_err("another version").reason;
    assert!(error.contains("`2.4.0`") && error.contains("`2.4.1`"), "{error}");
    service.version = "2.4.1".to_owned();
    assert!(version(&service).is_ok());
    service.version_from = Some("echo none".to_owned());
    let error = version(&service).expect_err("no version").reason;
    assert!(error.contains("printed `none`"), "{error}");
}

#[test]
fn a_repetition_is_built_anew_beside_the_others() {
    let checkout = Checkout::new();
    let service = checkout.service(&[&checkout.note()]);
    let usual = checkout.builder().build(&service).expect("built");
    let first = checkout.repeated(0, true).build(&service).expect("built");
    let second = checkout.repeated(1, true).build(&service).expect("built");
    assert!(first.folder != usual.folder && first.folder != second.folder);
    assert_eq!(checkout.count(), 3);
    let folder = second.folder.clone();
    drop(second);
    let again = checkout.repeated(1, true).build(&service).expect("built");
    assert_eq!(
        (&again.folder, again.cached, checkout.count()),
        (&folder, false, 4)
    );
    let kept = checkout.repeated(1, false).build(&service).expect("built");
    assert!(kept.cached && kept.folder == folder);
}

#[test]
fn a_folder_that_somebody_runs_from_is_never_built_anew() {
    let checkout = Checkout::new();
    let service = checkout.service(&["echo made > out"]);
    let first = checkout.repeated(0, true).build(&service).expect("built");
    fs::write(first.folder.join("in-use"), "").expect("written");
    // As another prony would: the lock is of the file, not of the process.
    let second = checkout.repeated(0, true).build(&service).expect("built");
    assert_ne!(second.folder, first.folder);
    assert!(first.folder.join("in-use").exists() && second.folder.join("out").exists());
    let old = first.folder.clone();
    drop(first);
    let third = checkout.repeated(0, true).build(&service).expect("built");
    assert!(third.folder == old && !old.join("in-use").exists());
}

#[test]
fn waiting_for_another_build_is_said_and_can_be_ended() {
    let checkout = Checkout::new();
    let folder = checkout.folder.path().display().to_string();
    let service = checkout.service(&[&format!(
        "touch {folder}/begun; until test -e {folder}/go; do sleep 0.02; done"
    )]);
    let impatient = Cancel::new();
    let folders = Folders::of(checkout.folder.path(), &checkout.folder.path().join("state"));
    let second = Builder::new(&checkout.hosts, &checkout.toolchains, folders, &impatient);
    let said = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let first = scope.spawn(|| checkout.builder().build(&service));
        until("the build begins", || {
            checkout.folder.path().join("begun").exists()
        });
        let waiting = scope.spawn(|| {
            second.build_watched(&service, &|progress| {
                said.lock().expect("unpoisoned").extend(progress.waits());
                impatient.ask();
            })
        });
        let failed = waiting.join().expect("no panic").expect_err("ended");
        assert!(failed.reason.contains("stopped by the user"), "{}", failed.reason);
        fs::write(checkout.folder.path().join("go"), "").expect("written");
        assert!(first.join().expect("no panic").is_ok());
    });
    let said = said.into_inner().expect("unpoisoned").join("\n");
    assert!(
        said.contains(&format!("process {} builds toy", std::process::id())),
        "{said}"
    );
}

#[test]
fn who_waits_gets_the_build_of_the_other() {
    let checkout = Checkout::new();
    let service = checkout.service(&["sleep 0.2", &checkout.note()]);
    let built = std::thread::scope(|scope| {
        let builds = [0, 1, 2].map(|_| scope.spawn(|| checkout.builder().build(&service).expect("built")));
        builds.map(|build| build.join().expect("no panic"))
    });
    assert_eq!(checkout.count(), 1);
    assert_eq!(built.iter().filter(|built| built.cached).count(), 2);
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while !condition() {
        assert!(std::time::Instant::now() < deadline, "never: {what}");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

#[test]
fn what_changes_a_build_makes_a_new_one() {
    let checkout = Checkout::new();
    let service = checkout.service(&[&checkout.note()]);
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut build =
        |service: &Service| folders.push(checkout.builder().build(service).expect("built").folder);
    build(&service);
    fs::write(service.folder.join("source.txt"), "three").expect("written");
    build(&service);
    fs::write(
        service.folder.parent().expect("services").join("shared.sh"),
        "other",
    )
    .expect("written");
    build(&service);
    let mut other = service.clone();
    other.env.insert("LEVEL".to_owned(), "2".to_owned());
    build(&other);
    // The text of service.toml counts by what it means.
    fs::write(service.folder.join("service.toml"), "name = 'toy' # a comment").expect("written");
    build(&other);
    folders.dedup();
    assert_eq!(folders.len(), 4, "{folders:?}");
    assert_eq!(checkout.count(), 4);
}

#[test]
fn a_shared_file_is_copied_and_a_change_of_it_builds_anew() {
    let checkout = Checkout::new();
    let shared = checkout.folder.path().join("shared.proto");
    fs::write(&shared, "one").expect("written");
    let mut service = checkout.service(&[&checkout.note(), "cp proto/person.proto out"]);
    service.copies.insert("proto/person.proto".into(), shared.clone());
    let built = |expected: &str| {
        let built = checkout.builder().build(&service).expect("built");
        assert_eq!(
            fs::read_to_string(built.folder.join("out")).expect("made"),
            expected
        );
    };
    built("one");
    built("one");
    assert_eq!(checkout.count(), 1);
    fs::write(&shared, "two").expect("written");
    built("two");
    assert_eq!(checkout.count(), 2);
}

#[test]
fn a_failing_step_shows_its_command_and_log() {
    let checkout = Checkout::new();
    let mut service = checkout.service(&["echo fine", "echo what went wrong >&2; exit 4", "echo never"]);
    service.unavailable_hint = Some("its parts are far away".to_owned());
    let failed = checkout.builder().build(&service).expect_err("fails");
    assert_eq!(failed.stage, TrialStage::Build);
    let (what, log) = failed.reason.rsplit_once("; log: ").expect("a log");
    assert!(
        what.ends_with("ended with exit code 4 (its parts are far away): what went wrong"),
        "{what}"
    );
    let log = fs::read_to_string(checkout.folder.path().join(log)).expect("a log in the checkout");
    assert_eq!(log, "what went wrong\n");
    assert_eq!(failed.log_tail, ["what went wrong"]);
    // What a failed build left is not taken for a build.
    let fixed = checkout.service(&["echo fine", "echo what went wrong >&2; exit 4", "echo never"]);
    assert!(checkout.builder().build(&fixed).is_err());
}

#[test]
fn a_step_stops_at_its_first_error_and_at_unset_variables() {
    let checkout = Checkout::new();
    assert!(
        checkout
            .builder()
            .build(&checkout.service(&["false; true"]))
            .is_err()
    );
    assert!(
        checkout
            .builder()
            .build(&checkout.service(&["echo $NO_SUCH_VARIABLE"]))
            .is_err()
    );
}

#[test]
fn caches_and_helpers_are_where_builds_look_for_them() {
    let checkout = Checkout::new();
    let commands = [
        "for d in \"$PRONY_CACHE\" \"$npm_config_cache\" \"$PIP_CACHE_DIR\" \"$PRONY_M2\" \"$CARGO_TARGET_DIR\"; do test -d \"$d\"; done",
        "sh \"$PRONY_SERVICES/shared.sh\" | grep -q shared",
        "test \"$PRONY_TOY\" != ''",
    ];
    checkout
        .builder()
        .build(&checkout.service(&commands))
        .expect("built");
}

#[test]
fn a_build_leaves_no_process_behind() {
    let checkout = Checkout::new();
    let service = checkout.service(&["sleep 300 & echo $! > pid"]);
    let built = checkout.builder().build(&service).expect("built");
    let pid = fs::read_to_string(built.folder.join("pid")).expect("written");
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
}

#[test]
fn a_cancelled_build_ends_and_leaves_nothing() {
    let checkout = Checkout::new();
    let service = checkout.service(&["touch begun; sleep 300"]);
    let builder = checkout.builder();
    std::thread::scope(|scope| {
        let build = scope.spawn(|| builder.build(&service));
        let begun = || {
            let entries = fs::read_dir(checkout.folder.path().join("state/build"))
                .into_iter()
                .flatten()
                .flatten();
            entries
                .into_iter()
                .any(|entry| entry.path().join("begun").exists())
        };
        until("the build begins", begun);
        checkout.cancel.ask();
        let failed = build.join().expect("no panic").expect_err("cancelled");
        assert!(failed.reason.contains("stopped by the user"), "{}", failed.reason);
    });
}

#[test]
fn a_missing_or_old_toolchain_is_named_with_its_remedy() {
    let mut checkout = Checkout::new();
    let toolchain = |probe: &str| Toolchain {
        name: "toy".to_owned(),
        title: "Toy".to_owned(),
        locate: None,
        probe: probe.to_owned(),
        version: regex::Regex::new(r"toy (\d+(?:\.\d+)*)").expect("a regex"),
        path: None,
        packages: System::ALL
            .map(|system| (system, vec!["toy-dev".to_owned()]))
            .into(),
        install: None,
        needs: Vec::new(),
        code_layout: None,
        is_own: false,
    };
    let mut service = checkout.service(&["true"]);
    service.toolchains = vec![Requirement {
        toolchain: "toy".to_owned(),
        minimum: Some(Version(vec![2, 1])),
    }];
    checkout
        .toolchains
        .insert("toy".to_owned(), toolchain("no-such-toy"));
    let failed = checkout.builder().build(&service).expect_err("missing");
    assert_eq!(failed.stage, TrialStage::Toolchain);
    let remedy = checkout.toolchains["toy"].how_to_install(prony_runner::system());
    assert_eq!(
        failed.reason,
        format!("Toy is not installed on this machine; {remedy}")
    );
    checkout
        .toolchains
        .insert("toy".to_owned(), toolchain("echo toy 2.0.9"));
    let failed = checkout.builder().build(&service).expect_err("old");
    assert_eq!(
        failed.reason,
        "Toy 2.0.9 is too old: 2.1 is needed; install Toy 2.1 or newer and put it first on the PATH"
    );
    checkout
        .toolchains
        .insert("toy".to_owned(), toolchain("echo toy 2.10"));
    let built = checkout.builder().build(&service).expect("built");
    assert_eq!(built.versions["Toy"], "2.10");
}

#[test]
fn several_are_built_side_by_side_and_equal_ones_once() {
    let checkout = Checkout::new();
    let one = checkout.service(&[&checkout.note()]);
    let two = Service {
        variant: "other".to_owned(),
        ..one.clone()
    };
    let three = Service {
        variant: "third".to_owned(),
        build: vec!["exit 1".to_owned()],
        ..one.clone()
    };
    let said = Mutex::new(0);
    let count = |progress: Progress| {
        *said.lock().expect("unpoisoned") += usize::from(!matches!(progress, Progress::Building(_)));
    };
    let results = checkout.builder().build_all(&[&one, &two, &three], 2, &count);
    assert_eq!(results.values().filter(|result| result.is_ok()).count(), 2);
    assert_eq!((results.len(), checkout.count()), (3, 1));
    assert_eq!(said.into_inner().expect("unpoisoned"), 3);
}
