//! `cargo xtask versions`: the pins of services and their toolchains that are older than what the registries list.
//!
//! It only reports: registries change every day and are not always reachable, so neither is a failure.

mod pins;
mod registry;

use crate::root;
use anyhow::{Context as _, Result};
use pins::Pin;
use registry::Registry;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// Print the pins of services and toolchains that lag behind their registries; a lag is not a failure
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only the pins of these services
    #[arg(value_name = "SERVICE")]
    services: Vec<String>,
}

/// The unusable versions by package, with the reason.
const HELD: &str = include_str!("held.toml");

/// A version that is listed and cannot be used.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct UnusableVersion {
    /// The newest version that was tried.
    newest: String,
    why: String,
}

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let held: BTreeMap<String, UnusableVersion> = toml::from_str(HELD).context("held.toml")?;
    let mut pins = pins::read(&root())?;
    if !arguments.services.is_empty() {
        pins.retain(|pin| arguments.services.contains(&pin.place));
    }
    let mut report = Report::default();
    for registry in Registry::ALL {
        let of_registry: Vec<&Pin> = pins.iter().filter(|pin| pin.registry == registry).collect();
        let packages: BTreeSet<&str> = of_registry.iter().map(|pin| pin.package.as_str()).collect();
        let newest = registry.newest(&packages);
        for pin in of_registry {
            match &newest[pin.package.as_str()] {
                Ok(newest) => report.add(pin, newest, held.get(&pin.package)),
                Err(reason) => report.add_unknown(registry, &pin.package, reason),
            }
        }
    }
    report.print();
    Ok(true)
}

/// The result, by lines.
#[derive(Debug, Default)]
struct Report {
    current: usize,
    lagging: BTreeSet<String>,
    held: BTreeSet<String>,
    unknown: BTreeSet<String>,
}

impl Report {
    fn add(&mut self, pin: &Pin, newest: &str, held: Option<&UnusableVersion>) {
        if !is_newer(newest, &pin.version) {
            self.current += 1;
            return;
        }
        let Pin {
            package,
            version,
            place,
            ..
        } = pin;
        let line = format!("{package} {version} -> {newest} ({place})");
        match held {
            Some(held) if !is_newer(newest, &held.newest) => {
                self.held.insert(format!("{line}: {}", held.why));
            }
            _ => {
                self.lagging.insert(line);
            }
        }
    }

    fn add_unknown(&mut self, registry: Registry, package: &str, reason: &str) {
        self.unknown.insert(format!("{registry} {package}: {reason}"));
    }

    fn print(&self) {
        let groups = [
            ("lags", &self.lagging),
            ("held back", &self.held),
            ("unknown", &self.unknown),
        ];
        for (title, lines) in groups {
            for line in lines {
                println!("{title}: {line}");
            }
        }
        println!(
            "{} pins are the newest, {} lag, {} are held back, {} are unknown",
            self.current,
            self.lagging.len(),
            self.held.len(),
            self.unknown.len()
        );
    }
}

/// Whether a version is newer than another, by their numbers: `4.10.2.Final` is newer than `4.9`.
fn is_newer(one: &str, other: &str) -> bool {
    let numbers = |version: &str| -> Vec<u64> {
        version
            .split(|character: char| !character.is_ascii_digit())
            .filter_map(|number| number.parse().ok())
            .collect()
    };
    numbers(one) > numbers(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(version: &str, newest: &str, held: Option<&str>) -> Report {
        let pin = Pin {
            registry: Registry::Npm,
            package: "koa".to_owned(),
            version: version.to_owned(),
            place: "node-koa".to_owned(),
        };
        let held = held.map(|newest| UnusableVersion {
            newest: newest.to_owned(),
            why: "it has no types".to_owned(),
        });
        let mut report = Report::default();
        report.add(&pin, newest, held.as_ref());
        report
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(is_newer("4.10.0", "4.9.3"));
        assert!(is_newer("4.2.20.Final", "4.2.18.Final"));
        assert!(!is_newer("5.0.0", "5.0.0"));
        assert!(!is_newer("1.2", "1.10"));
    }

    #[test]
    fn a_pin_lags_or_is_held_back_until_something_newer_is_listed() {
        assert_eq!(report("3.3.0", "3.3.0", None).current, 1);
        let lagging = report("3.3.0", "3.4.0", None);
        assert!(lagging.lagging.contains("koa 3.3.0 -> 3.4.0 (node-koa)"));
        let held = report("3.3.0", "3.4.0", Some("3.4.0"));
        assert!(
            held.held
                .contains("koa 3.3.0 -> 3.4.0 (node-koa): it has no types")
        );
        let newer = report("3.3.0", "3.5.0", Some("3.4.0"));
        assert_eq!(newer.lagging.len(), 1);
    }

    #[test]
    fn every_version_that_is_held_back_is_pinned_somewhere() {
        let held: BTreeMap<String, UnusableVersion> = toml::from_str(HELD).expect("valid");
        let pins = pins::read(&root()).expect("readable manifests");
        for package in held.keys() {
            assert!(
                pins.iter().any(|pin| pin.package == *package),
                "{package} is in held.toml, and no service pins it"
            );
        }
    }
}
