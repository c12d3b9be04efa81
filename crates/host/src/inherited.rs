//! The variables of prony's own environment that other processes inherit. All others are withheld: they would change what is built
//! and measured without a trace, and a service must not read the secrets of the user who starts it.

use prony_records::CallerVariables;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;

/// Which process inherits what: names under headings, with comments.
const LISTS: &str = include_str!("inherited.txt");

/// The names under a heading of [`LISTS`].
fn listed(heading: &str) -> impl Iterator<Item = &'static str> {
    let lines = LISTS.lines().skip_while(move |line| {
        line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) != Some(heading)
    });
    let names = lines.skip(1).take_while(|line| !line.starts_with('['));
    names
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_whitespace)
}

/// Which variables a process inherits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InheritedVariables {
    /// Those with one of these names; `NAME*` means all that begin with `NAME`.
    Named(Vec<String>),
    /// All of them: for prony itself in another role.
    All,
}

impl Default for InheritedVariables {
    fn default() -> Self {
        Self::Named(Vec::new())
    }
}

impl InheritedVariables {
    /// Those of services and backing services, and those that the user passes to them by name.
    pub fn of_services(passed: &[String]) -> Self {
        Self::of(&["services.recorded", "services"], passed)
    }

    /// Those of builds and of probes of toolchains, and those that the user passes to them by name.
    pub fn of_builds(passed: &[String]) -> Self {
        Self::of(
            &["services.recorded", "services", "builds.tools", "builds"],
            passed,
        )
    }

    /// Those of builds that can change what is built.
    pub fn of_tools(passed: &[String]) -> Self {
        Self::of(&["services.recorded", "builds.tools"], passed)
    }

    fn of(headings: &[&'static str], passed: &[String]) -> Self {
        let names = headings
            .iter()
            .flat_map(|heading| listed(heading))
            .map(str::to_owned);
        Self::Named(names.chain(passed.iter().cloned()).collect())
    }

    /// Whether a variable is among them.
    pub fn contains(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.iter().any(|known| is_meant(known, name)),
        }
    }

    /// Those of this process's environment, sorted by name.
    pub fn values(&self) -> BTreeMap<OsString, OsString> {
        std::env::vars_os()
            .filter(|(name, _)| name.to_str().is_some_and(|name| self.contains(name)))
            .collect()
    }
}

/// Whether a name, or a beginning followed by `*`, means this variable.
fn is_meant(known: &str, name: &str) -> bool {
    match known.strip_suffix('*') {
        Some(begin) => name.starts_with(begin),
        None => name == known,
    }
}

/// What the environment of this process means for those that it starts.
pub(crate) fn record() -> CallerVariables {
    record_of(std::env::vars_os().filter_map(|(name, value)| {
        let value = value.to_string_lossy().into_owned();
        Some((name.into_string().ok()?, value))
    }))
}

fn record_of(variables: impl Iterator<Item = (String, String)>) -> CallerVariables {
    let mut record = CallerVariables::default();
    let (services, builds) = (
        InheritedVariables::of_services(&[]),
        InheritedVariables::of_builds(&[]),
    );
    for (name, value) in variables {
        let is_under = |heading| listed(heading).any(|known| is_meant(known, &name));
        if is_under("services.recorded") {
            record.values.insert(name.clone(), value);
        }
        if !services.contains(&name) && is_under("withheld") {
            record.withheld.insert(name.clone());
        }
        if builds.contains(&name) {
            record.inherited.insert(name);
        }
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_variables_and_those_with_a_named_beginning_are_inherited() {
        let named = InheritedVariables::Named(vec!["PATH".to_owned(), "CARGO_*".to_owned()]);
        let inherited = ["PATH", "CARGO_HOME", "PATHS", "CARGO", "HOME"].map(|name| named.contains(name));
        assert_eq!(inherited, [true, true, false, false, false]);
        assert!(InheritedVariables::All.contains("HOME"));
        assert!(!InheritedVariables::default().contains("PATH"));
    }

    #[test]
    fn every_list_has_names() {
        for heading in [
            "services.recorded",
            "services",
            "builds.tools",
            "builds",
            "withheld",
        ] {
            let names: Vec<&str> = listed(heading).collect();
            assert!(names.len() > 3, "{heading}: {names:?}");
            assert!(names.iter().all(|name| {
                name.bytes()
                    .all(|letter| letter.is_ascii_alphanumeric() || b"_*".contains(&letter))
            }));
        }
    }

    #[test]
    fn secrets_and_options_of_runtimes_are_inherited_by_nobody() {
        let (services, builds) = (
            InheritedVariables::of_services(&["MY_*".to_owned()]),
            InheritedVariables::of_builds(&[]),
        );
        for name in [
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "PRONY_API_KEY",
            "NODE_OPTIONS",
            "GITHUB_ENV",
        ] {
            assert!(!services.contains(name) && !builds.contains(name), "{name}");
        }
        assert!(services.contains("MY_SETTING") && services.contains("LC_ALL") && !services.contains("HOME"));
        assert!(builds.contains("HOME") && builds.contains("JAVA_HOME") && builds.contains("PATH"));
    }

    #[test]
    fn values_are_recorded_only_where_they_matter() {
        let variables = [
            ("LANG", "C.UTF-8"),
            ("PATH", "/home/me/bin"),
            ("HTTPS_PROXY", "http://me:secret@proxy"),
            ("NODE_OPTIONS", "--jitless"),
            ("GITHUB_TOKEN", "secret"),
        ];
        let record = record_of(
            variables
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into_iter(),
        );
        assert_eq!(
            record.values,
            BTreeMap::from([("LANG".to_owned(), "C.UTF-8".to_owned())])
        );
        assert!(record.inherited.iter().eq(["HTTPS_PROXY", "LANG", "PATH"]));
        assert!(record.withheld.iter().eq(["NODE_OPTIONS"]));
    }
}
