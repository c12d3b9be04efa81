//! The newest version of a package, from the client of its registry.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A registry of packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Registry {
    Cargo,
    Go,
    Maven,
    Npm,
    PyPi,
}

impl fmt::Display for Registry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Cargo => "cargo",
            Self::Go => "go",
            Self::Maven => "mvn",
            Self::Npm => "npm",
            Self::PyPi => "pip",
        })
    }
}

/// Versions of Maven Central that are not releases.
const PRERELEASE: &str = "(?i).*[-.](alpha|beta|cr|ea|m|milestone|pre|preview|rc|snapshot)[-.]?[0-9]*.*";
const VERSIONS_PLUGIN: &str = "org.codehaus.mojo:versions-maven-plugin:2.18.0:display-dependency-updates";

impl Registry {
    pub(super) const ALL: [Self; 5] = [Self::Cargo, Self::Go, Self::Maven, Self::Npm, Self::PyPi];

    /// The newest version of each package, or why it is unknown.
    pub(super) fn newest<'a>(
        self,
        packages: &BTreeSet<&'a str>,
    ) -> BTreeMap<&'a str, Result<String, String>> {
        if packages.is_empty() {
            return BTreeMap::new();
        }
        let folder = match tempfile::tempdir() {
            Ok(folder) => folder,
            Err(error) => return all(packages, &Err(error.to_string())),
        };
        // Outside of the checkout, whose own manifests would decide.
        let folder = folder.path();
        if self == Self::Maven {
            return newest_of_maven(folder, packages);
        }
        let newest = |package: &&'a str| (*package, self.newest_of(folder, package));
        packages.iter().map(newest).collect()
    }

    fn newest_of(self, folder: &Path, package: &str) -> Result<String, String> {
        let at_latest = format!("{package}@latest");
        let command = match self {
            Self::Cargo => vec!["cargo", "info", "--quiet", "--registry", "crates-io", package],
            Self::Go => vec!["go", "list", "-m", "-f", "{{.Version}}", &at_latest],
            Self::Npm => vec!["npm", "view", package, "version"],
            Self::PyPi => vec!["python3", "-m", "pip", "index", "versions", package],
            Self::Maven => unreachable!("all packages of Maven are looked up in one run"),
        };
        let output = output(folder, &command)?;
        self.version_in(&output)
            .ok_or_else(|| format!("no version in the output of {}", command.join(" ")))
    }

    /// The version in what the client has printed.
    fn version_in(self, output: &str) -> Option<String> {
        let version = match self {
            Self::Cargo => {
                // `version: 1.2.3 (latest 1.3.0)`: the second if this compiler is too old for it.
                let line = output.lines().find_map(|line| line.strip_prefix("version: "))?;
                let latest = line.split_once("(latest ");
                latest.map_or(line, |(_, latest)| latest.trim_end_matches(')'))
            }
            Self::Go => output.trim().strip_prefix('v')?,
            Self::Npm => output.lines().last()?,
            // `name (1.2.3)`
            Self::PyPi => output.lines().next()?.split_once('(')?.1.strip_suffix(')')?,
            Self::Maven => return None,
        };
        Some(version.trim().to_owned()).filter(|version| !version.is_empty())
    }
}

fn all<'a>(
    packages: &BTreeSet<&'a str>,
    result: &Result<String, String>,
) -> BTreeMap<&'a str, Result<String, String>> {
    packages
        .iter()
        .map(|package| (*package, result.clone()))
        .collect()
}

/// One run of Maven for a project that depends on the first version of each package.
fn newest_of_maven<'a>(
    folder: &Path,
    packages: &BTreeSet<&'a str>,
) -> BTreeMap<&'a str, Result<String, String>> {
    let look_up = || {
        fs::write(folder.join("pom.xml"), project(packages)).map_err(|error| error.to_string())?;
        let ignored = format!("-Dmaven.version.ignore={PRERELEASE}");
        let command = [
            "mvn",
            "-B",
            "-q",
            VERSIONS_PLUGIN,
            "-Dversions.outputFile=updates",
            "-Dversions.outputLineWidth=200",
            &ignored,
        ];
        output(folder, &command)?;
        fs::read_to_string(folder.join("updates")).map_err(|error| error.to_string())
    };
    match look_up() {
        Ok(updates) => {
            let found = updates_in(&updates);
            let newest = |package: &&'a str| {
                let version = found.get(*package).cloned();
                (
                    *package,
                    version.ok_or_else(|| "Maven lists no release".to_owned()),
                )
            };
            packages.iter().map(newest).collect()
        }
        Err(reason) => all(packages, &Err(reason)),
    }
}

