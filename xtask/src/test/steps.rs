//! The steps of `make test` and `make test-all`, in order; steps that fail quickly come first.

use crate::root;
use std::path::Path;
use std::process::Command;

/// The set of steps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Everything that a change can break, within 25 minutes.
    Change,
    /// Everything that can be tested on one machine.
    Everything,
}

/// One step: a command, and its preconditions.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) command: Vec<String>,
    pub(crate) environment: Vec<(&'static str, String)>,
    /// Steps whose failure it would only repeat.
    pub(crate) needs: &'static [&'static str],
    /// Why this machine cannot run it.
    pub(crate) cannot_run: fn() -> Option<String>,
}

impl Step {
    /// The arguments of a command contain no spaces.
    pub(crate) fn new(name: &'static str, command: &str) -> Self {
        Self {
            name,
            command: command.split_whitespace().map(str::to_owned).collect(),
            environment: Vec::new(),
            needs: &[],
            cannot_run: || None,
        }
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    pub(crate) fn needs(mut self, steps: &'static [&'static str]) -> Self {
        self.needs = steps;
        self
    }

    pub(crate) fn only_where(mut self, cannot_run: fn() -> Option<String>) -> Self {
        self.cannot_run = cannot_run;
        self
    }
}

/// Commands that the tests use, and the Debian packages that contain them.
const PACKAGES: &[&str] = &[
    "chromium=chromium",
    "ip=iproute2",
    "nginx=nginx",
    "openssl=openssl",
    "protoc=protobuf-compiler",
    "ssh=openssh-client",
    "/usr/sbin/sshd=openssh-server",
    "podman=podman",
    "runc=runc",
    "pg_lsclusters=postgresql",
    "redis-server=redis-server",
    "prometheus=prometheus",
];
/// Those that only `make test-all` uses.
const MORE_PACKAGES: &[&str] = &["curl=curl", "debootstrap=debootstrap", "dpkg-deb=dpkg"];
/// The same features for lints, tests and the binary, so that each crate is compiled once.
pub(crate) const BUILD: &str = "--locked --workspace --features prony/kubernetes";

pub(crate) fn of(scope: Scope) -> Vec<Step> {
    let root = root();
    match scope {
        Scope::Change => [quick_to_fail(&[]), rust("quick"), change(&root)]
            .into_iter()
            .flatten()
            .collect(),
        Scope::Everything => [quick_to_fail(MORE_PACKAGES), rust("all"), everything(&root)]
            .into_iter()
            .flatten()
            .collect(),
    }
}

/// Steps that take seconds.
fn quick_to_fail(more_packages: &[&str]) -> Vec<Step> {
    let packages = [PACKAGES, more_packages].concat().join(" ");
    let check = "cargo-deny --locked check bans licenses sources";
    vec![
        Step::new("set-up", &format!("scripts/setup {packages}")),
        Step::new("tools", "cargo xtask tools").needs(&["set-up"]),
        Step::new("format", "cargo fmt --all --check"),
        Step::new("tidy", "cargo xtask tidy"),
        Step::new("workflows", "scripts/test-workflows").needs(&["set-up"]),
        Step::new("toml", "cargo xtask toml").needs(&["tools"]),
        Step::new("dependencies", check).needs(&["tools"]),
        Step::new("advisories", "cargo-deny check advisories")
            .needs(&["tools"])
            .only_where(without_advisories),
    ]
}

/// Lints and tests of the workspace, and of the page.
fn rust(profile: &str) -> Vec<Step> {
    let nextest = format!("cargo-nextest nextest run {BUILD} --profile {profile}");
    vec![
        Step::new(
            "lints",
            &format!("cargo clippy {BUILD} --all-targets -- -D warnings"),
        )
        .needs(&["set-up"]),
        Step::new("build", &format!("{nextest} --no-run")).needs(&["set-up", "tools"]),
        Step::new("page", "scripts/test-web").needs(&["set-up"]),
        Step::new("tests", &format!("{nextest} --no-fail-fast")).needs(&["build"]),
    ]
}

