//! Selects the variants to verify in a run, and estimates the time.

use super::ledger::{Ledger, Parts};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

/// A variant of a service.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    pub(super) service: String,
    pub(super) variant: String,
}

impl Id {
    pub(super) fn new(service: &str, variant: &str) -> Self {
        Self {
            service: service.to_owned(),
            variant: variant.to_owned(),
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.service, self.variant)
    }
}

/// A variant in the checkout.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Variant {
    service: String,
    #[serde(rename = "variant")]
    name: String,
    /// Why it may be impossible to build it.
    pub(super) unavailable_hint: Option<String>,
    /// The number of its loads in the smoke suite.
    pub(super) trials: usize,
    /// The digests of everything that decides its result.
    pub(super) fingerprint: Parts,
}

impl Variant {
    pub(super) fn id(&self) -> Id {
        Id::new(&self.service, &self.name)
    }
}

/// Why a variant is verified: the first reason that applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SelectionReason {
    /// It was requested.
    Asked,
    /// It has no entry.
    New,
    /// These parts differ from its entry.
    Differs(Vec<String>),
    /// The change under test adds or edits its entry.
    Edited,
    /// It is in `quick`, which is verified every time.
    Quick,
    /// It is in the tenth of this commit.
    Turn,
}

impl fmt::Display for SelectionReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => formatter.write_str("requested"),
            Self::New => formatter.write_str("no entry"),
            Self::Differs(parts) => write!(formatter, "changed since it was verified: {}", parts.join(", ")),
            Self::Edited => formatter.write_str("its entry is new or edited"),
            Self::Quick => formatter.write_str("in quick"),
            Self::Turn => formatter.write_str("its turn"),
        }
    }
}

/// The selected variants, each with the reason.
pub(super) type SelectedVariants = BTreeMap<Id, SelectionReason>;

/// The inputs of the selection.
pub(super) struct SelectionInput<'a> {
    pub(super) variants: &'a [Variant],
    pub(super) ledger: &'a Ledger,
    /// Entries that the change under test adds or edits.
    pub(super) edited: &'a BTreeSet<Id>,
    /// Variants that are verified every time.
    pub(super) quick: &'a BTreeSet<Id>,
    /// The commit, which determines the tenth of the rest.
    pub(super) commit: &'a str,
}

