//! The inputs that a result depends on, as digests of named parts.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A group of inputs that determine a result. Each use of a [`Fingerprint`] lists the parts that must be equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The source files, the files that are copied, and the scripts that services share.
    Source,
    /// The build commands or image file, and the toolchains they require.
    Recipe,
    /// The tools that build and run it, and the environment variables that configure them. The ledger has only those whose
    /// version the project pins.
    Tools,
    /// Architecture, C library and the absolute path of the build.
    Platform,
    /// How it is started: command, environment variables, protocols, timeouts.
    Run,
    /// The environment variables that services inherit.
    Environment,
    /// The backing services and their settings.
    Backing,
    /// The requests it receives: contract, workload and load, as values.
    Contract,
    /// The prony that measures.
    Prony,
}

impl Part {
    /// All parts.
    pub const ALL: &[Self] = &[
        Self::Source,
        Self::Recipe,
        Self::Tools,
        Self::Platform,
        Self::Run,
        Self::Environment,
        Self::Backing,
        Self::Contract,
        Self::Prony,
    ];

    /// The parts that decide what a build contains.
    pub const BUILD: &[Self] = &[Self::Source, Self::Recipe, Self::Tools, Self::Platform];

    /// The parts that must be equal for two runs to be compared. Sources may differ: they are what is compared. What else the
    /// platform says, and the version of prony, are conditions of a run.
    pub const COMPARISON: &[Self] = &[
        Self::Recipe,
        Self::Tools,
        Self::Run,
        Self::Environment,
        Self::Backing,
        Self::Contract,
    ];

    /// The parts that decide whether a variant passes its check and its load. Parts that differ from machine to machine, and
    /// prony itself, are left out.
    pub const LEDGER: &[Self] = &[Self::Source, Self::Recipe, Self::Tools, Self::Run, Self::Contract];

    /// The parts that the files of a revision determine. Those of backing services are left out: all revisions use the current ones.
    pub const DEFINITION: &[Self] = Self::LEDGER;

    /// The name of the part in files and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Recipe => "recipe",
            Self::Tools => "tools",
            Self::Platform => "platform",
            Self::Run => "run",
            Self::Environment => "environment",
            Self::Backing => "backing",
            Self::Contract => "contract",
            Self::Prony => "prony",
        }
    }
}

impl Part {
    /// What it is of a service, for messages.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Source => "source files",
            Self::Recipe => "build commands",
            Self::Tools => "tools",
            Self::Platform => "platform and place of the build",
            Self::Run => "start command and its settings",
            Self::Environment => "environment variables",
            Self::Backing => "backing services",
            Self::Contract => "contract and load",
            Self::Prony => "program of prony",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The inputs that a result depends on: one digest per known part. Values that change with every start, such as ports,
/// credentials and temporary paths, are not included.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint {
    parts: BTreeMap<Part, String>,
}

impl Fingerprint {
    /// The digest of a part; `None` if unknown.
    pub fn part(&self, part: Part) -> Option<&str> {
        self.parts.get(&part).map(String::as_str)
    }

    /// The digests of those of these parts that are known.
    pub fn parts(&self, parts: &[Part]) -> impl Iterator<Item = (Part, &str)> {
        parts.iter().filter_map(|part| Some((*part, self.part(*part)?)))
    }

    /// Sets the digest of a part.
    #[must_use]
    pub fn with(mut self, part: Part, digest: impl Into<String>) -> Self {
        self.parts.insert(part, digest.into());
        self
    }

    /// The parts of `parts` that differ. A part that one side does not know counts as different, since nothing shows that it is
    /// equal.
    pub fn differences(&self, other: &Self, parts: &[Part]) -> Vec<Part> {
        let differs = |part: &Part| {
            let (ours, theirs) = (self.part(*part), other.part(*part));
            ours.is_none() || ours != theirs
        };
        parts.iter().copied().filter(differs).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(parts: &[(Part, &str)]) -> Fingerprint {
        parts.iter().fold(Fingerprint::default(), |all, &(part, digest)| {
            all.with(part, digest)
        })
    }

    #[test]
    fn parts_that_differ_are_named_and_only_those_that_are_asked_for() {
        let ours = of(&[(Part::Source, "a"), (Part::Run, "b"), (Part::Prony, "1")]);
        let theirs = of(&[(Part::Source, "a"), (Part::Run, "c"), (Part::Prony, "2")]);
        assert_eq!(ours.differences(&theirs, &[Part::Source, Part::Run]), [Part::Run]);
        assert!(ours.differences(&theirs, &[Part::Source]).is_empty());
    }

    #[test]
    fn a_part_that_is_not_known_is_not_equal() {
        let (ours, theirs) = (of(&[(Part::Source, "a")]), of(&[]));
        assert_eq!(ours.differences(&theirs, &[Part::Source]), [Part::Source]);
        assert_eq!(theirs.differences(&ours, &[Part::Source]), [Part::Source]);
        assert_eq!(theirs.differences(&theirs, &[Part::Source]), [Part::Source]);
    }

    #[test]
    fn it_is_written_as_names_and_digests() {
        let text =
            serde_json::to_string(&of(&[(Part::Recipe, "f00"), (Part::Source, "ba4")])).expect("plain data");
        assert_eq!(text, r#"{"source":"ba4","recipe":"f00"}"#);
        let all = serde_json::to_value(Part::LEDGER).expect("plain data");
        let names: Vec<&str> = Part::LEDGER.iter().map(|part| part.name()).collect();
        assert_eq!(all, serde_json::json!(names));
    }
}
