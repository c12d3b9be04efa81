//! A checkout with toy services, and the real binary in it.

use crate::skip::skipped;
use rusqlite::Connection;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longest wait for an expected event.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A checkout with the project's own contracts and toy services.
pub(crate) struct Checkout {
    folder: TempDir,
}

const SUITE: &str = r#"title = "Toys"
rounds = ROUNDS
warm_up = "100ms"
duration = "300ms"

[[group]]
contract = "hello"
load = { kind = "closed", connections = 4 }
services = [SERVICES]
"#;

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
debian = ["python3"]
"#;

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the checkout's root")
}

impl Checkout {
    /// A checkout whose suite `toys` compares one toy per mode.
    pub(crate) fn new(rounds: u32, modes: &[&str]) -> Self {
        let checkout = Self {
            folder: TempDir::new().expect("a temporary folder"),
        };
        std::os::unix::fs::symlink(root().join("contracts"), checkout.path("contracts")).expect("a link");
        checkout.write("services/toolchains.toml", TOOLCHAINS);
        for mode in modes {
            checkout.add(mode, "");
        }
        let names: Vec<String> = modes.iter().map(|mode| format!("\"toy-{mode}\"")).collect();
        let suite = SUITE
            .replace("ROUNDS", &rounds.to_string())
            .replace("SERVICES", &names.join(", "));
        checkout.write("suites/toys.toml", &suite);
        checkout
    }

    /// Adds the service `toy-<mode>`, built by this command (as TOML).
    pub(crate) fn add(&self, mode: &str, build: &str) {
        let name = format!("toy-{mode}");
        let state = self.state(&name);
        std::fs::create_dir_all(&state).expect("a folder");
        let text = SERVICE
            .replace("MODEWORD", mode)
            .replace("FOLDER", &state.display().to_string())
            .replace("NAME", &name)
            .replace("BUILD", build);
        self.write(&format!("services/{name}/service.toml"), &text);
        std::fs::copy(
            root().join("tests/toy/toy.py"),
            self.path(&format!("services/{name}/toy.py")),
        )
        .expect("the toy");
    }

    /// The folder for what a toy keeps between its starts.
    pub(crate) fn state(&self, name: &str) -> PathBuf {
        self.path(&format!("state/{name}"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.path(name).parent().expect("a folder")).expect("a folder");
        std::fs::write(self.path(name), text).expect("a file");
    }

    /// The binary in this checkout, isolated from the environment of the caller.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_remove("PRONY_STORE")
            // Tests run in parallel on the same CPUs; their measurements do not matter.
            .env("PRONY_LOCKS", self.path("locks"))
            .env("NO_COLOR", "1");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn prony(&self, arguments: &[&str]) -> CommandOutput {
        CommandOutput::of(&self.command(arguments).output().expect("the binary starts"))
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().expect("the binary starts")
    }

    /// Runs git in this checkout. Returns what it prints.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.arg("-C").arg(self.folder.path());
        git.args(["-c", "user.name=toy", "-c", "user.email=toy@example.org"]);
        let done = git.args(arguments).output().expect("git is needed");
        assert!(done.status.success(), "{arguments:?}: {done:?}");
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }

    /// Processes whose working directory is in this checkout: services, builds, and leftovers.
    pub(crate) fn processes(&self) -> Vec<String> {
        let inside = self.folder.path().canonicalize().expect("the folder");
        let pids = std::fs::read_dir("/proc").expect("/proc").filter_map(Result::ok);
        pids.filter(|entry| {
            std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&inside))
        })
        .map(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            format!(
                "{} {}",
                entry.file_name().to_string_lossy(),
                String::from_utf8_lossy(&line).replace('\0', " ")
            )
        })
        .collect()
    }
}

/// The attempts of a service in the store of the checkout, provisional ones included: their round, and whether they failed.
pub(crate) fn attempts(checkout: &Checkout, service: &str) -> Vec<(u32, bool)> {
    let path = checkout.path(".prony/store.db");
    if !path.exists() {
        return Vec::new();
    }
    let store = Connection::open(path).expect("the store");
    let read = || {
        let mut rows =
            store.prepare("SELECT round, excluded FROM trial WHERE service = ?1 ORDER BY sequence")?;
        let rows = rows.query_map([service], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect::<rusqlite::Result<Vec<(u32, bool)>>>()
    };
    // The table is there a moment after the file.
    read().unwrap_or_default()
}

/// A checkout with a toy in two variants: unchanged, and slow.
pub(crate) fn two_variants() -> Checkout {
    let checkout = Checkout::new(1, &["right"]);
    let file = "services/toy-right/service.toml";
    let text = std::fs::read_to_string(checkout.path(file)).expect("the service");
    let slow = "\n[[variant]]\nname = \"slow\"\nversion = \"3\"\nenv = { MODE = \"slow\" }\n";
    checkout.write(file, &format!("{text}{slow}"));
    checkout
}

/// Exit code and output of the binary.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl CommandOutput {
    pub(crate) fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            code: output.status.code(),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }

    /// The JSON on standard output; otherwise fails with the whole output.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("not JSON ({error}): {self:?}"))
    }
}

/// Waits until a condition holds; fails after a timeout.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a signal to a process that the test started.
pub(crate) fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &child.id().to_string()])
        .status()
        .expect("kill");
    assert!(sent.success(), "kill -{name} failed");
}

/// A small disk mounted on a folder; it is unmounted on drop.
pub(crate) struct Disk {
    folder: PathBuf,
}

impl Disk {
    /// `None`, with a message, if it cannot be mounted.
    pub(crate) fn mount(folder: &Path, size: &str) -> Option<Self> {
        std::fs::create_dir_all(folder).expect("a folder");
        let mut mount = Command::new("mount");
        let options = format!("size={size},mode=755");
        mount
            .args(["-t", "tmpfs", "-o", &options, "prony-test"])
            .arg(folder);
        let mounted = mount.output();
        if mounted.is_ok_and(|mounted| mounted.status.success()) {
            let folder = folder.to_owned();
            return Some(Self { folder });
        }
        skipped("mounting a small disk needs root, and is not possible in every container");
        None
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.folder).status();
    }
}
