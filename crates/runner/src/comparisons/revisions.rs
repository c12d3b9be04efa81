//! The services of a project that differ between two revisions, each as a pair of services to compare.

use super::ProgressFn;
use crate::project::{ServiceChange, ServiceChangeKind, ServiceSelector, changed_services, choose, find};
use crate::{Builder, Checkout, CommandError, Folders, LocalTestbed, builds_at_once};
use prony_config::Service;
use serde::Serialize;
use std::collections::BTreeMap;

/// How many services are compared unless they are named: each needs its share of the time.
const MOST: usize = 8;

/// The services to compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevisionPairs {
    /// The commit of the base.
    pub base: String,
    /// Whether the base is the last common commit. A clone without the history has none; then the base is the named revision.
    pub is_merge_base: bool,
    /// The commit of the head; `None`: the files as they are now, with uncommitted changes.
    pub head: Option<String>,
    /// Base and head of each service.
    pub pairs: Vec<[ServiceSelector; 2]>,
    /// The services that differ, or were named, and are not compared.
    pub left_out: Vec<ServiceLeftOut>,
}

/// A service that is not compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServiceLeftOut {
    pub service: String,
    /// The reason, as the end of a sentence that begins with the name.
    pub reason: String,
}

impl RevisionPairs {
    /// The services that differ between a revision and what it has in common with the base; `services`: names of those to compare
    /// instead. `head`: `None` for the files as they are now.
    pub fn find(
        checkout: &Checkout,
        (base, head): (&str, Option<&str>),
        services: &[String],
    ) -> Result<Self, CommandError> {
        let common = checkout.merge_base(base, head.unwrap_or("HEAD"))?;
        let changed = changed_services(checkout, common.as_deref().unwrap_or(base), head)?;
        let wanted = if services.is_empty() {
            differing(&changed.services)
        } else {
            services.to_vec()
        };
        let mut found = Self {
            is_merge_base: common.is_some(),
            base: changed.base,
            head: changed.head,
            pairs: Vec::new(),
            left_out: Vec::new(),
        };
        for name in wanted {
            match reason_against(&name, &changed.services) {
                // Folders of a pull request have any names, and names become text of a comment.
                _ if !is_plain(&name) => found.leave_out(
                    name.replace(|letter| !is_plain_letter(letter), "?"),
                    "has a name that cannot be measured: use letters, digits, `_`, `-` and `.`".to_owned(),
                ),
                None if found.pairs.len() == MOST && services.is_empty() => found.leave_out(
                    name,
                    format!("is not compared, because {MOST} others are → Name it with --service."),
                ),
                None => found.add(&name),
                Some(reason) => found.leave_out(name, reason.to_owned()),
            }
        }
        Ok(found)
    }

    fn add(&mut self, name: &str) {
        let at =
            |commit: &str| ServiceSelector::parse(&format!("{name}@{}", &commit[..commit.len().min(12)]));
        let head = match &self.head {
            Some(commit) => at(commit),
            None => ServiceSelector::parse(name),
        };
        self.pairs.push([at(&self.base), head]);
    }

    fn leave_out(&mut self, service: String, reason: String) {
        self.left_out.push(ServiceLeftOut { service, reason });
    }

    /// Builds both sides of every service, in parallel. Failures are not reported: each comparison reports those of its own builds.
    pub fn build(
        &self,
        checkout: &Checkout,
        workbench: &LocalTestbed,
        tell: ProgressFn<'_>,
    ) -> Result<(), CommandError> {
        let mut catalogue = checkout.catalogue()?;
        let chosen = self
            .pairs
            .iter()
            .flatten()
            .filter_map(|selector| choose(selector, checkout, &mut catalogue).ok())
            .collect::<Vec<_>>();
        let services: Vec<&Service> = chosen.iter().map(|chosen| find(&catalogue, chosen)).collect();
        let builder = Builder::new(
            &workbench.testbed,
            &catalogue.toolchains,
            Folders::of(&checkout.root, &checkout.state()),
            &workbench.cancel,
        );
        let at_once = builds_at_once(workbench.host().memory_available_bytes());
        builder.build_all(&services, at_once, &|progress| {
            if let Some(text) = progress.of_build() {
                tell(&text);
            }
        });
        Ok(())
    }
}

/// The names of the services that differ. Variants share their files: the default one stands for all that changed with it.
fn differing(services: &[ServiceChange]) -> Vec<String> {
    let mut by_name: BTreeMap<&str, Vec<&ServiceChange>> = BTreeMap::new();
    let differs = |one: &&ServiceChange| {
        matches!(
            one.change,
            ServiceChangeKind::Changed { .. } | ServiceChangeKind::New
        )
    };
    for one in services.iter().filter(differs) {
        by_name.entry(&one.id.service).or_default().push(one);
    }
    let names = by_name.into_iter().flat_map(|(name, variants)| {
        if variants.iter().any(|one| one.is_default) {
            return vec![name.to_owned()];
        }
        variants.iter().map(|one| one.id.to_string()).collect()
    });
    names.collect()
}

/// Whether a name consists of the letters of names, and does not look like an option.
fn is_plain(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphanumeric()) && name.chars().all(is_plain_letter)
}

const fn is_plain_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.' | '/')
}

/// Why a service cannot be compared; `None` if it can.
fn reason_against(name: &str, services: &[ServiceChange]) -> Option<&'static str> {
    let is_named = |one: &&ServiceChange| match name.split_once('/') {
        Some((service, variant)) => one.id.service == service && one.id.variant == variant,
        None => one.id.service == name && one.is_default,
    };
    match services.iter().find(is_named).map(|one| &one.change) {
        None => Some("is in neither revision"),
        Some(ServiceChangeKind::New) => Some("is new, so there is nothing to compare it with"),
        Some(ServiceChangeKind::Removed) => Some("is not in the head"),
        Some(ServiceChangeKind::None | ServiceChangeKind::Changed { .. }) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_records::ServiceId;

    fn service(name: &str, variant: &str, change: ServiceChangeKind) -> ServiceChange {
        ServiceChange {
            id: ServiceId {
                service: name.to_owned(),
                variant: variant.to_owned(),
            },
            is_default: variant == "current",
            change,
        }
    }

    #[test]
    fn the_default_variant_stands_for_all_that_changed() {
        let changed = || ServiceChangeKind::Changed { parts: Vec::new() };
        let services = [
            service("a", "current", changed()),
            service("a", "old", changed()),
            service("b", "current", ServiceChangeKind::None),
            service("b", "old", changed()),
            service("c", "current", ServiceChangeKind::New),
            service("d", "current", ServiceChangeKind::Removed),
        ];
        assert_eq!(differing(&services), ["a", "b/old", "c"]);
        assert!(is_plain("a-b_c.d/old") && !is_plain("--out=owned") && !is_plain("a b") && !is_plain(""));
        let reasons =
            ["a", "b", "b/old", "c", "d", "e", "a/none"].map(|name| reason_against(name, &services));
        assert_eq!(reasons[..3], [None, None, None]);
        assert_eq!(
            reasons[3..].iter().flatten().copied().collect::<Vec<_>>(),
            [
                "is new, so there is nothing to compare it with",
                "is not in the head",
                "is in neither revision",
                "is in neither revision"
            ]
        );
    }
}