/// The services that a change may have broken, with the program from the build of the tests.
fn change(root: &Path) -> Vec<Step> {
    let program = root.join("target/debug/prony").display().to_string();
    vec![
        Step::new("services", "cargo xtask services")
            .with("PRONY", program)
            .needs(&["build"]),
    ]
}

/// The rest, with the optimised program that is released.
fn everything(root: &Path) -> Vec<Step> {
    let program = root.join("target/release/prony").display().to_string();
    let with_release = |name, command| {
        Step::new(name, command)
            .with("PRONY", program.clone())
            .needs(&["release"])
    };
    vec![
        Step::new(
            "release",
            "cargo build --release --locked --features kubernetes --bin prony",
        )
        .needs(&["set-up"]),
        Step::new("documentation", &format!("cargo doc {BUILD} --no-deps --lib"))
            .with("RUSTDOCFLAGS", "-D warnings"),
        Step::new(
            "fuzz-targets",
            "cargo check --locked --manifest-path fuzz/Cargo.toml --target-dir target/fuzz",
        )
        .needs(&["set-up"]),
        Step::new("examples", &format!("cargo test --doc {BUILD}")),
        // It only reports: an old version is not a failure.
        Step::new("versions", "cargo xtask versions"),
        with_release("services", "cargo xtask services --all"),
        with_release("studies", "cargo xtask suites --strict"),
        with_release("templates", "scripts/test-new"),
        ignored("drafts"),
        ignored("llm"),
        // Never on a cluster of the user.
        Step::new("kubernetes", "env -u KUBECONFIG cargo xtask kubernetes")
            .needs(&["build"])
            .only_where(without_root),
        Step::new("crates", "cargo xtask packages").needs(&["set-up"]),
        Step::new("package", "cargo xtask dist").needs(&["set-up"]),
        Step::new("distributions", "scripts/test-dist")
            .needs(&["package"])
            .only_where(without_root),
    ]
}

/// The tests of one module of `tests/black_box` that no other step runs, since they install packages: each is marked `ignore`.
fn ignored(module: &'static str) -> Step {
    let nextest = format!("cargo-nextest nextest run {BUILD} --profile all --run-ignored only");
    Step::new(
        module,
        &format!("{nextest} -E binary(black-box)&test(/^{module}::/)"),
    )
    .needs(&["build"])
}

/// The database of advisories is a repository on the internet.
fn without_advisories() -> Option<String> {
    let asked = Command::new("timeout")
        .args([
            "20",
            "git",
            "ls-remote",
            "--exit-code",
            "https://github.com/rustsec/advisory-db",
            "HEAD",
        ])
        .env("GIT_TERMINAL_PROMPT", "0")
        .output();
    let is_there = asked.is_ok_and(|output| output.status.success());
    (!is_there).then(|| "the database of advisories cannot be downloaded".into())
}

fn without_root() -> Option<String> {
    (!nix::unistd::geteuid().is_root()).then(|| "it needs root for namespaces and control groups".into())
}

#[cfg(test)]
mod tests {
    use super::{Scope, of};

    #[test]
    fn every_step_that_is_needed_comes_before() {
        for scope in [Scope::Change, Scope::Everything] {
            let steps = of(scope);
            for (place, step) in steps.iter().enumerate() {
                for needed in step.needs {
                    assert!(
                        steps[..place].iter().any(|other| other.name == *needed),
                        "{} needs {needed}, which does not come before it",
                        step.name
                    );
                }
            }
        }
    }

    #[test]
    fn everything_has_each_step_of_a_change() {
        let all = of(Scope::Everything);
        for step in of(Scope::Change) {
            assert!(all.iter().any(|other| other.name == step.name), "{}", step.name);
        }
    }
}
