//! Toolchains: how to detect those that services need, and how to install them.

use crate::ConfigError;
use crate::format::{FileKind, SourceFile};
use regex::Regex;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use crate::format::Spanned;

/// A toolchain of `services/toolchains.toml`.
#[derive(Debug, Clone)]
pub struct Toolchain {
    /// The name used by services.
    pub name: String,
    pub title: String,
    /// A shell command that prints the toolchain's folder, and the environment variable that passes it to build and run.
    pub locate: Option<(String, String)>,
    /// A shell command that prints the version.
    pub probe: String,
    /// Finds the version in the output of the probe; its first group is the version.
    pub version: Regex,
    /// The folder below the located one that is first on the PATH of the probe, and of builds and runs.
    pub path: Option<String>,
    /// Packages that contain it, by distribution.
    pub packages: BTreeMap<System, Vec<String>>,
    /// Another command that installs it; it takes precedence over the distribution's packages.
    pub install: Option<String>,
    /// Toolchains that `install` requires.
    pub needs: Vec<String>,
}

/// A distribution, identified by its package manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum System {
    /// Debian, Ubuntu: apt.
    Debian,
    /// Fedora, RHEL: dnf.
    Fedora,
    /// Arch: pacman.
    Arch,
}

impl System {
    pub const ALL: [Self; 3] = [Self::Debian, Self::Fedora, Self::Arch];

    /// The program whose presence identifies the distribution.
    pub const fn manager(self) -> &'static str {
        match self {
            Self::Debian => "apt-get",
            Self::Fedora => "dnf",
            Self::Arch => "pacman",
        }
    }

    /// Arguments of the manager that refresh its list of packages; empty: installing does that.
    pub const fn refresh(self) -> &'static [&'static str] {
        match self {
            Self::Debian => &["-o", "DPkg::Lock::Timeout=600", "update", "-qq"],
            Self::Fedora => &[],
            Self::Arch => &["-Sy", "--noconfirm"],
        }
    }

    /// Arguments of the manager that install packages without a question. apt waits for another apt to finish.
    pub const fn install_arguments(self) -> &'static [&'static str] {
        match self {
            Self::Debian => &[
                "-o",
                "DPkg::Lock::Timeout=600",
                "install",
                "-y",
                "-qq",
                "--no-install-recommends",
            ],
            Self::Fedora => &["install", "-y", "-q"],
            Self::Arch => &["-S", "--noconfirm", "--needed"],
        }
    }

    /// The command that a user types to install packages.
    fn install(self, packages: &[String]) -> String {
        let verb = match self {
            Self::Debian | Self::Fedora => "install",
            Self::Arch => "-S",
        };
        format!("{} {verb} {}", self.manager(), packages.join(" "))
    }
}

/// A toolchain that a service needs, with its minimum version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Requirement {
    pub toolchain: String,
    pub minimum: Option<Version>,
}

/// A version: numbers compared one after the other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct Version(pub Vec<u64>);

impl Version {
    /// Parses `1.26.8`. `None` if a part is not a number.
    pub fn parse(text: &str) -> Option<Self> {
        text.trim()
            .split('.')
            .map(|part| part.parse().ok())
            .collect::<Option<Vec<u64>>>()
            .map(Self)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(u64::to_string).collect();
        formatter.write_str(&parts.join("."))
    }
}

impl Requirement {
    /// Parses `go` or `go >= 1.22`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (toolchain, minimum) = match text.split_once(">=") {
            Some((name, version)) => (name, Some(Version::parse(version)?)),
            None => (text, None),
        };
        let toolchain = toolchain.trim();
        let plain = toolchain
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_');
        (plain && !toolchain.is_empty()).then(|| Self {
            toolchain: toolchain.to_owned(),
            minimum,
        })
    }
}

impl Toolchain {
    /// The version in the output of the probe.
    pub fn version_in(&self, printed: &str) -> Option<Version> {
        Version::parse(self.version.captures(printed)?.get(1)?.as_str())
    }

    /// The command that a user runs to install it on this system.
    pub fn how_to_install(&self, system: Option<System>) -> String {
        let packages = system.and_then(|system| Some((system, self.packages.get(&system)?)));
        match (&self.install, packages) {
            (Some(command), _) => command.trim().to_owned(),
            (None, Some((system, packages))) => system.install(packages),
            (None, None) => format!("install {} and put it on the PATH", self.title),
        }
    }

    /// Instructions if the installed version is too old. The distribution's package would not help.
    pub fn how_to_renew(&self, minimum: &Version) -> String {
        self.install.as_ref().map_or_else(
            || {
                format!(
                    "install {} {minimum} or newer and put it first on the PATH",
                    self.title
                )
            },
            |command| command.trim().to_owned(),
        )
    }
}

