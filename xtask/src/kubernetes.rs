//! `cargo xtask kubernetes`: runs of prony on a real Kubernetes cluster, including faults of the cluster.
//!
//! The tests are in `tests/black_box/kubernetes`. They share a cluster, which one process must start before and stop after them, and an
//! image that contains prony.

use crate::test::{install_tools, path_with_tools, process, steps::BUILD};
use anyhow::{Context as _, Result, bail, ensure};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use xshell::Shell;

/// Try prony on the cluster of KUBECONFIG, else, as root, on one that is started on this machine.
///
/// For the cluster of KUBECONFIG, `PRONY_TEST_IMAGE` names an image that its nodes can pull, with a shell and this prony at
/// /usr/bin/prony.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run only tests with one of these in their names.
    names: Vec<String>,
}

/// The image of a cluster on this machine.
const IMAGE: &str = "localhost/prony-test:1";
/// Longest time of all tests, or of building them. Each test has its own limit in `.config/nextest.toml`.
const LIMIT: Duration = Duration::from_hours(2);

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    // A cluster that was started here is stopped whatever happens.
    process::stop_on_signals();
    let root = crate::root();
    install_tools()?;
    if std::env::var_os("KUBECONFIG").is_some_and(|config| !config.is_empty()) {
        ensure!(
            std::env::var_os("PRONY_TEST_IMAGE").is_some(),
            "PRONY_TEST_IMAGE must name an image that the cluster of KUBECONFIG can pull"
        );
        return test(&root, arguments, Vec::new(), Command::new("kubectl"));
    }
    ensure!(
        nix::unistd::geteuid().is_root(),
        "starting a cluster needs root, and KUBECONFIG names none"
    );
    check(Command::new(root.join("scripts/setup")).args([
        "busybox=busybox-static",
        "strip=binutils",
        "ldd=libc-bin",
    ]))?;
    ensure!(
        nextest(&root, &["--no-run".to_owned()], Vec::new())?,
        "the tests cannot be built"
    );
    let cluster = Cluster::up(&root)?;
    let folder = Shell::new()?.create_temp_dir()?;
    fill(folder.path(), &root.join("target/debug/prony"))?;
    check(cluster.script("image").arg(IMAGE).arg(folder.path()))?;
    let environment = vec![
        ("PRONY_TEST_IMAGE", IMAGE.to_owned()),
        ("PRONY_TEST_IMAGE_ROOT", folder.path().display().to_string()),
    ];
    let passed = test(&root, arguments, environment, cluster.script("kubectl"));
    cluster.end()?;
    passed
}

/// Runs the tests; returns whether all passed. Their namespaces are removed even after an interrupt, which leaves them behind.
fn test(
    root: &Path,
    arguments: &Arguments,
    mut environment: Vec<(&str, String)>,
    mut kubectl: Command,
) -> Result<bool> {
    let began = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let label = format!("{began}-{}", std::process::id());
    environment.push(("PRONY_TEST_RUN", label.clone()));
    let mut more = ["--run-ignored", "only", "--no-fail-fast"]
        .map(str::to_owned)
        .to_vec();
    more.extend_from_slice(&arguments.names);
    let passed = nextest(root, &more, environment);
    kubectl.args([
        "delete",
        "namespaces",
        "--ignore-not-found",
        "--wait=false",
        "--timeout=30s",
    ]);
    kubectl.arg(format!("--selector=prony-test-run={label}"));
    let removed = succeeds(&mut kubectl);
    let passed = passed?;
    ensure!(
        removed?,
        "the namespaces of the tests cannot be removed: {kubectl:?} failed"
    );
    Ok(passed)
}

/// Runs nextest in its own process group, so that a signal to this process alone stops it, too.
fn nextest(root: &Path, more: &[String], mut environment: Vec<(&str, String)>) -> Result<bool> {
    let words = format!("cargo-nextest nextest run --profile kubernetes --test black-box {BUILD}");
    let mut words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    words.extend_from_slice(more);
    environment.push(("PATH", path_with_tools()));
    let logs = root.join(".prony/log");
    fs::create_dir_all(&logs).with_context(|| format!("cannot create {}", logs.display()))?;
    let log = logs.join("kubernetes-tests.log");
    let ended = process::run(&words, &environment, root, &log, Instant::now() + LIMIT)?;
    if process::is_interrupted() {
        bail!("interrupted");
    }
    if let Some(reason) = ended.failure() {
        eprintln!("error: cargo-nextest: {reason}");
    }
    Ok(ended.is_success())
}

/// A cluster on this machine.
struct Cluster {
    script: PathBuf,
    /// Whether it was already running, and must stay.
    stays: bool,
}

impl Cluster {
    fn up(root: &Path) -> Result<Self> {
        let mut cluster = Self {
            script: root.join("scripts/kubernetes"),
            stays: false,
        };
        let is_up = cluster.script("exec").arg("true").output();
        cluster.stays = is_up.is_ok_and(|ended| ended.status.success());
        check(&mut cluster.script("up"))?;
        Ok(cluster)
    }

    fn script(&self, command: &str) -> Command {
        let mut script = Command::new(&self.script);
        script.arg(command);
        script
    }

    fn end(mut self) -> Result<()> {
        let stays = std::mem::replace(&mut self.stays, true);
        if stays {
            return Ok(());
        }
        // Also after an interrupt.
        let is_down = succeeds(&mut self.script("down"))?;
        ensure!(
            is_down,
            "the cluster could not be stopped: scripts/kubernetes down"
        );
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if !self.stays {
            let _ = self.script("down").status();
        }
    }
}

/// Fills the root of an image with prony, a shell, and the libraries of both.
fn fill(image: &Path, prony: &Path) -> Result<()> {
    let shell = find("busybox")?;
    // prony reads the version of the C library from getconf.
    let programs = [
        (prony, "usr/bin/prony"),
        (&shell, "bin/busybox"),
        (&find("getconf")?, "usr/bin/getconf"),
    ];
    for (program, place) in programs {
        let place = image.join(place);
        fs::create_dir_all(place.parent().context("a folder")?)?;
        // Debug information is most of the file.
        check(Command::new("strip").arg("-o").arg(&place).arg(program))?;
        // ldd fails for a static program, which has no libraries.
        let libraries = Command::new("ldd").arg(program).output().context("ldd")?;
        let libraries = String::from_utf8_lossy(&libraries.stdout).into_owned();
        for library in libraries.split_whitespace().filter(|word| word.starts_with('/')) {
            let place = image.join(library.trim_start_matches('/'));
            fs::create_dir_all(place.parent().context("a folder")?)?;
            fs::copy(library, &place).with_context(|| format!("cannot copy {library}"))?;
        }
    }
    let listed = Command::new(&shell).arg("--list").output().context("busybox")?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    for name in listed.lines().filter(|name| *name != "busybox") {
        symlink("busybox", image.join("bin").join(name)).with_context(|| format!("cannot create {name}"))?;
    }
    Ok(())
}

/// The path of a program.
fn find(name: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(name));
    places
        .find(|place| place.is_file())
        .with_context(|| format!("{name} is missing"))
}

fn succeeds(command: &mut Command) -> Result<bool> {
    let status = command
        .status()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    Ok(status.success())
}

fn check(command: &mut Command) -> Result<()> {
    if process::is_interrupted() {
        bail!("interrupted");
    }
    ensure!(succeeds(command)?, "{command:?} failed");
    Ok(())
}
