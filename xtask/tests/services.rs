//! `cargo xtask services` in a checkout of toys, with the real binary of prony.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

const SERVICE: &str = r#"name = "NAME"
title = "Toy NAME"
language = "Python"
framework = "http.server"
class = "platform"
contracts = ["hello"]
toolchains = ["python"]
build = [BUILD]
run = "exec python3 toy.py"
start_timeout = "20s"
MORE

[workers]
uses = "threads"
how = "a thread per connection"

[[variant]]
name = "current"
version = "3"
env = { MODE = "MODEWORD", STATE = "FOLDER" }
"#;

const TOOLCHAINS: &str = r#"[python]
title = "CPython"
probe = "python3 --version"
version = 'Python (\d+(?:\.\d+)+)'
"#;

const SMOKE: &str = r#"title = "Smoke"
rounds = 1
warm_up = "100ms"
duration = "500ms"

[[group]]
contract = "hello"
load = { kind = "closed", connections = 4 }
services = ["*/*"]
"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()
        .expect("the checkout's root")
}

/// The prony in the build folder of these tests.
fn prony() -> PathBuf {
    if let Some(path) = std::env::var_os("PRONY") {
        return PathBuf::from(path);
    }
    let this = std::env::current_exe().expect("this test");
    let path = this
        .ancestors()
        .nth(2)
        .expect("the folder of the profile")
        .join("prony");
    assert!(
        path.is_file(),
        "{} is missing: `cargo build --bin prony`",
        path.display()
    );
    path
}

struct Toys {
    folder: TempDir,
}

struct CommandOutput {
    good: bool,
    said: String,
}

impl CommandOutput {
    /// The last line.
    fn last(&self) -> &str {
        self.said.lines().last().unwrap_or_default()
    }

    fn says(&self, text: &str) -> bool {
        self.said.contains(text)
    }
}

impl Toys {
    /// A checkout with a toy per mode, committed twice, so that the last change touches nothing.
    fn new(modes: &[&str]) -> Self {
        let toys = Self {
            folder: TempDir::new().expect("a folder"),
        };
        let contract = root().join("contracts/hello");
        fs::create_dir_all(toys.path("contracts/hello")).expect("a folder");
        for file in fs::read_dir(contract).expect("a contract").flatten() {
            fs::copy(file.path(), toys.path("contracts/hello").join(file.file_name())).expect("a file");
        }
        toys.write("services/toolchains.toml", TOOLCHAINS);
        toys.write("suites/smoke.toml", SMOKE);
        toys.write(".gitignore", "/.prony/\n*.log\n");
        for mode in modes {
            toys.add(mode, "", "");
        }
        toys.git(&["init", "-q", "-b", "main"]);
        toys.commit();
        toys.commit();
        toys
    }

