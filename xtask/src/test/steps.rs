//! The steps of `make test` and `make test-all`, in the order in which they run: what fails quickly comes first.

use super::tool_folder;
use crate::root;
use std::path::Path;
use std::process::Command;

/// Which steps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// What a change can break, within 25 minutes.
    Change,
    /// Everything that this repository can test on one machine.
    Everything,
}

/// One step: a command, and what must hold before it is worth running.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) command: Vec<String>,
    pub(crate) environment: Vec<(&'static str, String)>,
    /// Steps without which it would only repeat their failure.
    pub(crate) needs: &'static [&'static str],
    /// Why this machine cannot run it.
    pub(crate) cannot_run: fn() -> Option<String>,
}

impl Step {
    pub(crate) fn new(name: &'static str, command: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            name,
            command: command.into_iter().map(Into::into).collect(),
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

/// Commands that the tests start, and the Debian packages that bring them.
const PACKAGES: &[&str] = &[
    "chromium=chromium",
    "ip=iproute2",
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
/// One set of features for lints, tests and the binary, so that each crate is compiled once.
const BUILD: &[&str] = &["--locked", "--workspace", "--features", "prony/kubernetes"];

pub(crate) fn of(scope: Scope) -> Vec<Step> {
    let is_all = scope == Scope::Everything;
    let root = root();
    let tools = tool_folder(&root).join("bin");
    let tool = |name: &str| tools.join(name).display().to_string();
    let cargo = |arguments: &[&str], more: &[&str]| words(&["cargo"], &[arguments, BUILD, more]);
    let nextest =
        |arguments: &[&str]| words(&[&tool("cargo-nextest"), "nextest", "run"], &[BUILD, arguments]);
    let profile = if is_all { "all" } else { "quick" };

    let mut steps = vec![
        Step::new("set-up", words(&["scripts/setup"], &[PACKAGES])),
        Step::new("tools", ["cargo", "xtask", "tools"]),
        Step::new("format", ["cargo", "fmt", "--all", "--check"]),
        Step::new(
            "workflows",
            shell("cd tests/workflows && npm ci --silent && node lint.mjs"),
        )
        .needs(&["set-up"]),
        Step::new(
            "dependencies",
            [
                &tool("cargo-deny"),
                "--locked",
                "check",
                "bans",
                "licenses",
                "sources",
            ],
        )
        .needs(&["tools"]),
        Step::new("advisories", [&tool("cargo-deny"), "check", "advisories"])
            .needs(&["tools"])
            .only_where(without_advisories),
        Step::new(
            "lints",
            cargo(&["clippy", "--all-targets"], &["--", "-D", "warnings"]),
        )
        .needs(&["set-up"]),
        Step::new("build", nextest(&["--profile", profile, "--no-run"])).needs(&["set-up", "tools"]),
        Step::new("page", ["scripts/test-web"]).needs(&["set-up"]),
        Step::new("tests", nextest(&["--profile", profile, "--no-fail-fast"]))
            .with("NEXTEST_NO_TESTS", "fail")
            .needs(&["build"]),
    ];
    if !is_all {
        steps.push(
            Step::new("services", ["cargo", "xtask", "services"])
                .with("PRONY", binary(&root))
                .needs(&["build"]),
        );
        return steps;
    }
    // What is released is tested, too: from here on the optimised program runs.
    let release = root.join("target/release/prony").display().to_string();
    let with_release = |step: Step| step.with("PRONY", release.clone()).needs(&["release"]);
    steps.extend([
        Step::new(
            "release",
            [
                "cargo",
                "build",
                "--release",
                "--locked",
                "--features",
                "kubernetes",
                "--bin",
                "prony",
            ],
        )
        .needs(&["set-up"]),
        Step::new("documentation", cargo(&["doc"], &["--no-deps", "--lib"]))
            .with("RUSTDOCFLAGS", "-D warnings"),
        Step::new("examples", cargo(&["test", "--doc"], &[])),
        with_release(Step::new("services", ["cargo", "xtask", "services", "--all"])),
        with_release(Step::new("studies", ["cargo", "xtask", "suites"])),
        with_release(Step::new("templates", ["scripts/test-new"])),
        with_release(Step::new("drafts", ["scripts/test-drafts"])),
        // Never on a cluster of whoever runs this.
        with_release(Step::new(
            "kubernetes",
            words(&["env", "-u", "KUBECONFIG", "scripts/test-kubernetes"], &[]),
        ))
        .only_where(without_root),
        Step::new("package", ["scripts/dist"]).needs(&["set-up"]),
        Step::new("distributions", ["scripts/test-dist"])
            .needs(&["package"])
            .only_where(without_root),
    ]);
    steps
}

/// The program that the tests were compiled with.
fn binary(root: &Path) -> String {
    root.join("target/debug/prony").display().to_string()
}

fn words(first: &[&str], more: &[&[&str]]) -> Vec<String> {
    first
        .iter()
        .chain(more.iter().copied().flatten())
        .map(|word| (*word).to_owned())
        .collect()
}

fn shell(script: &str) -> Vec<String> {
    words(&["bash", "-euo", "pipefail", "-c", script], &[])
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
    (!is_there).then(|| "the database of advisories cannot be reached from here".into())
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