#[derive(Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct ToolchainToml {
    title: String,
    #[serde(default)]
    locate: Option<String>,
    #[serde(default)]
    env: Option<String>,
    probe: String,
    version: Spanned<String>,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    debian: Vec<String>,
    #[serde(default)]
    fedora: Vec<String>,
    #[serde(default)]
    arch: Vec<String>,
    #[serde(default)]
    install: Option<String>,
    #[serde(default)]
    needs: Vec<String>,
}

/// Reads `services/toolchains.toml`.
pub(crate) fn read(path: &Path) -> Result<BTreeMap<String, Toolchain>, ConfigError> {
    let source = SourceFile::read(path)?;
    let written: BTreeMap<Spanned<String>, ToolchainToml> = source.parse(FileKind::Toolchains)?;
    let names: BTreeSet<String> = written.keys().map(|name| name.get_ref().clone()).collect();
    for (name, one) in &written {
        if let Some(unknown) = one.needs.iter().find(|need| !names.contains(*need)) {
            let message = format!(
                "`{}` needs toolchain `{unknown}`, which is not in this file",
                name.get_ref()
            );
            return Err(source.invalid(name.span(), message));
        }
    }
    written
        .into_iter()
        .map(|(name, written)| Ok((name.get_ref().clone(), one(&source, &name, written)?)))
        .collect()
}

fn one(source: &SourceFile, name: &Spanned<String>, written: ToolchainToml) -> Result<Toolchain, ConfigError> {
    let locate = match (written.locate, written.env) {
        (Some(locate), Some(env)) => Some((locate, env)),
        (None, None) => None,
        _ => {
            let message = format!(
                "`{}`: `locate` and `env` need each other: give both, or neither",
                name.get_ref()
            );
            return Err(source.invalid(name.span(), message));
        }
    };
    if written.path.is_some() && locate.is_none() {
        let message = format!(
            "`{}`: `path` is below the folder that `locate` prints: give both",
            name.get_ref()
        );
        return Err(source.invalid(name.span(), message));
    }
    let version = Regex::new(written.version.get_ref())
        .ok()
        .filter(|regex| regex.captures_len() > 1)
        .ok_or_else(|| {
            source.invalid(
                written.version.span(),
                "`version` must be a regular expression with a group for the version",
            )
        })?;
    Ok(Toolchain {
        name: name.get_ref().clone(),
        title: written.title,
        locate,
        probe: written.probe,
        version,
        path: written.path,
        packages: [
            (System::Debian, written.debian),
            (System::Fedora, written.fedora),
            (System::Arch, written.arch),
        ]
        .into_iter()
        .filter(|(_, packages)| !packages.is_empty())
        .collect(),
        install: written.install,
        needs: written.needs,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_read() {
        let requirement = Requirement::parse("go >= 1.22").expect("valid");
        assert_eq!(
            (requirement.toolchain.as_str(), requirement.minimum),
            ("go", Version::parse("1.22"))
        );
        assert_eq!(Requirement::parse("python36").expect("valid").minimum, None);
        assert_eq!(Requirement::parse("go >= new"), None);
        assert_eq!(Requirement::parse("go > 1"), None);
    }

    fn toolchain(install: Option<&str>) -> Toolchain {
        let packages = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Toolchain {
            name: "toy".to_owned(),
            title: "Toy".to_owned(),
            locate: None,
            probe: "toy --version".to_owned(),
            version: Regex::new("(.*)").expect("a regex"),
            path: None,
            packages: BTreeMap::from([
                (System::Debian, packages(&["toy", "toy-dev"])),
                (System::Arch, packages(&["toys"])),
            ]),
            install: install.map(str::to_owned),
            needs: Vec::new(),
        }
    }

    #[test]
    fn each_system_has_its_own_words() {
        let toy = toolchain(None);
        assert_eq!(
            toy.how_to_install(Some(System::Debian)),
            "apt-get install toy toy-dev"
        );
        assert_eq!(toy.how_to_install(Some(System::Arch)), "pacman -S toys");
        let by_hand = "install Toy and put it on the PATH";
        assert_eq!(toy.how_to_install(Some(System::Fedora)), by_hand);
        assert_eq!(toy.how_to_install(None), by_hand);
        let elsewhere = toolchain(Some("pip install toy"));
        assert_eq!(elsewhere.how_to_install(Some(System::Debian)), "pip install toy");
    }

    #[test]
    fn a_package_that_was_found_wanting_is_not_named_again() {
        let minimum = Version::parse("2.1").expect("a version");
        let hint = toolchain(None).how_to_renew(&minimum);
        assert_eq!(hint, "install Toy 2.1 or newer and put it first on the PATH");
        assert_eq!(
            toolchain(Some("pip install toy")).how_to_renew(&minimum),
            "pip install toy"
        );
    }

    #[test]
    fn versions_compare_as_numbers() {
        assert!(Version::parse("1.9") < Version::parse("1.10"));
        assert!(Version::parse("17") <= Version::parse("17.0.15"));
    }
}