    /// Adds the service `toy-<mode>`, with this build command and further keys.
    fn add(&self, mode: &str, build: &str, keys: &str) {
        let state = self.path(&format!(".prony/toys/{mode}"));
        fs::create_dir_all(&state).expect("a folder");
        let text = SERVICE
            .replace("MODEWORD", mode)
            .replace("FOLDER", &state.display().to_string())
            .replace("NAME", &format!("toy-{mode}"))
            .replace("BUILD", build)
            .replace("MORE", keys);
        self.write(&format!("services/toy-{mode}/service.toml"), &text);
        let toy = fs::read_to_string(root().join("tests/toy/toy.py")).expect("the toy");
        self.write(&format!("services/toy-{mode}/toy.py"), &toy);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().expect("a folder")).expect("a folder");
        fs::write(self.path(name), text).expect("a file");
    }

    fn change(&self, name: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(name)).expect("a file");
        assert!(text.contains(from), "{name} has no {from}");
        self.write(name, &text.replacen(from, to, 1));
    }

    fn git(&self, arguments: &[&str]) {
        let ran = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(arguments)
            .current_dir(self.folder.path())
            .output()
            .expect("git");
        assert!(ran.status.success(), "{arguments:?}: {ran:?}");
    }

    fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "a change"]);
    }

    fn xtask(&self, arguments: &[&str]) -> CommandOutput {
        self.xtask_until(arguments, None)
    }

    fn xtask_until(&self, arguments: &[&str], until: Option<&str>) -> CommandOutput {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
        command
            .arg("services")
            .args(arguments)
            .current_dir(self.folder.path())
            .env("PRONY", prony())
            // Tests run in parallel on the same CPUs.
            .env("PRONY_LOCKS", self.path(".prony/locks"))
            .env_remove("PRONY_STORE")
            .env_remove("PRONY_TEST_UNTIL")
            .stdin(Stdio::null());
        if let Some(until) = until {
            command.env("PRONY_TEST_UNTIL", until);
        }
        let output = command.output().expect("xtask starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        CommandOutput {
            good: output.status.success(),
            said: text(&output.stdout) + &text(&output.stderr),
        }
    }

    /// The variants to verify because of the change, with the reasons.
    fn invalid(&self) -> Vec<String> {
        let ended = self.xtask(&["--update", "--dry-run"]);
        assert!(ended.good, "{}", ended.said);
        ended
            .said
            .lines()
            .filter(|line| line.starts_with("toy-"))
            .map(str::to_owned)
            .collect()
    }
}

#[test]
fn what_was_verified_has_an_entry_as_long_as_it_stays_what_it_was() {
    let toys = Toys::new(&["right", "other"]);
    assert_eq!(
        toys.invalid(),
        ["toy-other/current: no entry", "toy-right/current: no entry"]
    );
    // Without an entry it is verified immediately, and nothing is written.
    let ended = toys.xtask(&[]);
    assert!(
        ended.good && ended.last() == "services: 2 passed, 0 failed",
        "{}",
        ended.said
    );
    assert!(
        ended.says("verified now 2, valid entries 0 of 2"),
        "{}",
        ended.said
    );
    assert!(!toys.path("services/verified").exists());
    let ended = toys.xtask(&["--update"]);
    assert!(
        ended.good && ended.says("verified now 2, valid entries 2 of 2"),
        "{}",
        ended.said
    );
    assert!(toys.invalid().is_empty());
    let ended = toys.xtask(&["--update"]);
    assert!(
        ended.good && ended.last() == "services: 0 passed, 0 failed",
        "{}",
        ended.said
    );

    // The change under test adds both entries: manual entries are not accepted.
    let ended = toys.xtask(&["--dry-run"]);
    assert!(
        ended.says("toy-right/current: its entry is new or edited"),
        "{}",
        ended.said
    );
    toys.commit();
    toys.commit();
    // A tenth of two services is one service.
    let ended = toys.xtask(&["--dry-run"]);
    assert_eq!(
        ended.said.matches("/current: its turn").count(),
        1,
        "{}",
        ended.said
    );
    assert!(!ended.says("new or edited"), "{}", ended.said);
}

#[test]
fn what_is_not_what_was_verified_is_named_with_the_part_that_differs() {
    let toys = Toys::new(&["right", "other"]);
    let ended = toys.xtask(&["--update"]);
    assert!(ended.good, "{}", ended.said);

    // Comments and descriptive keys change no digest.
    toys.change(
        "contracts/hello/contract.toml",
        "name =",
        "# A comment.\nname   =",
    );
    toys.change(
        "services/toy-right/service.toml",
        "title =",
        "# A comment.\ntitle =",
    );
    toys.write("services/toy-right/__pycache__/toy.pyc", "compiled");
    toys.write("services/toy-right/noise.log", "noise");
    assert_eq!(toys.invalid(), Vec::<String>::new());

    toys.change("services/toy-right/toy.py", "SLOW = 0.04", "SLOW = 0.05");
    assert_eq!(
        toys.invalid(),
        ["toy-right/current: changed since it was verified: source"]
    );
    let ended = toys.xtask(&["--dry-run"]);
    assert!(
        ended.says("toy-right/current: changed since it was verified: source"),
        "{}",
        ended.said
    );
    toys.change("services/toy-right/toy.py", "SLOW = 0.05", "SLOW = 0.04");
    toys.change(
        "services/toy-other/service.toml",
        "start_timeout = \"20s\"",
        "start_timeout = \"21s\"",
    );
    assert_eq!(
        toys.invalid(),
        ["toy-other/current: changed since it was verified: run"]
    );
    toys.change("suites/smoke.toml", "connections = 4", "connections = 5");
    assert_eq!(
        toys.invalid(),
        [
            "toy-other/current: changed since it was verified: contract, run",
            "toy-right/current: changed since it was verified: contract"
        ]
    );
}

