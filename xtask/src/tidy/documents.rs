//! Rules for documents and configuration: links, names of tests, and no paths of a single machine.

use super::repository::{Repository, has_extension};
use std::collections::BTreeSet;

/// Links between documents lead to files that exist.
pub(crate) fn links_lead_somewhere(repository: &Repository) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, content) in repository.files().filter(|(path, _)| has_extension(path, "md")) {
        let file = repository.root.join(path);
        let folder = file.parent().unwrap_or(&repository.root);
        let targets = content.split("](").skip(1);
        for target in targets.filter_map(|rest| rest.split(')').next()) {
            let file = target.split(['#', ' ']).next().unwrap_or_default();
            let outside = file.is_empty() || file.contains("://") || file.starts_with("mailto:");
            if !outside && !folder.join(file).exists() {
                faults.push(format!("{path}: the link to `{target}` is dead"));
            }
        }
    }
    faults
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
    use super::{links_lead_somewhere, named_tests_exist, services_are_complete};
    use crate::tidy::repository::Repository;

    #[test]
    fn a_dead_link_is_reported_and_one_to_the_web_is_not() {
        let repository = Repository::of(&[("no/such/README.md", "[a](missing.md) [b](https://example.org)")]);
        let faults = links_lead_somewhere(&repository);
        assert_eq!(faults, ["no/such/README.md: the link to `missing.md` is dead"]);
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