impl SelectionInput<'_> {
    /// Why a variant has no valid entry; `None` if it has one.
    pub(super) fn invalid(&self, variant: &Variant) -> Option<SelectionReason> {
        let id = variant.id();
        let Some(entry) = self.ledger.entry(&id.service, &id.variant) else {
            return Some(SelectionReason::New);
        };
        let names: BTreeSet<&String> = entry.parts.keys().chain(variant.fingerprint.keys()).collect();
        let differ = names
            .into_iter()
            .filter(|&name| entry.parts.get(name) != variant.fingerprint.get(name));
        let differ: Vec<String> = differ.cloned().collect();
        (!differ.is_empty()).then_some(SelectionReason::Differs(differ))
    }

    /// The selection of `make test`: variants without a valid entry, with an entry that the change touches, that are verified every
    /// time, and a tenth of the rest.
    pub(super) fn of_change(&self) -> SelectedVariants {
        let mut selected = SelectedVariants::new();
        let mut rest: BTreeMap<String, Vec<Id>> = BTreeMap::new();
        for variant in self.variants {
            let id = variant.id();
            let why = self.invalid(variant);
            let why = why.or_else(|| self.edited.contains(&id).then_some(SelectionReason::Edited));
            let why = why.or_else(|| self.quick.contains(&id).then_some(SelectionReason::Quick));
            match why {
                Some(why) => {
                    selected.insert(id, why);
                }
                None => rest.entry(id.service.clone()).or_default().push(id),
            }
        }
        let services: Vec<&str> = rest.keys().map(String::as_str).collect();
        for service in tenth_of(self.commit, &services) {
            selected.extend(rest[service].iter().map(|id| (id.clone(), SelectionReason::Turn)));
        }
        selected
    }

    /// Whether it must be verified only because of the change.
    pub(super) fn is_change(&self, id: &Id, why: &SelectionReason) -> bool {
        matches!(
            why,
            SelectionReason::New | SelectionReason::Differs(_) | SelectionReason::Edited
        ) && !self.quick.contains(id)
    }

    /// Everything.
    pub(super) fn all(&self) -> SelectedVariants {
        self.variants
            .iter()
            .map(|variant| (variant.id(), SelectionReason::Asked))
            .collect()
    }

    /// Variants without a valid entry.
    pub(super) fn unverified(&self) -> SelectedVariants {
        let invalid = |variant: &Variant| Some((variant.id(), self.invalid(variant)?));
        self.variants.iter().filter_map(invalid).collect()
    }

    /// The variants with these names, services or variants; the error is an unknown name.
    pub(super) fn named(&self, names: &[String]) -> Result<SelectedVariants, String> {
        let mut selected = SelectedVariants::new();
        for name in names {
            let fits = |id: &Id| id.service == *name || id.to_string() == *name;
            let found = self.variants.iter().map(Variant::id).filter(fits);
            let found: SelectedVariants = found.map(|id| (id, SelectionReason::Asked)).collect();
            if found.is_empty() {
                return Err(format!("no service `{name}`: give its name, or NAME/VARIANT"));
            }
            selected.extend(found);
        }
        Ok(selected)
    }

    /// The approximate time to verify these in a number of concurrent runs.
    pub(super) fn estimate<'i>(&self, ids: impl Iterator<Item = &'i Id>, concurrent_runs: usize) -> Duration {
        let seconds = |id: &Id| match self.ledger.entry(&id.service, &id.variant) {
            Some(entry) => entry.seconds,
            None if self.may_be_unavailable(id) => UNAVAILABLE_S,
            None => UNKNOWN_S,
        };
        Duration::from_secs(ids.map(seconds).sum::<u64>()) / concurrent_runs.max(1) as u32
    }

    fn may_be_unavailable(&self, id: &Id) -> bool {
        let found = self.variants.iter().find(|variant| variant.id() == *id);
        found.is_some_and(|variant| variant.unavailable_hint.is_some())
    }
}

/// Seconds for a variant that was never verified: the mean of the verified ones.
const UNKNOWN_S: u64 = 25;
/// The same for one that probably cannot be built.
const UNAVAILABLE_S: u64 = 5;

/// A tenth of the services, at least one, which differs between commits.
fn tenth_of<'a>(commit: &str, services: &[&'a str]) -> Vec<&'a str> {
    let mut ordered: Vec<&str> = services.to_vec();
    ordered.sort_by_key(|service| hash(&[commit, service]));
    ordered.truncate(services.len().div_ceil(10));
    ordered
}

/// FNV-1a, with final mixing so that texts with equal ends differ. It must never change: the selection must not depend on the build.
fn hash(parts: &[&str]) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in parts.iter().flat_map(|part| part.bytes().chain([0])) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash ^= hash >> 32;
    hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (hash >> 29)
}

#[cfg(test)]
mod tests {
    use super::super::ledger::Entry;
    use super::*;

    fn parts(source: &str) -> Parts {
        Parts::from([
            ("source".to_owned(), source.to_owned()),
            ("run".to_owned(), "r".to_owned()),
        ])
    }

    fn variant(service: &str, source: &str) -> Variant {
        Variant {
            service: service.to_owned(),
            name: "current".to_owned(),
            unavailable_hint: None,
            trials: 1,
            fingerprint: parts(source),
        }
    }

    fn ledger(entries: &[(&str, &str, u64)]) -> Ledger {
        let mut ledger = Ledger::default();
        for (service, source, seconds) in entries {
            let entry = Entry {
                prony: String::new(),
                seconds: *seconds,
                parts: parts(source),
            };
            ledger.record(service, "current", entry);
        }
        ledger
    }

