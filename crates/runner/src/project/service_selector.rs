//! A service as the user names it: `NAME` or `NAME/VARIANT`, optionally with `@REVISION` for an earlier git revision.

use super::Checkout;
use super::revision::{ProjectRevision, only};
use crate::CommandError;
use crate::build::id_of;
use crate::source_files;
use prony_config::project::service_file;
use prony_config::{Catalogue, Service};
use prony_load::Protocol;
use prony_records::ServiceId;
use std::fmt;
use std::path::Path;

/// The parsed name of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceSelector {
    name: String,
    variant: Option<String>,
    revision: Option<String>,
}

/// A service of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedService {
    pub id: ServiceId,
}

impl fmt::Display for ServiceSelector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)?;
        if let Some(variant) = &self.variant {
            write!(formatter, "/{variant}")?;
        }
        if let Some(revision) = &self.revision {
            write!(formatter, "@{revision}")?;
        }
        Ok(())
    }
}

impl ServiceSelector {
    /// Parses the name of a service of the checkout; `None` if it is something else.
    pub fn read(text: &str) -> Result<Option<Self>, CommandError> {
        if Path::new(text).is_file() {
            return Ok(None);
        }
        let subject = Self::parse(text);
        match Checkout::find() {
            Ok(checkout) if subject.is_known(&checkout) || subject.revision.is_some() => Ok(Some(subject)),
            _ if subject.revision.is_some() => Err(CommandError::Input(format!(
                "`{text}` names a revision, but the working directory is not inside a prony project → `prony init` creates one."
            ))),
            _ => Ok(None),
        }
    }

    /// Parses a name. Whether there is such a service is checked by [`choose`].
    pub fn parse(text: &str) -> Self {
        let (service, revision) = match text.split_once('@') {
            Some((service, revision)) => (service, Some(revision.to_owned())),
            None => (text, None),
        };
        let (name, variant) = match service.split_once('/') {
            Some((name, variant)) => (name, Some(variant.to_owned())),
            None => (service, None),
        };
        Self {
            name: name.to_owned(),
            variant,
            revision,
        }
    }

    fn is_known(&self, checkout: &Checkout) -> bool {
        service_file(&checkout.root, &self.name).is_some()
    }

    fn pattern(&self) -> String {
        match &self.variant {
            Some(variant) => format!("{}/{variant}", self.name),
            None => self.name.clone(),
        }
    }
}

/// Whether the selected service is that of the current state, and its sources have changes that are not committed.
pub fn is_uncommitted(subject: &ServiceSelector, catalogue: &Catalogue) -> Result<bool, CommandError> {
    if subject.revision.is_some() {
        return Ok(false);
    }
    let service = only(&catalogue.select(&subject.pattern())?, &subject.pattern())?.clone();
    Ok(source_files::is_uncommitted(&service))
}

/// Finds the service. A service of an earlier revision is checked out and added to the catalogue as a separate variant.
pub fn choose(
    subject: &ServiceSelector,
    checkout: &Checkout,
    catalogue: &mut Catalogue,
) -> Result<SelectedService, CommandError> {
    let service = match &subject.revision {
        None => only(&catalogue.select(&subject.pattern())?, &subject.pattern())?.clone(),
        Some(revision) => of_revision(&checkout.revision(revision)?, &subject.pattern(), catalogue)?,
    };
    let id = id_of(&service);
    if catalogue.variant(&id.service, &id.variant).is_none() {
        catalogue.services.push(service);
    }
    Ok(SelectedService { id })
}

/// The service of a revision: a separate variant.
fn of_revision(
    revision: &ProjectRevision,
    pattern: &str,
    current: &Catalogue,
) -> Result<Service, CommandError> {
    let mut service = revision.service(pattern, current)?;
    for name in &service.contracts {
        if revision.catalogue.contracts.contains_key(name) {
            revision.catalogue.contract(name)?;
        }
    }
    let commit = &revision.commit;
    service.variant = format!("{}@{}", service.variant, &commit[..commit.len().min(12)]);
    service.default = false;
    Ok(service)
}

/// The service of the catalogue.
pub fn find<'a>(catalogue: &'a Catalogue, chosen: &SelectedService) -> &'a Service {
    catalogue
        .variant(&chosen.id.service, &chosen.id.variant)
        .expect("invariant: chosen services are in the catalogue")
}

/// The contract and protocol with which two services are loaded: the requested contract, otherwise the first that both share.
pub fn common(
    catalogue: &Catalogue,
    first: &SelectedService,
    second: &SelectedService,
    wished: Option<&str>,
) -> Result<(String, Protocol), CommandError> {
    let (first, second) = (find(catalogue, first), find(catalogue, second));
    let contracts = first
        .contracts
        .iter()
        .filter(|contract| wished.is_none_or(|wished| wished == *contract));
    let protocols = [
        Protocol::Http1,
        Protocol::Http2,
        Protocol::Grpc,
        Protocol::WebSocket,
    ];
    let mut both = contracts.flat_map(|contract| protocols.map(|protocol| (contract.clone(), protocol)));
    both.find(|(contract, protocol)| first.offers(contract, *protocol) && second.offers(contract, *protocol))
        .ok_or_else(|| {
            let what = wished.map_or_else(|| "a contract".to_owned(), |name| format!("the contract {name}"));
            CommandError::Input(format!(
                "{} and {} do not both implement {what} over the same protocol",
                first.label(),
                second.label()
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::ServiceSelector;

    #[test]
    fn names_are_read_as_written() {
        for text in [
            "go-gorilla",
            "go-gorilla/era",
            "go-gorilla@HEAD~1",
            "go-gorilla/era@v1.2",
        ] {
            assert_eq!(ServiceSelector::parse(text).to_string(), text);
        }
    }
}
