//! Toolchains: how to detect those that services need, and how to install them.

use crate::ConfigError;
use crate::format::suggestion::suggest;
use crate::format::{Faults, FileKind, SourceFile, Spanned};
use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

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
    /// The share by which two builds of the same source may differ by their code layout; `None` where that is unknown.
    pub code_layout: Option<f64>,
    /// Whether a project brings the commands that look for it, instead of prony.
    pub is_own: bool,
}

impl Toolchain {
    /// The commands that look for it.
    pub fn commands(&self) -> impl Iterator<Item = &str> {
        let locate = self.locate.iter().map(|(command, _)| command.as_str());
        locate.chain([self.probe.as_str()])
    }

    /// Whether the same commands look for both.
    pub(crate) fn has_same_commands(&self, other: &Self) -> bool {
        self.commands().eq(other.commands())
    }
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Requirement {
    pub toolchain: String,
    pub minimum: Option<Version>,
}

/// A version: numbers compared one after the other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
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

/// The toolchains that services may require, by name.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct ToolchainsToml(BTreeMap<Spanned<String>, ToolchainToml>);

/// A toolchain: how to detect and install it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ToolchainToml {
    /// The name that users read.
    title: String,
    /// A shell command that prints the folder of the toolchain.
    locate: Option<Spanned<String>>,
    /// The environment variable in which build and run find the folder that `locate` prints.
    #[schemars(extend("x-aliases" = ["env"]))]
    export: Option<Spanned<String>>,
    /// A shell command that prints the version. It fails if a build would fail.
    probe: String,
    /// A regular expression that finds the version in the output of `probe`: its first group.
    version: Spanned<String>,
    /// The folder below the one that `locate` prints that is first on the PATH of probe, build and run.
    path: Option<Spanned<String>>,
    /// The packages that contain it, by distribution.
    #[serde(default)]
    packages: PackagesToml,
    /// A shell command that installs it instead of the packages.
    install: Option<String>,
    /// Other toolchains that `install` requires.
    #[serde(default)]
    needs: Vec<Spanned<String>>,
    /// For one that compiles to machine code: the share by which two builds of the same source may differ in speed, such as 0.02, because
    /// their functions are at other addresses. Comparisons of revisions say so.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    code_layout: Option<f64>,
}

/// Packages by distribution.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PackagesToml {
    /// For apt: Debian, Ubuntu.
    #[serde(default)]
    debian: Vec<String>,
    /// For dnf: Fedora, RHEL.
    #[serde(default)]
    fedora: Vec<String>,
    /// For pacman: Arch.
    #[serde(default)]
    arch: Vec<String>,
}

/// Reads `services/toolchains.toml`.
pub(crate) fn read(path: &Path) -> Result<BTreeMap<String, Toolchain>, ConfigError> {
    of(&SourceFile::read(path)?)
}

/// The same, from the text of the file.
pub(crate) fn of(source: &SourceFile) -> Result<BTreeMap<String, Toolchain>, ConfigError> {
    let ToolchainsToml(written) = source.parse(FileKind::Toolchains)?;
    let mut faults = Faults::default();
    let needs = written.values().flat_map(|one| &one.needs);
    for unknown in needs.filter(|need| !written.contains_key(need.get_ref().as_str())) {
        let name = unknown.get_ref();
        let help = suggest(written.keys().map(|name| name.get_ref().as_str()), name);
        let message = format!("no toolchain `{name}` in this file");
        faults.keep::<()>(Err(source.invalid_with(unknown.span(), message, help)));
    }
    let mut toolchains = BTreeMap::new();
    for (name, written) in written {
        let toolchain = faults.keep(one(source, name.get_ref(), written));
        toolchains.extend(toolchain.map(|toolchain| (name.into_inner(), toolchain)));
    }
    faults.or(toolchains)
}

fn one(source: &SourceFile, name: &str, written: ToolchainToml) -> Result<Toolchain, ConfigError> {
    let mut faults = Faults::default();
    let locate = faults.keep(match (written.locate, written.export) {
        (Some(locate), Some(export)) => Ok(Some((locate.into_inner(), export.into_inner()))),
        (None, None) => Ok(None),
        (Some(locate), None) => Err(source.invalid_with(
            locate.span(),
            format!("toolchain `{name}` has `locate` without `export`"),
            "add `export`, the variable that passes the folder to build and run",
        )),
        (None, Some(export)) => Err(source.invalid_with(
            export.span(),
            format!("toolchain `{name}` has `export` without `locate`"),
            "add `locate`, the command that prints the folder",
        )),
    });
    if let Some(path) = written.path.as_ref().filter(|_| locate == Some(None)) {
        let message = format!("toolchain `{name}` has `path` without `locate`");
        let help = "add `locate`, the command that prints the folder that contains it";
        faults.keep::<()>(Err(source.invalid_with(path.span(), message, help)));
    }
    let version = faults.keep(regex(source, &written.version).and_then(|version| {
        if version.captures_len() > 1 {
            return Ok(version);
        }
        let help = "put parentheses around the version, as in 'go([0-9.]+)'";
        Err(source.invalid_with(written.version.span(), "`version` has no group", help))
    }));
    let (Some(locate), Some(version)) = (locate, version) else {
        return Err(faults.into_error());
    };
    let packages = [
        (System::Debian, written.packages.debian),
        (System::Fedora, written.packages.fedora),
        (System::Arch, written.packages.arch),
    ];
    faults.or(Toolchain {
        name: name.to_owned(),
        title: written.title,
        locate,
        probe: written.probe,
        version,
        path: written.path.map(Spanned::into_inner),
        packages: packages
            .into_iter()
            .filter(|(_, packages)| !packages.is_empty())
            .collect(),
        install: written.install,
        needs: written.needs.into_iter().map(Spanned::into_inner).collect(),
        code_layout: written.code_layout,
        is_own: false,
    })
}

/// The requirements in a list of toolchains.
pub(crate) fn requirements(
    source: &SourceFile,
    written: &[Spanned<String>],
) -> Result<Vec<Requirement>, ConfigError> {
    let mut faults = Faults::default();
    let mut requirements = Vec::new();
    for one in written {
        let requirement = Requirement::parse(one.get_ref()).ok_or_else(|| {
            let message = format!("`toolchains` has \"{}\"", one.get_ref());
            source.invalid_with(one.span(), message, "write `name` or `name >= version`")
        });
        requirements.extend(faults.keep(requirement));
    }
    faults.or(requirements)
}

/// A regular expression of a file.
pub(crate) fn regex(source: &SourceFile, written: &Spanned<String>) -> Result<Regex, ConfigError> {
    Regex::new(written.get_ref()).map_err(|error| {
        let message = format!("`{}` is not a regular expression", written.get_ref());
        source.invalid_with(written.span(), message, reason_of(&error))
    })
}

/// Why a text is not a regular expression; `None`: it is one.
pub(crate) fn regex_error(pattern: &str) -> Option<String> {
    Regex::new(pattern).err().map(|error| reason_of(&error))
}

fn reason_of(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.trim_start_matches("error: ").to_owned()
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
            code_layout: None,
            is_own: false,
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
