//! Rules for what people read: banned phrases in comments, help, messages and documents, and banned names of types.

use super::repository::{Repository, has_extension};
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use std::collections::BTreeMap;

/// What a line must not have, and what to write in its place.
struct Ban {
    pattern: Regex,
    instead: String,
}

#[derive(Deserialize)]
struct Lists {
    phrases: BTreeMap<String, String>,
    words: BTreeMap<String, String>,
}

fn lists() -> Lists {
    toml::from_str(include_str!("phrases.toml")).expect("invariant: the list of phrases is TOML")
}

fn bans(list: &BTreeMap<String, String>) -> Vec<Ban> {
    list.iter()
        .map(|(pattern, instead)| Ban {
            pattern: RegexBuilder::new(&format!(r"\b(?:{pattern})\b"))
                .case_insensitive(true)
                .build()
                .expect("invariant: a banned phrase is a regular expression"),
            instead: instead.clone(),
        })
        .collect()
}

/// No banned phrase in comments, messages, help and documents.
pub(crate) fn phrases_are_not_banned(repository: &Repository) -> Vec<String> {
    let bans = bans(&lists().phrases);
    let mut faults = Vec::new();
    for (path, text) in repository.files().filter(|(path, _)| is_ours(path)) {
        let prose = if has_extension(path, "rs") || has_extension(path, "ts") || has_extension(path, "tsx") {
            prose_of(text)
        } else {
            text.to_owned()
        };
        faults.extend(faults_in(path, &prose, &bans));
    }
    faults
}

/// In what users read, the words of the glossary. Quotations of other tools go in backticks.
pub(crate) fn words_are_the_glossarys(repository: &Repository) -> Vec<String> {
    let bans = bans(&lists().words);
    let mut faults = Vec::new();
    for (path, text) in repository.files() {
        let is_read =
            has_extension(path, "md") || (path.starts_with("crates/cli/src") && has_extension(path, "rs"));
        if is_read && path != "docs/GLOSSARY.md" {
            let unquoted: Vec<String> = text
                .lines()
                .map(|line| line.split('`').step_by(2).collect::<Vec<_>>().join(" "))
                .collect();
            faults.extend(faults_in(path, &unquoted.join("\n"), &bans));
        }
    }
    faults
}

fn faults_in(path: &str, prose: &str, bans: &[Ban]) -> Vec<String> {
    let mut faults = Vec::new();
    for (number, line) in prose.lines().enumerate() {
        for ban in bans {
            if let Some(found) = ban.pattern.find(line) {
                faults.push(format!(
                    "{path}:{}: `{}`: write {}",
                    number + 1,
                    found.as_str(),
                    ban.instead
                ));
            }
        }
    }
    faults
}

/// Files that we write by hand. Results and fixtures quote what earlier versions wrote; contracts quote what services send.
fn is_ours(path: &str) -> bool {
    const OURS: &[&str] = &[
        "rs", "md", "ts", "tsx", "css", "py", "sh", "toml", "yml", "go", "java", "kt", "js", "mjs", "rb",
        "php", "c", "h", "cs", "ex", "exs", "scala", "clj", "cpp", "proto", "sql",
    ];
    let is_text = OURS.iter().any(|extension| has_extension(path, extension))
        || path.starts_with("scripts/")
        || path == "Makefile";
    let quotes = path.starts_with("results/")
        || path.contains("/fixtures/")
        || path.contains("/templates/")
        || path == "xtask/src/tidy/phrases.toml";
    is_text && !quotes
}

/// The comments and string literals of a source, each on its own line of the result; the rest is blank.
fn prose_of(source: &str) -> String {
    let letters: Vec<char> = source.chars().collect();
    let mut prose = String::with_capacity(source.len());
    let mut state = State::Code;
    let mut at = 0;
    while at < letters.len() {
        let (next, length, keeps) = state.after(&letters, at);
        for letter in &letters[at..at + length] {
            prose.push(if keeps || *letter == '\n' { *letter } else { ' ' });
        }
        (state, at) = (next, at + length);
    }
    prose
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Code,
    LineComment,
    BlockComment,
    Text,
    /// A raw string, which ends with a quote and this number of `#`.
    RawText(usize),
}

impl State {
    /// The state after the next letters, how many of them there are, and whether they are prose.
    fn after(self, letters: &[char], at: usize) -> (Self, usize, bool) {
        let begins = |text: &str| text.chars().eq(letters[at..].iter().copied().take(text.len()));
        match self {
            Self::Code if begins("//") => (Self::LineComment, 2, false),
            Self::Code if begins("/*") => (Self::BlockComment, 2, false),
            Self::Code if begins("'\"'") => (Self::Code, 3, false),
            Self::Code if begins("r#") => {
                let hashes = letters[at + 1..]
                    .iter()
                    .take_while(|letter| **letter == '#')
                    .count();
                match letters.get(at + 1 + hashes) {
                    Some('"') => (Self::RawText(hashes), hashes + 2, false),
                    _ => (Self::Code, 1, false),
                }
            }
            Self::Code if begins("\"") => (Self::Text, 1, false),
            Self::Code => (Self::Code, 1, false),
            Self::LineComment if begins("\n") => (Self::Code, 1, false),
            Self::BlockComment if begins("*/") => (Self::Code, 2, false),
            Self::Text if begins("\\") => (Self::Text, 2.min(letters.len() - at), false),
            Self::Text if begins("\"") => (Self::Code, 1, false),
            Self::RawText(hashes) if begins(&format!("\"{}", "#".repeat(hashes))) => {
                (Self::Code, hashes + 1, false)
            }
            state => (state, 1, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{phrases_are_not_banned, prose_of, words_are_the_glossarys};
    use crate::tidy::repository::Repository;

    #[test]
    fn comments_and_texts_are_prose_and_code_is_not() {
        let source =
            "let nobody = '\"'; // nobody\n/* whoever */ fn beside() { say(\"so \\\"many\\\" so many\"); }\n";
        let prose = prose_of(source);
        let words: Vec<&str> = prose.split_whitespace().collect();
        assert_eq!(words, ["nobody", "whoever", "so", "many", "so", "many"]);
    }

    #[test]
    fn a_banned_phrase_is_reported_with_its_line_and_what_to_write() {
        let repository = Repository::of(&[(
            "crates/load/src/lib.rs",
            "//! A load.\n\n// Nobody waits.\nfn nobody() {}\n",
        )]);
        assert_eq!(
            phrases_are_not_banned(&repository),
            ["crates/load/src/lib.rs:3: `Nobody`: write no …, or the passive"]
        );
    }

    #[test]
    fn what_others_say_is_quoted() {
        let repository = Repository::of(&[("docs/A.md", "k6 says `scenario`.\nOur scenario.\n")]);
        assert_eq!(
            words_are_the_glossarys(&repository),
            ["docs/A.md:2: `scenario`: write workload"]
        );
    }
}
