//! What a result depends on, as a record of named parts.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A part of what decides a result. Each use of a [`Fingerprint`] lists the parts that must be equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The files that are built, with those that are copied and the scripts that services share.
    Source,
    /// The commands or the image file that build it, and the toolchains that they ask for.
    Recipe,
    /// The tools that build and run it. Where only pinned ones count, those whose version the project chooses.
    Tools,
    /// Architecture, C library and the absolute path of the build.
    Platform,
    /// How it is started: command, variables, protocols, time limits.
    Run,
    /// What builds and services inherit from the environment.
    Environment,
    /// The backing services.
    Backing,
    /// What is asked of it: contract, workload and load, as values.
    Contract,
    /// The prony that measures.
    Prony,
}

impl Part {
    /// The parts that decide whether a variant passes its check and its load. What differs from machine to machine
    /// and the prony that looks are no part of it.
    pub const LEDGER: &[Self] = &[Self::Source, Self::Recipe, Self::Tools, Self::Run, Self::Contract];

    /// Its name, as files and messages have it.
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

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// What a result depends on: a digest for each part that is known. Values that are chosen anew for every start, such as ports,
/// credentials and temporary paths, are in none of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint {
    parts: BTreeMap<Part, String>,
}

impl Fingerprint {
    /// The digest of a part; `None` where it is not known.
    pub fn part(&self, part: Part) -> Option<&str> {
        self.parts.get(&part).map(String::as_str)
    }

    /// The same with this part.
    #[must_use]
    pub fn with(mut self, part: Part, digest: impl Into<String>) -> Self {
        self.parts.insert(part, digest.into());
        self
    }

    /// Those of these parts that differ. A part that one side does not know differs, because nothing shows that it is equal.
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