    fn ids(names: &[&str]) -> BTreeSet<Id> {
        names.iter().map(|name| Id::new(name, "current")).collect()
    }

    #[test]
    fn a_variant_that_changed_is_selected_with_the_part_that_differs() {
        let variants = [
            variant("a", "1"),
            variant("b", "2"),
            variant("c", "3"),
            variant("d", "4"),
        ];
        let ledger = ledger(&[("a", "1", 1), ("b", "other", 1), ("d", "4", 1)]);
        let input = SelectionInput {
            variants: &variants,
            ledger: &ledger,
            edited: &ids(&["d"]),
            quick: &ids(&["a", "b"]),
            commit: "1",
        };
        let selected = input.of_change();
        let why: Vec<&SelectionReason> = selected.values().collect();
        let differs = SelectionReason::Differs(vec!["source".to_owned()]);
        assert_eq!(
            why,
            [
                &SelectionReason::Quick,
                &differs,
                &SelectionReason::New,
                &SelectionReason::Edited
            ]
        );
        let unverified: Vec<String> = input.unverified().keys().map(ToString::to_string).collect();
        assert_eq!(unverified, ["b/current", "c/current"]);
    }

    #[test]
    fn a_part_that_the_entry_lacks_differs() {
        let variants = [variant("a", "1")];
        let mut ledger = ledger(&[("a", "1", 1)]);
        let entry = ledger
            .0
            .get_mut("a")
            .and_then(|entries| entries.get_mut("current"));
        entry.expect("an entry").parts.remove("run");
        let input = SelectionInput {
            variants: &variants,
            ledger: &ledger,
            edited: &ids(&[]),
            quick: &ids(&[]),
            commit: "1",
        };
        assert_eq!(
            input.invalid(&variants[0]),
            Some(SelectionReason::Differs(vec!["run".to_owned()]))
        );
    }

    #[test]
    fn a_tenth_of_the_rest_has_its_turn_decided_by_the_commit_alone() {
        let names: Vec<String> = (0..95).map(|number| format!("service-{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let first = tenth_of("c0ffee", &names);
        assert_eq!(first.len(), 10);
        let mut reversed = names.clone();
        reversed.reverse();
        assert_eq!(tenth_of("c0ffee", &reversed), first);
        assert_ne!(tenth_of("c0ffef", &names), first);
        // Within some dozens of commits, each service is selected.
        let seen: BTreeSet<&str> = (0..100)
            .flat_map(|commit| tenth_of(&format!("{commit:x}"), &names))
            .collect();
        assert_eq!(seen.len(), names.len());
        assert!(tenth_of("1", &[]).is_empty());
        assert_eq!(tenth_of("1", &["only"]), ["only"]);
    }

    #[test]
    fn the_estimate_is_of_the_ledger_and_careful_with_what_is_new() {
        let variants = [variant("a", "1"), variant("b", "2")];
        let ledger = ledger(&[("a", "1", 30)]);
        let input = SelectionInput {
            variants: &variants,
            ledger: &ledger,
            edited: &ids(&[]),
            quick: &ids(&[]),
            commit: "1",
        };
        let all = input.all();
        let estimate = input.estimate(all.keys(), 2);
        assert_eq!(estimate.as_secs(), u64::midpoint(30, UNKNOWN_S));
    }

    #[test]
    fn names_are_services_and_variants() {
        let variants = [variant("a", "1"), variant("b", "2")];
        let ledger = Ledger::default();
        let input = SelectionInput {
            variants: &variants,
            ledger: &ledger,
            edited: &ids(&[]),
            quick: &ids(&[]),
            commit: "1",
        };
        let named = |name: &str| input.named(&[name.to_owned()]);
        assert_eq!(
            named("a").expect("a service"),
            named("a/current").expect("a variant")
        );
        named("a/era").expect_err("no such variant");
    }
}
