//! Rules for documents and configuration: links, names of tests, and no paths of a single machine.

use super::repository::{Repository, has_extension};
use regex::Regex;
use std::collections::BTreeSet;

/// Links between documents lead to files and headings that exist.
pub(crate) fn links_lead_somewhere(repository: &Repository) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, content) in repository.files().filter(|(path, _)| has_extension(path, "md")) {
        let targets = content.split("](").skip(1);
        for target in targets.filter_map(|rest| rest.split([')', ' ']).next()) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let page = target_of(path, file);
            let exists = repository.exists(&page) || repository.root.join(&page).exists();
            let is_heading = || anchors(repository.text(&page)).contains(anchor);
            let leads_to_heading = anchor.is_empty() || !has_extension(&page, "md") || is_heading();
            if !exists || !leads_to_heading {
                faults.push(format!("{path}: the link to `{target}` is dead"));
            }
        }
    }
    faults
}

/// The path from the root of the file that a page links to.
fn target_of(page: &str, link: &str) -> String {
    if link.is_empty() {
        return page.to_owned();
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// The anchors of a page's headings: lower case, without punctuation, with hyphens for spaces. A repeated one gets a number.
fn anchors(page: &str) -> BTreeSet<String> {
    // Of a link, only its text is part of the heading.
    let link = Regex::new(r"\]\([^)]*\)").expect("invariant: it is a regular expression");
    let mut anchors = BTreeSet::new();
    let mut is_code = false;
    for line in page.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let heading = line.trim_start_matches('#');
        if is_code || !line.starts_with('#') || !heading.starts_with(' ') {
            continue;
        }
        let heading = link.replace_all(heading.trim(), "").to_lowercase();
        let letters = heading.chars().filter_map(|letter| match letter {
            ' ' => Some('-'),
            letter if letter.is_alphanumeric() || letter == '-' || letter == '_' => Some(letter),
            _ => None,
        });
        let anchor: String = letters.collect();
        let numbers = (1..).map(|number| format!("{anchor}-{number}"));
        let mut names = std::iter::once(anchor.clone()).chain(numbers);
        let free = names.find(|name| !anchors.contains(name));
        anchors.extend(free);
    }
    anchors
}

/// Tests that the configuration of the runner and SECURITY.md name exist.
pub(crate) fn named_tests_exist(repository: &Repository) -> Vec<String> {
    let mut faults = Vec::new();
    for file in [".config/nextest.toml", "SECURITY.md"] {
        let document = repository.text(file);
        let words = document.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
        // Names of tests are sentences: a word with three underscores is one.
        let names: BTreeSet<&str> = words.filter(|word| word.matches('_').count() >= 3).collect();
        if names.len() < 10 {
            faults.push(format!("{file}: only {} names of tests found", names.len()));
        }
        let exists = |name: &&str| {
            let test = format!("fn {name}(");
            repository
                .files()
                .any(|(path, source)| has_extension(path, "rs") && source.contains(&test))
        };
        let missing = names.into_iter().filter(|name| !exists(name));
        faults.extend(missing.map(|name| format!("{file}: no test `{name}`")));
    }
    faults
}

/// No file contains a folder or a mirror of the machine on which it was written.
pub(crate) fn nothing_names_one_machine(repository: &Repository) -> Vec<String> {
    // Concatenated, so that this file does not contain the forbidden texts.
    let forbidden = [
        ["/wo", "rk/"].concat(),
        ["/ro", "ot/"].concat(),
        ["registry.np", "mjs.org"].concat(),
        ["static.crat", "es.io"].concat(),
        ["proxy.gol", "ang.org"].concat(),
        ["files.pytho", "nhosted.org"].concat(),
        ["repo1.ma", "ven"].concat(),
        ["repo.ma", "ven.apache"].concat(),
    ];
    let mut faults = Vec::new();
    for (path, content) in repository.files() {
        for (number, line) in content.lines().enumerate() {
            if let Some(found) = forbidden.iter().find(|part| line.contains(part.as_str())) {
                faults.push(format!("{path}:{}: `{found}`", number + 1));
            }
        }
    }
    faults
}

/// Each folder of `services/` describes a service.
pub(crate) fn services_are_complete(repository: &Repository) -> Vec<String> {
    let folders: BTreeSet<&str> = repository
        .files()
        .filter_map(|(path, _)| path.strip_prefix("services/")?.split_once('/'))
        // The ledger of verified services.
        .filter(|(folder, _)| *folder != "verified")
        .map(|(folder, _)| folder)
        .collect();
    folders
        .into_iter()
        .filter(|folder| !repository.exists(&format!("services/{folder}/service.toml")))
        .map(|folder| format!("services/{folder}: no service.toml"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{anchors, links_lead_somewhere, named_tests_exist, services_are_complete};
    use crate::tidy::repository::Repository;

    #[test]
    fn a_dead_link_is_reported_and_one_to_the_web_is_not() {
        let repository = Repository::of(&[("no/such/README.md", "[a](missing.md) [b](https://example.org)")]);
        let faults = links_lead_somewhere(&repository);
        assert_eq!(faults, ["no/such/README.md: the link to `missing.md` is dead"]);
    }

    #[test]
    fn a_link_to_a_heading_that_does_not_exist_is_reported() {
        let page =
            "# A page\n\n```sh\n# no heading\n```\n\n## `x` and [y](A.md), twice\n\n## Two\n\n## Two\n";
        let links = "[a](#links) [b](../docs/A.md#x-and-y-twice) [c](../docs/A.md#two-1) [d](../docs/A.md#no-heading)\n\n# Links\n";
        assert_eq!(
            Vec::from_iter(anchors(page)),
            ["a-page", "two", "two-1", "x-and-y-twice"]
        );
        let repository = Repository::of(&[("docs/A.md", page), ("no/B.md", links)]);
        assert_eq!(
            links_lead_somewhere(&repository),
            ["no/B.md: the link to `../docs/A.md#no-heading` is dead"]
        );
    }

    #[test]
    fn a_named_test_that_does_not_exist_is_reported() {
        let names: Vec<String> = (0..12).map(|number| format!("a_b_c_d{number}")).collect();
        let source: Vec<String> = names[1..]
            .iter()
            .map(|name| format!("fn {name}() {{}}"))
            .collect();
        let (all, known, source) = (names.join(" "), names[1..].join(" "), source.join("\n"));
        let faults = |config: &str, security: &str| {
            let files = [
                (".config/nextest.toml", config),
                ("SECURITY.md", security),
                ("tests/a.rs", &source),
            ];
            named_tests_exist(&Repository::of(&files))
        };
        assert_eq!(faults(&all, &known), [".config/nextest.toml: no test `a_b_c_d0`"]);
        assert_eq!(faults(&known, &all), ["SECURITY.md: no test `a_b_c_d0`"]);
        assert_eq!(faults(&known, ""), ["SECURITY.md: only 0 names of tests found"]);
    }

    #[test]
    fn a_folder_without_its_description_is_reported() {
        let repository = Repository::of(&[("services/go/main.go", ""), ("services/verified/a.toml", "")]);
        assert_eq!(
            services_are_complete(&repository),
            ["services/go: no service.toml"]
        );
    }
}