#[test]
fn a_service_that_fails_under_load_fails_and_one_that_stumbles_once_is_flaky() {
    let toys = Toys::new(&["overloaded", "stumbles"]);
    let ended = toys.xtask(&["--update"]);
    assert!(!ended.good, "{}", ended.said);
    assert!(
        ended.says("failed: toy-overloaded/current: hello/"),
        "{}",
        ended.said
    );
    assert!(ended.says("unexpected statuses"), "{}", ended.said);
    assert!(
        ended.says("flaky: toy-stumbles/current: hello/"),
        "{}",
        ended.said
    );
    assert_eq!(
        ended.last(),
        "services: 1 passed, 1 failed, 1 of them flaky",
        "{}",
        ended.said
    );
    assert!(!toys.path("services/verified").exists(), "neither is recorded");
    // It has stumbled once, so it no longer does.
    let ended = toys.xtask(&["toy-stumbles"]);
    assert!(
        ended.good && ended.last() == "services: 1 passed, 0 failed",
        "{}",
        ended.said
    );
}

#[test]
fn a_second_attempt_is_green_but_for_all() {
    for (arguments, good) in [(&[] as &[&str], true), (&["--all"], false)] {
        let toys = Toys::new(&["stumbles"]);
        let ended = toys.xtask(arguments);
        assert_eq!(ended.good, good, "{}", ended.said);
        assert_eq!(
            ended.last(),
            "services: 1 passed, 0 failed, 1 of them flaky",
            "{}",
            ended.said
        );
    }
}

#[test]
fn what_cannot_be_built_is_named_where_it_says_so_and_fails_where_it_does_not() {
    let toys = Toys::new(&["right"]);
    toys.add(
        "lacking",
        r#""echo no such tool >&2; exit 3""#,
        "unavailable_hint = \"it needs a tool\"",
    );
    let ended = toys.xtask(&["--update"]);
    assert!(ended.good, "{}", ended.said);
    assert!(
        ended.says("cannot be built here: toy-lacking/current: `echo no such tool"),
        "{}",
        ended.said
    );
    assert_eq!(
        ended.last(),
        "services: 1 passed, 0 failed, 1 skipped",
        "{}",
        ended.said
    );
    toys.add("broken", r#""echo no such tool >&2; exit 3""#, "");
    let ended = toys.xtask(&["toy-broken"]);
    assert!(
        !ended.good && ended.says("failed: toy-broken/current"),
        "{}",
        ended.said
    );
}

#[test]
fn out_of_time_is_red_and_lists_what_was_not_verified() {
    let toys = Toys::new(&["right", "other"]);
    let ended = toys.xtask_until(&[], Some("1000000000"));
    assert!(!ended.good, "{}", ended.said);
    assert!(
        ended.says("make test-services SERVICES=\"toy-other/current toy-right/current\""),
        "{}",
        ended.said
    );
    assert_eq!(ended.last(), "services: 0 passed, 2 failed", "{}", ended.said);
    // Work that does not fit is not started.
    let ended = toys.xtask(&["--budget", "0"]);
    assert!(
        !ended.good && ended.says("none of them is verified now"),
        "{}",
        ended.said
    );
    assert!(ended.says("make test-services SERVICES="), "{}", ended.said);
}
