//! Toolchains: what a service needs on the machine, how to see whether it is there, and how to get it.

use crate::PlanError;
use crate::read::Source;
use regex::Regex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use toml::Spanned;

/// A toolchain of `services/toolchains.toml`.
#[derive(Debug, Clone)]
pub struct Toolchain {
    /// What services call it.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// A shell command that prints the toolchain's folder, and the variable that carries it into build and run.
    pub locate: Option<(String, String)>,
    /// A shell command that prints the version.
    pub probe: String,
    /// Finds the version in what the probe prints; its first group is the version.
    pub version: Regex,
    /// Debian packages that bring it.
    pub debian: Vec<String>,
    /// Another command that brings it.
    pub install: Option<String>,
}

/// A toolchain that a service needs, with the least version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requirement {
    /// Name of the toolchain.
    pub toolchain: String,
    /// The least version.
    pub minimum: Option<Version>,
}

/// A version: numbers compared one after the other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Version(pub Vec<u64>);

impl Version {
    /// Reads `1.26.8`. `None` where a part is no number.
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
    /// Reads `go` or `go >= 1.22`.
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
    /// The version in what the probe printed.
    pub fn version_in(&self, printed: &str) -> Option<Version> {
        Version::parse(self.version.captures(printed)?.get(1)?.as_str())
    }

    /// What a person types to get it.
    pub fn how_to_install(&self) -> String {
        match (&self.install, self.debian.as_slice()) {
            (Some(command), _) => command.clone(),
            (None, []) => format!("install {} and put it on the PATH", self.title),
            (None, packages) => format!("apt-get install {}", packages.join(" ")),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    title: String,
    #[serde(default)]
    locate: Option<String>,
    #[serde(default)]
    env: Option<String>,
    probe: String,
    version: Spanned<String>,
    #[serde(default)]
    debian: Vec<String>,
    #[serde(default)]
    install: Option<String>,
}

/// Reads `services/toolchains.toml`.
pub(crate) fn read(path: &Path) -> Result<BTreeMap<String, Toolchain>, PlanError> {
    let source = Source::read(path)?;
    let written: BTreeMap<Spanned<String>, Written> = source.parse()?;
    written
        .into_iter()
        .map(|(name, written)| Ok((name.get_ref().clone(), one(&source, &name, written)?)))
        .collect()
}

fn one(source: &Source, name: &Spanned<String>, written: Written) -> Result<Toolchain, PlanError> {
    let locate = match (written.locate, written.env) {
        (Some(locate), Some(env)) => Some((locate, env)),
        (None, None) => None,
        _ => {
            let message = format!(
                "`{}`: `locate` and `env` belong together: give both, or neither",
                name.get_ref()
            );
            return Err(source.invalid(name.span(), message));
        }
    };
    let version = Regex::new(written.version.get_ref())
        .ok()
        .filter(|regex| regex.captures_len() > 1)
        .ok_or_else(|| {
            source.invalid(
                written.version.span(),
                "`version` must be a regular expression with a group that holds the version",
            )
        })?;
    Ok(Toolchain {
        name: name.get_ref().clone(),
        title: written.title,
        locate,
        probe: written.probe,
        version,
        debian: written.debian,
        install: written.install,
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

    #[test]
    fn versions_compare_as_numbers() {
        assert!(Version::parse("1.9") < Version::parse("1.10"));
        assert!(Version::parse("17") <= Version::parse("17.0.15"));
    }
}
