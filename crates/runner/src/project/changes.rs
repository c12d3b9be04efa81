//! Which services differ between two revisions of a project, by the fingerprints of all of their inputs: sources, copied files, shared
//! scripts, commands, toolchains and contracts.

use super::Checkout;
use super::revision::ProjectRevision;
use crate::CommandError;
use crate::build::id_of;
use crate::error::ErrorContext as _;
use crate::fingerprint::{IgnoredFiles, of_definition};
use prony_config::format::FileKind;
use prony_config::project::service_file;
use prony_config::{Catalogue, Service};
use prony_records::{Part, ServiceId};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;

/// The services of a project at two revisions.
#[derive(Debug, Serialize)]
pub struct ChangedServices {
    /// The commit of the base.
    pub base: String,
    /// The commit of the head; `None`: the files as they are now, with uncommitted changes.
    pub head: Option<String>,
    /// All services of either, by name; variants in the order of their file.
    pub services: Vec<ServiceChange>,
}

/// A service at two revisions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServiceChange {
    #[serde(flatten)]
    pub id: ServiceId,
    /// Whether this is the default variant.
    #[serde(rename = "default")]
    pub is_default: bool,
    #[serde(flatten)]
    pub change: ServiceChangeKind,
}

/// In what a service differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum ServiceChangeKind {
    /// In nothing that is measured.
    None,
    Changed {
        /// Empty if the base describes it in a way that this prony does not read.
        parts: Vec<Part>,
    },
    /// The base does not have it.
    New,
    /// The head does not have it.
    Removed,
}

/// The services at two revisions. `head`: `None` for the files as they are now.
pub fn changed_services(
    checkout: &Checkout,
    base: &str,
    head: Option<&str>,
) -> Result<ChangedServices, CommandError> {
    let current = checkout.catalogue()?;
    let base = checkout.revision(base)?;
    let head = head.map(|head| checkout.revision(head)).transpose()?;
    let (after, ignored) = match &head {
        Some(revision) => (revision.services(&current), IgnoredFiles::default()),
        None => (current.services.clone(), IgnoredFiles::of(&checkout.root)),
    };
    let mut services = Vec::new();
    for service in &after {
        services.push(ServiceChange {
            id: id_of(service),
            is_default: service.default,
            change: change((service, &ignored), &base, &current)?,
        });
    }
    let catalogue = head.as_ref().map_or(&current, |head| &head.catalogue);
    services.extend(broken(catalogue, &base.catalogue));
    let known: BTreeSet<ServiceId> = services.iter().map(|one| one.id.clone()).collect();
    let gone = base.catalogue.services.iter();
    let gone = gone.filter(|service| !known.contains(&id_of(service)));
    let is_broken = |name: &str| catalogue.broken.iter().any(|broken| broken.name == name);
    let gone = gone.filter(|service| !is_broken(&service.name));
    services.extend(gone.map(|service| ServiceChange {
        id: id_of(service),
        is_default: service.default,
        change: ServiceChangeKind::Removed,
    }));
    Ok(ChangedServices {
        base: base.commit,
        head: head.map(|head| head.commit),
        services,
    })
}

fn change(
    (service, ignored): (&Service, &IgnoredFiles),
    base: &ProjectRevision,
    current: &Catalogue,
) -> Result<ServiceChangeKind, CommandError> {
    let digest = |service: &Service, ignored: &IgnoredFiles| {
        let found = of_definition(service, current, ignored);
        found.failed(|| format!("cannot read the sources of {}", service.label()))
    };
    let Some(before) = base.variant(service, current) else {
        // Its file cannot be read, or does not have the variant.
        return Ok(match service_file(&base.catalogue.root, &service.name) {
            Some(_) => ServiceChangeKind::Changed { parts: Vec::new() },
            None => ServiceChangeKind::New,
        });
    };
    let before = digest(&before, &IgnoredFiles::default())?;
    let parts = before.differences(&digest(service, ignored)?, Part::DEFINITION);
    Ok(if parts.is_empty() {
        ServiceChangeKind::None
    } else {
        ServiceChangeKind::Changed { parts }
    })
}

/// Services whose files cannot be read. One that was just as wrong before has not changed.
fn broken(head: &Catalogue, base: &Catalogue) -> Vec<ServiceChange> {
    let of_kind = head
        .broken
        .iter()
        .filter(|broken| broken.kind == FileKind::Service);
    let text = |catalogue: &Catalogue, name: &str| fs::read(service_file(&catalogue.root, name)?).ok();
    of_kind
        .map(|broken| {
            let was = base
                .broken
                .iter()
                .any(|was| was.kind == broken.kind && was.name == broken.name);
            let change = match text(base, &broken.name) {
                None => ServiceChangeKind::New,
                before if was && before == text(head, &broken.name) => ServiceChangeKind::None,
                Some(_) => ServiceChangeKind::Changed { parts: Vec::new() },
            };
            ServiceChange {
                id: ServiceId {
                    service: broken.name.clone(),
                    variant: "default".to_owned(),
                },
                is_default: true,
                change,
            }
        })
        .collect()
}
