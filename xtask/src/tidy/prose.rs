//! Rules for words: banned phrases in comments, help, messages and documents, banned names of types, and words of the glossary.

use super::repository::{Repository, has_extension};
use super::source::{code_of, prose_of};
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// A banned pattern, and its replacement.
struct BannedPhrase {
    pattern: Regex,
    instead: String,
}

#[derive(Deserialize)]
struct Lists {
    /// Names that a type must not have.
    type_names: BTreeSet<String>,
    phrases: BTreeMap<String, String>,
    words: BTreeMap<String, String>,
}

fn lists() -> Lists {
    toml::from_str(include_str!("phrases.toml")).expect("invariant: the list of phrases is TOML")
}

fn bans(list: &BTreeMap<String, String>) -> Vec<BannedPhrase> {
    list.iter()
        .map(|(pattern, instead)| BannedPhrase {
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
    let quoted_word = Regex::new(r#""[A-Za-z]+""#).expect("invariant: it is a regular expression");
    let mut faults = Vec::new();
    for (path, text) in repository.files().filter(|(path, _)| is_ours(path)) {
        // A quoted word is a value, such as the name of a user.
        let text = quoted_word.replace_all(text, "\"\"");
        let prose = if has_extension(path, "rs") || has_extension(path, "ts") || has_extension(path, "tsx") {
            prose_of(&text)
        } else {
            text.into_owned()
        };
        faults.extend(faults_in(path, &prose, &bans));
    }
    faults
}

/// The name of a type says what the type holds.
pub(crate) fn type_names_are_not_banned(repository: &Repository) -> Vec<String> {
    let banned = lists().type_names;
    let declaration =
        Regex::new(r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:unsafe\s+)?(?:struct|enum|union|trait|type)\s+(\w+)")
            .expect("invariant: it is a regular expression");
    let mut faults = Vec::new();
    for (path, text) in repository.files().filter(|(path, _)| has_checked_types(path)) {
        for (number, line) in code_of(text).lines().enumerate() {
            let name = declaration.captures(line).map(|found| found[1].to_owned());
            if let Some(name) = name.filter(|name| banned.contains(name)) {
                faults.push(format!(
                    "{path}:{}: `{name}`: use a noun that says what the type holds",
                    number + 1
                ));
            }
        }
    }
    faults
}

fn has_checked_types(path: &str) -> bool {
    let folders = ["crates/", "xtask/", "reference/", "fuzz/", "tests/"];
    has_extension(path, "rs") && folders.iter().any(|folder| path.starts_with(folder))
}

/// User-visible texts use the words of the glossary. Quotations of other tools are in backticks.
pub(crate) fn words_are_the_glossarys(repository: &Repository) -> Vec<String> {
    let bans = bans(&lists().words);
    // Options of other tools keep their names.
    let option = Regex::new("--[a-z][a-z-]*").expect("invariant: it is a regular expression");
    let mut faults = Vec::new();
    for (path, text) in repository.files() {
        let is_read =
            has_extension(path, "md") || (path.starts_with("crates/cli/src") && has_extension(path, "rs"));
        if is_read && path != "docs/GLOSSARY.md" {
            let text = option.replace_all(text, "");
            let unquoted: Vec<String> = text
                .lines()
                .map(|line| line.split('`').step_by(2).collect::<Vec<_>>().join(" "))
                .collect();
            faults.extend(faults_in(path, &unquoted.join("\n"), &bans));
        }
    }
    faults
}

fn faults_in(path: &str, prose: &str, bans: &[BannedPhrase]) -> Vec<String> {
    // Concatenated, so that this file does not contain the phrase.
    let unix_account = ["\"no", "body\""].concat();
    let mut faults = Vec::new();
    for (number, line) in prose.lines().enumerate() {
        let line = line.replace(&unix_account, "");
        for ban in bans {
            if let Some(found) = ban.pattern.find(&line) {
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

/// Files that are written by hand. Reports of results and fixtures quote earlier versions; templates quote generated text; the rules quote what
/// they ban.
fn is_ours(path: &str) -> bool {
    const OURS: &[&str] = &[
        "rs", "md", "ts", "tsx", "css", "py", "sh", "toml", "yml", "go", "java", "kt", "js", "mjs", "rb",
        "php", "c", "h", "hpp", "cs", "ex", "exs", "erl", "hs", "fs", "scala", "clj", "cpp", "proto", "sql",
        "yaml",
    ];
    let is_text = OURS.iter().any(|extension| has_extension(path, extension))
        || path.starts_with("scripts/")
        || path == "Makefile";
    // A service whose source changes is verified again, so its comments are rewritten together with its code.
    let is_result = path.starts_with("results/") && !path.ends_with("README.md");
    let is_quotation = is_result
        || path.starts_with("services/")
        || path.contains("/fixtures/")
        || path.contains("/templates/")
        || path.starts_with("xtask/src/tidy/");
    is_text && !is_quotation
}

#[cfg(test)]
mod tests {
    use super::{phrases_are_not_banned, type_names_are_not_banned, words_are_the_glossarys};
    use crate::tidy::repository::Repository;

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
    fn a_quoted_word_is_a_value_and_no_phrase() {
        let repository = Repository::of(&[("backing-services/a/backing.toml", "user = [\"nobody\"]\n")]);
        assert!(phrases_are_not_banned(&repository).is_empty());
    }

    #[test]
    fn a_banned_type_name_is_reported_with_its_line() {
        let source = "// struct Seen;\nstruct SeenRequests;\nstruct Window {\n    seen: u8,\n}\n\n    pub(crate) enum Seen {\n";
        let repository = Repository::of(&[
            ("crates/load/src/lib.rs", source),
            ("services/a/main.rs", "struct Seen;"),
        ]);
        assert_eq!(
            type_names_are_not_banned(&repository),
            ["crates/load/src/lib.rs:7: `Seen`: use a noun that says what the type holds"]
        );
    }

    #[test]
    fn text_in_backticks_may_use_other_words() {
        let repository = Repository::of(&[("docs/A.md", "k6 says `scenario`.\nOur scenario.\n")]);
        assert_eq!(
            words_are_the_glossarys(&repository),
            ["docs/A.md:2: `scenario`: write workload"]
        );
    }
}
