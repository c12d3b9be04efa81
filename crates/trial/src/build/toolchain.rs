//! Whether the machine has a toolchain.

use prony_plan::{Toolchain, Version};
use std::io;
use std::process::{Command, Output, Stdio};

/// A toolchain that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its version.
    pub version: Version,
    /// The variable that tells builds and runs where it is, where it has one.
    pub located: Option<(String, String)>,
}

/// Asks the machine. The error says what is missing, in a sentence without a remedy.
pub fn probe(toolchain: &Toolchain) -> Result<Found, String> {
    let missing = || format!("{} is not on this machine", toolchain.title);
    let located = match &toolchain.locate {
        None => None,
        Some((command, variable)) => {
            let folder = text(&shell(command, None).map_err(|_| missing())?);
            let folder = folder
                .lines()
                .last()
                .map(str::trim)
                .filter(|line| !line.is_empty())
                .map(str::to_owned);
            Some((variable.clone(), folder.ok_or_else(missing)?))
        }
    };
    let output = shell(&toolchain.probe, located.as_ref()).map_err(|_| missing())?;
    let printed = text(&output);
    match toolchain.version_in(&printed) {
        Some(version) => Ok(Found { version, located }),
        None if output.status.success() => Err(format!(
            "nobody can tell the version of {} from what `{}` prints: {}",
            toolchain.title,
            toolchain.probe,
            printed.lines().next().unwrap_or("nothing")
        )),
        None => Err(missing()),
    }
}

fn shell(command: &str, variable: Option<&(String, String)>) -> io::Result<Output> {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .stdin(Stdio::null())
        .envs(variable.map(|(name, value)| (name, value)));
    shell.output()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toolchain(probe: &str, locate: Option<&str>) -> Toolchain {
        Toolchain {
            name: "toy".to_owned(),
            title: "Toy".to_owned(),
            locate: locate.map(|command| (command.to_owned(), "TOY".to_owned())),
            probe: probe.to_owned(),
            version: regex::Regex::new(r"toy (\d+(?:\.\d+)*)").expect("a regex"),
            debian: vec!["toy".to_owned()],
            install: None,
        }
    }

    #[test]
    fn a_version_is_found_in_what_is_printed() {
        let found = probe(&toolchain("echo toy 1.20.3, release", None)).expect("there");
        assert_eq!(found.version, Version(vec![1, 20, 3]));
    }

    #[test]
    fn what_is_not_there_is_missing() {
        let error = probe(&toolchain("no-such-toy --version", None)).expect_err("missing");
        assert_eq!(error, "Toy is not on this machine");
        let error = probe(&toolchain("echo toy 1", Some("ls -d /no/such/toy"))).expect_err("missing");
        assert_eq!(error, "Toy is not on this machine");
    }

    #[test]
    fn an_unreadable_version_says_what_was_printed() {
        let error = probe(&toolchain("echo play", None)).expect_err("unreadable");
        assert!(error.contains("play") && error.contains("Toy"), "{error}");
    }

    #[test]
    fn a_located_toolchain_is_probed_where_it_is() {
        let found = probe(&toolchain("echo toy $TOY", Some("printf '4\\n5\\n'"))).expect("there");
        assert_eq!(found.version, Version(vec![5]));
        assert_eq!(found.located, Some(("TOY".to_owned(), "5".to_owned())));
    }
}
