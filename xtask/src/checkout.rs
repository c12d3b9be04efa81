//! The checkout under test, and the built binary.

use anyhow::{Context as _, Result, bail};
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

/// The checkout under test, and the built binary.
#[derive(Debug, Clone)]
pub(crate) struct Checkout {
    pub(crate) root: PathBuf,
    prony: PathBuf,
}

impl Checkout {
    /// The checkout of the current folder. The binary is that of the variable PRONY, or else the one that is built in the checkout.
    pub(crate) fn find() -> Result<Self> {
        let here = std::env::current_dir().context("cannot determine the current folder")?;
        let root = here
            .ancestors()
            .find(|folder| folder.join("suites/smoke.toml").is_file());
        let root =
            root.with_context(|| format!("{} is not in a checkout with suites/smoke.toml", here.display()))?;
        let prony =
            std::env::var_os("PRONY").map_or_else(|| root.join("target/release/prony"), PathBuf::from);
        if !prony.is_file() {
            bail!("{} is missing: run `make build`, or set PRONY", prony.display());
        }
        Ok(Self {
            root: root.to_owned(),
            prony,
        })
    }

    #[cfg(test)]
    pub(crate) fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            prony: PathBuf::from("prony"),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The binary, started in the root of the checkout.
    pub(crate) fn prony(&self) -> Command {
        let mut command = Command::new(&self.prony);
        command.current_dir(&self.root).stdin(Stdio::null());
        command
    }

    /// The same, restricted to these CPUs.
    pub(crate) fn prony_on(&self, cpus: &[usize]) -> Command {
        if cpus.is_empty() {
            return self.prony();
        }
        let list: Vec<String> = cpus.iter().map(ToString::to_string).collect();
        let mut command = Command::new("taskset");
        command.args(["-c", &list.join(",")]).arg(&self.prony);
        command.current_dir(&self.root).stdin(Stdio::null());
        command
    }

    /// The JSON output of a command of the binary.
    pub(crate) fn json<T: DeserializeOwned>(&self, arguments: &[&str]) -> Result<T> {
        let command_line = || format!("prony {}", arguments.join(" "));
        let output = self
            .prony()
            .args(arguments)
            .stderr(Stdio::piped())
            .output()
            .with_context(command_line)?;
        if !output.status.success() {
            bail!(
                "{} ended with {}: {}",
                command_line(),
                output.status,
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        serde_json::from_slice(&output.stdout).with_context(command_line)
    }

    /// The version of prony, for users.
    pub(crate) fn version(&self) -> String {
        let printed = self.prony().arg("--version").output();
        let printed = printed.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        let version = printed.unwrap_or_default().replace("prony ", "");
        match git(&self.root, &["rev-parse", "--short=12", "HEAD"]) {
            Some(commit) => format!("{version} ({commit})"),
            None => version,
        }
    }
}

/// The output of git, without the final line break; `None` if it fails.
pub(crate) fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(root)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let printed = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    output.status.success().then_some(printed)
}

/// The deadline of tests, from the variable `PRONY_TEST_UNTIL`: seconds since 1970.
pub(crate) fn test_deadline() -> Option<SystemTime> {
    let text = std::env::var("PRONY_TEST_UNTIL").ok()?;
    let seconds: f64 = text.trim().parse().ok()?;
    Some(SystemTime::UNIX_EPOCH + Duration::try_from_secs_f64(seconds.max(0.0)).ok()?)
}
