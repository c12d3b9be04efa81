//! The C library of a machine, to which the programs that are built on it are linked.

use crate::Failure;
use prony_records::TrialStage;
use std::fmt;
use std::sync::OnceLock;

/// Prints the C library of a machine and its PATH, one per line.
pub(super) const QUESTION: &str = "library=$(getconf GNU_LIBC_VERSION 2>/dev/null) || library=$(ldd --version 2>&1 | head -n 2 | tr '\\n' ' ')
echo \"library $library\"
echo \"path $PATH\"";
/// The C library and PATH of a machine.
#[derive(Clone)]
pub(super) struct Machine {
    pub(super) library: CLibrary,
    pub(super) path: String,
}

impl Machine {
    /// This machine.
    pub(super) fn here() -> Result<Self, Failure> {
        let answer = std::process::Command::new("sh").args(["-c", QUESTION]).output();
        let answer = answer.map_err(|error| {
            Failure::infrastructure(
                TrialStage::Build,
                format!("cannot find out the C library of this machine: {error}"),
            )
        })?;
        let printed = String::from_utf8_lossy(&answer.stdout).into_owned();
        Ok(Self::of(printed.lines()))
    }

    pub(super) fn of<'a>(lines: impl Iterator<Item = &'a str>) -> Self {
        let (mut library, mut path) = ("", "");
        for line in lines {
            match line.split_once(' ') {
                Some(("library", said)) => library = said.trim(),
                Some(("path", said)) => path = said,
                _ => {}
            }
        }
        Self {
            library: CLibrary::of(library),
            path: path.to_owned(),
        }
    }
}

/// The C library of this machine in words; empty if it is unknown.
pub(super) fn of_this_machine() -> String {
    static FOUND: OnceLock<String> = OnceLock::new();
    let find = || Machine::here().map_or_else(|_| String::new(), |here| here.library.to_string());
    FOUND.get_or_init(find).clone()
}

/// A C library, as reported by its machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CLibrary {
    /// `glibc`, `musl`.
    name: String,
    /// The numbers of its version; empty if it does not report one.
    version: Vec<u32>,
}

impl CLibrary {
    /// Parses `glibc 2.36` or the output of `ldd --version` of another library.
    pub(super) fn of(said: &str) -> Self {
        let mut words = said.split_whitespace();
        let name = words.next().unwrap_or("an unknown C library");
        let numbers = |word: &str| {
            let numbers: Result<Vec<u32>, _> = word.split('.').map(str::parse).collect();
            numbers.ok().filter(|numbers| numbers.len() > 1)
        };
        Self {
            name: name.to_owned(),
            version: words.find_map(numbers).unwrap_or_default(),
        }
    }

    /// Whether programs that are linked to this library run with `other`: it must be the same library, at least in this
    /// version.
    pub(super) fn runs_on(&self, other: &Self) -> bool {
        self.name == other.name && self.version <= other.version
    }
}

impl fmt::Display for CLibrary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.version.iter().map(ToString::to_string).collect();
        let text = format!("{} {}", self.name, numbers.join("."));
        formatter.write_str(text.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_runs_with_the_same_or_a_newer_library() {
        let old = CLibrary::of("glibc 2.9");
        let new = CLibrary::of("glibc 2.36");
        let musl = CLibrary::of("musl libc (x86_64) Version 1.2.3 ");
        assert_eq!(
            [old.to_string(), new.to_string(), musl.to_string()],
            ["glibc 2.9", "glibc 2.36", "musl 1.2.3"]
        );
        assert!(old.runs_on(&new) && new.runs_on(&new) && musl.runs_on(&musl));
        assert!(!new.runs_on(&old) && !old.runs_on(&musl) && !musl.runs_on(&new));
        assert!(!new.runs_on(&CLibrary::of("")));
    }
}
