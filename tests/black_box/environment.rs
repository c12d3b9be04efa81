//! What builds and services inherit, and which build belongs to which project.

use crate::common::{Checkout, CommandOutput};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Variables of the caller that no process inherits without being asked to.
const CALLERS: [(&str, &str); 5] = [
    ("AWS_SECRET_ACCESS_KEY", "hunter2"),
    ("PRONY_API_KEY", "hunter2"),
    ("NODE_OPTIONS", "--jitless"),
    ("MY_SETTING", "mine"),
    ("RUSTFLAGS", "-Copt-level=1"),
];

/// A checkout with a service whose build and start write their environment into their folder.
fn curious() -> Checkout {
    let checkout = Checkout::new(1, &["right"]);
    checkout.add("right", r#""env > built.txt""#);
    change(
        &checkout,
        "run = \"exec",
        "run = \"env > $STATE/started.txt; ls -A $HOME > $STATE/home.txt; exec",
    );
    checkout
}

/// Changes the file of the service.
fn change(checkout: &Checkout, from: &str, to: &str) {
    let file = "services/toy-right/service.toml";
    let text = std::fs::read_to_string(checkout.path(file)).expect("the service");
    assert!(text.contains(from), "{from} is not in {text}");
    checkout.write(file, &text.replace(from, to));
}

fn checked(checkout: &Checkout, variables: &[(&str, &str)]) -> CommandOutput {
    let mut command = checkout.command(&["check", "toy-right"]);
    command.envs(variables.iter().copied());
    CommandOutput::of(&command.output().expect("the binary starts"))
}

/// The folders of the builds, sorted.
fn builds(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root.join(".prony/build"))
        .expect("the builds")
        .flatten();
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

fn variables(file: &Path) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(file).expect("what it wrote");
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[test]
fn builds_and_services_inherit_only_what_they_need() {
    let checkout = curious();
    change(
        &checkout,
        "start_timeout",
        "pass = [\"MY_SETTING\"]\nstart_timeout",
    );
    let ended = checked(&checkout, &CALLERS);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let is_note = |line: &&str| line.contains("set, but services do not inherit");
    let notes: Vec<&str> = ended.err.lines().filter(is_note).collect();
    assert!(
        matches!(notes.as_slice(), [note] if note.contains("NODE_OPTIONS")),
        "{}",
        ended.err
    );
    let folder = &builds(&checkout.path(""))[0];
    let (built, started) = (
        variables(&folder.join("built.txt")),
        variables(&checkout.state("toy-right").join("started.txt")),
    );
    for inherited in [&built, &started] {
        for secret in ["AWS_SECRET_ACCESS_KEY", "PRONY_API_KEY", "NODE_OPTIONS"] {
            assert!(!inherited.contains_key(secret), "{secret}: {inherited:?}");
        }
        assert_eq!(inherited.get("MY_SETTING").map(String::as_str), Some("mine"));
        assert!(inherited.contains_key("PATH"));
    }
    assert_eq!(built.get("RUSTFLAGS").map(String::as_str), Some("-Copt-level=1"));
    assert!(!started.contains_key("RUSTFLAGS"));
    assert_eq!(started.get("MODE").map(String::as_str), Some("right"));
    let home = Path::new(&started["HOME"]);
    assert_ne!(started.get("HOME"), built.get("HOME"));
    assert!(!home.exists(), "{} is removed", home.display());
    let files = std::fs::read_to_string(checkout.state("toy-right").join("home.txt")).expect("what it wrote");
    assert_eq!(files, "", "the home is empty");
}

#[test]
fn a_build_depends_on_the_variables_of_compilers_and_on_nothing_else_of_the_environment() {
    let checkout = curious();
    let count = |variables: &[(&str, &str)]| {
        let ended = checked(&checkout, variables);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        builds(&checkout.path("")).len()
    };
    assert_eq!(count(&[]), 1);
    assert_eq!(
        count(&[("NODE_ENV", "development"), ("GOGC", "20"), ("CI", "1")]),
        1
    );
    assert_eq!(count(&[("GOAMD64", "v3")]), 2);
    assert_eq!(count(&[("CC", "clang")]), 3);
    assert_eq!(count(&[]), 3);
}

#[test]
fn another_program_of_a_toolchain_is_another_build() {
    let checkout = curious();
    let tool = |text: &str| {
        checkout.write("bin/tool", text);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(checkout.path("bin/tool"), mode).expect("executable");
    };
    let toolchains = std::fs::read_to_string(checkout.path("services/toolchains.toml")).expect("toolchains");
    let toolchain =
        "[tool]\ntitle = \"Tool\"\nprobe = \"tool\"\nversion = 'tool (\\d+)'\ndebian = [\"tool\"]\n";
    checkout.write("services/toolchains.toml", &format!("{toolchains}\n{toolchain}"));
    change(&checkout, "[\"python\"]", "[\"python\", \"tool\"]");
    let path = format!(
        "{}:{}",
        checkout.path("bin").display(),
        std::env::var("PATH").expect("a PATH")
    );
    let count = || {
        let ended = checked(&checkout, &[("PATH", path.as_str())]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        builds(&checkout.path("")).len()
    };
    tool("#!/bin/sh\necho tool 1\n");
    assert_eq!((count(), count()), (1, 1));
    tool("#!/bin/sh\necho tool 1 # another compiler\n");
    assert_eq!(count(), 2);
}

#[test]
fn a_copy_of_a_project_builds_and_measures_itself() {
    let checkout = curious();
    change(&checkout, "exec python3", "pwd > $STATE/place.txt; exec python3");
    assert_eq!(checked(&checkout, &[]).code, Some(0));
    let place = tempfile::tempdir().expect("a folder");
    let copy = place.path().join("copy");
    let copied = Command::new("cp")
        .arg("-a")
        .args([checkout.path("."), copy.clone()])
        .status();
    assert!(copied.expect("cp").success());
    let mut command = checkout.command(&["check", "toy-right"]);
    let ended = CommandOutput::of(&command.current_dir(&copy).output().expect("the binary starts"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let (ours, theirs) = (builds(&checkout.path("")), builds(&copy));
    assert_eq!((ours.len(), theirs.len()), (1, 2), "the copied build is not used");
    let used = theirs
        .iter()
        .find(|build| build.file_name() != ours[0].file_name())
        .expect("a new build");
    let place = checkout.state("toy-right").join("place.txt");
    let place = std::fs::read_to_string(place).expect("what it wrote");
    assert_eq!(Path::new(place.trim()), used.canonicalize().expect("the build"));
}

/// What a service writes into its folder is gone with it, with an overlay and with what replaces it.
#[test]
fn a_service_does_not_change_its_build() {
    for way in ["overlay", "copy", "none"] {
        let checkout = Checkout::new(1, &["right"]);
        checkout.add("right", r#""echo built > built.txt""#);
        let changes = "cat built.txt notes.txt >> $STATE/seen.txt; echo changed | tee built.txt > notes.txt; rm -f toy.pyc; exec";
        change(
            &checkout,
            "run = \"exec",
            &format!("run = \"touch notes.txt; {changes}"),
        );
        for _ in 0..2 {
            let ended = checked(&checkout, &[("PRONY_FRESH_FOLDERS", way)]);
            assert_eq!(ended.code, Some(0), "{way}: {ended:?}");
        }
        let seen =
            std::fs::read_to_string(checkout.state("toy-right").join("seen.txt")).expect("what it saw");
        // Without an overlay, the build that was changed is built again.
        assert_eq!(seen, "built\nbuilt\n", "{way}");
        let all = builds(&checkout.path(""));
        assert_eq!(all.len(), 1, "{way}: nothing is left: {all:?}");
        if way == "overlay" {
            let built = std::fs::read_to_string(all[0].join("built.txt")).expect("the build");
            assert_eq!(built, "built\n", "{way}");
            assert!(!all[0].join("notes.txt").exists(), "{way}");
        }
    }
}

/// All builds share the folder in which cargo builds, and each takes its program out of it afterwards.
#[test]
fn two_builds_do_not_use_the_folder_of_cargo_at_the_same_time() {
    let checkout = Checkout::new(1, &["right", "again"]);
    for mode in ["right", "again"] {
        checkout.add(
            mode,
            r#""mkdir $CARGO_TARGET_DIR/busy", "sleep 0.5", "rmdir $CARGO_TARGET_DIR/busy""#,
        );
    }
    let pair = ["toy-right", "toy-again"].map(|name| checkout.start(&["check", name]));
    for one in pair {
        let ended = CommandOutput::of(&one.wait_with_output().expect("it ends"));
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
}

#[test]
fn a_revision_is_built_with_its_own_scripts_toolchains_and_copied_files() {
    let checkout = curious();
    let toolchains = std::fs::read_to_string(checkout.path("services/toolchains.toml")).expect("toolchains");
    let written = |word: &str| {
        checkout.write("services/note.sh", &format!("echo {word}\n"));
        checkout.write("shared/words.txt", &format!("{word}\n"));
        let located = format!("locate = \"echo {word}\"\nexport = \"PLACE\"\nprobe");
        checkout.write("services/toolchains.toml", &toolchains.replace("probe", &located));
    };
    change(
        &checkout,
        "build = [\"env > built.txt\"]",
        "build = [\"sh $PRONY_SERVICES/note.sh > note.txt\", \"echo $PLACE > place.txt\"]\ncopies = { \"words.txt\" = \"shared/words.txt\" }",
    );
    written("then");
    checkout.git(&["init", "-q"]);
    checkout.git(&["add", "services", "shared"]);
    checkout.git(&["commit", "-qm", "then"]);
    written("now");
    let options = ["--rounds=2", "-d300ms", "--warmup=100ms", "-c2"];
    let ended = checkout.prony(&[&["duet", "toy-right@HEAD", "toy-right"], &options[..]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let mut texts: Vec<String> = builds(&checkout.path(""))
        .iter()
        .map(|build| {
            ["note.txt", "words.txt", "place.txt"]
                .map(|file| std::fs::read_to_string(build.join(file)).expect("built"))
                .concat()
        })
        .collect();
    texts.sort();
    assert_eq!(texts, ["now\nnow\nnow\n", "then\nthen\nthen\n"]);
}