/// A project whose dependencies are all at version 0, so that an update of each is listed.
fn project(packages: &BTreeSet<&str>) -> String {
    let dependencies = packages.iter().filter_map(|package| package.split_once(':'));
    let dependencies: Vec<String> = dependencies
        .map(|(group, artifact)| {
            format!(
                "<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>0</version></dependency>\n"
            )
        })
        .collect();
    let dependencies = dependencies.concat();
    format!(
        "<project><modelVersion>4.0.0</modelVersion><groupId>pins</groupId><artifactId>pins</artifactId><version>1</version>\n\
         <dependencyManagement><dependencies>\n{dependencies}</dependencies></dependencyManagement></project>\n"
    )
}

/// `  group:artifact ....... 0 -> 1.2.3`, with the versions on a line of their own if the name is long.
fn updates_in(text: &str) -> BTreeMap<String, String> {
    let mut updates = BTreeMap::new();
    let words = text.split_whitespace();
    let mut package = None;
    let mut after_arrow = false;
    for word in words {
        if after_arrow {
            if let Some(package) = package.take() {
                updates.insert(package, word.to_owned());
            }
            after_arrow = false;
        } else if word == "->" {
            after_arrow = true;
        } else if word.contains(':') && !word.ends_with(':') {
            package = Some(word.to_owned());
        }
    }
    updates
}

/// What a command prints.
fn output(folder: &Path, command: &[&str]) -> Result<String, String> {
    let (program, arguments) = command.split_first().ok_or("no command")?;
    let output = Command::new("timeout")
        .arg("300")
        .arg(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let reason = String::from_utf8_lossy(&output.stderr);
    let reason = reason.lines().find(|line| !line.trim().is_empty());
    Err(reason.unwrap_or("it failed without a message").trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_what_each_client_prints() {
        let cases = [
            (
                Registry::Cargo,
                "axum #web\nversion: 0.8.9\nlicense: MIT\n",
                "0.8.9",
            ),
            (
                Registry::Cargo,
                "version: 4.0.0-beta.13 (latest 4.5.0)\n",
                "4.5.0",
            ),
            (Registry::Go, "v1.12.0\n", "1.12.0"),
            (Registry::Npm, "5.3.0\n", "5.3.0"),
            (
                Registry::PyPi,
                "tornado (6.6.1)\nAvailable versions: 6.6.1, 6.6\n",
                "6.6.1",
            ),
        ];
        for (registry, output, version) in cases {
            assert_eq!(
                registry.version_in(output).as_deref(),
                Some(version),
                "{registry}"
            );
        }
        assert_eq!(Registry::Npm.version_in("\n"), None);
        assert_eq!(Registry::Go.version_in("not found"), None);
    }

    #[test]
    fn updates_of_maven_are_read_also_where_a_name_fills_its_line() {
        let text = "The following dependencies in Dependency Management have newer versions:\n  \
                    io.netty:netty-codec-http ........... 0 -> 4.2.20.Final\n  \
                    org.example.a.very.long.group:with-a-long-name\n                    ..... 0 -> 2.1\n";
        let updates = updates_in(text);
        assert_eq!(updates["io.netty:netty-codec-http"], "4.2.20.Final");
        assert_eq!(updates["org.example.a.very.long.group:with-a-long-name"], "2.1");
        assert_eq!(updates.len(), 2);
    }

    #[test]
    fn a_missing_client_is_a_reason() {
        let folder = tempfile::tempdir().expect("a folder");
        output(folder.path(), &["prony-has-no-such-client"]).expect_err("no such program");
    }
}
