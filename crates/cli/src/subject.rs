//! A service as a user names it: `NAME`, `NAME/VARIANT`, and with `@REVISION` as it was in git.

use crate::checkout::Checkout;
use crate::exit::bad_input;
use anyhow::{Context as _, anyhow};
use prony_load::Protocol;
use prony_measurement::ServiceId;
use prony_plan::{Catalogue, Service};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the user wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subject {
    name: String,
    variant: Option<String>,
    revision: Option<String>,
}

/// A service that is in the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) id: ServiceId,
}

impl fmt::Display for Subject {
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

impl Subject {
    /// Reads a text that names a service of the checkout; `None` where it names none.
    pub(crate) fn read(text: &str) -> anyhow::Result<Option<Self>> {
        if Path::new(text).is_file() {
            return Ok(None);
        }
        let subject = Self::parse(text);
        match Checkout::find() {
            Ok(checkout) if subject.is_known(&checkout) || subject.revision.is_some() => Ok(Some(subject)),
            _ if subject.revision.is_some() => Err(bad_input(anyhow!(
                "`{text}` names a revision, but here is no checkout of prony to look it up in"
            ))),
            _ => Ok(None),
        }
    }

    pub(crate) fn parse(text: &str) -> Self {
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
        let plain = !self.name.is_empty() && !self.name.contains("..");
        plain
            && checkout
                .root
                .join("services")
                .join(&self.name)
                .join("service.toml")
                .is_file()
    }

    fn pattern(&self) -> String {
        match &self.variant {
            Some(variant) => format!("{}/{variant}", self.name),
            None => self.name.clone(),
        }
    }
}

/// Finds the service; one of a revision is taken out of git and added to the catalogue as a variant of its own.
pub(crate) fn choose(
    subject: &Subject,
    checkout: &Checkout,
    catalogue: &mut Catalogue,
) -> anyhow::Result<Chosen> {
    let service = match &subject.revision {
        None => one(catalogue, subject)?.clone(),
        Some(revision) => {
            let commit = resolve(checkout, revision)?;
            let root = taken_out(checkout, &commit, &subject.name)?;
            let then = Catalogue::read(&root).map_err(bad_input)?;
            let mut service = one(&then, subject)?.clone();
            service.variant = format!("{}@{}", service.variant, &commit[..commit.len().min(12)]);
            service.default = false;
            service
        }
    };
    let id = ServiceId {
        service: service.name.clone(),
        variant: service.variant.clone(),
    };
    if !catalogue
        .services
        .iter()
        .any(|known| known.name == id.service && known.variant == id.variant)
    {
        catalogue.services.push(service);
    }
    Ok(Chosen { id })
}

/// The service that was chosen from this catalogue.
pub(crate) fn find<'a>(catalogue: &'a Catalogue, chosen: &Chosen) -> &'a Service {
    let same = |service: &&Service| service.name == chosen.id.service && service.variant == chosen.id.variant;
    catalogue
        .services
        .iter()
        .find(same)
        .expect("invariant: chosen services are in the catalogue")
}

/// The contract and protocol that two services are loaded with: the one that is wished, else the first in common.
pub(crate) fn common(
    catalogue: &Catalogue,
    first: &Chosen,
    second: &Chosen,
    wished: Option<&str>,
) -> anyhow::Result<(String, Protocol)> {
    let (first, second) = (find(catalogue, first), find(catalogue, second));
    let contracts = first
        .contracts
        .iter()
        .filter(|contract| wished.is_none_or(|wished| wished == *contract));
    let protocols = [Protocol::Http1, Protocol::Http2, Protocol::Grpc];
    let mut both = contracts.flat_map(|contract| protocols.map(|protocol| (contract.clone(), protocol)));
    both.find(|(contract, protocol)| first.offers(contract, *protocol) && second.offers(contract, *protocol))
        .ok_or_else(|| {
            let what = wished.map_or_else(
                || "a contract".to_owned(),
                |wished| format!("the contract {wished}"),
            );
            bad_input(anyhow!(
                "{} and {} do not both fulfil {what} over the same protocol",
                first.label(),
                second.label()
            ))
        })
}

fn one<'a>(catalogue: &'a Catalogue, subject: &Subject) -> anyhow::Result<&'a Service> {
    let found = catalogue.select(&subject.pattern()).map_err(bad_input)?;
    match found.as_slice() {
        [service] => Ok(service),
        several => Err(bad_input(anyhow!(
            "`{subject}` names {} services: name one",
            several.len()
        ))),
    }
}

fn resolve(checkout: &Checkout, revision: &str) -> anyhow::Result<String> {
    let wanted = format!("{revision}^{{commit}}");
    let output = git(checkout)
        .args(["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted])
        .output();
    let output = output.context("cannot start git: install it, it knows the revisions")?;
    if !output.status.success() {
        return Err(bad_input(anyhow!(
            "git knows no revision `{revision}` of this checkout"
        )));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The service's folder as it was, with what is needed to read it; a revision is taken out once.
fn taken_out(checkout: &Checkout, commit: &str, service: &str) -> anyhow::Result<PathBuf> {
    let root = checkout
        .state()
        .join("revisions")
        .join(format!("{commit}-{service}"));
    if root.join("services").join(service).join("service.toml").is_file() {
        return Ok(root);
    }
    std::fs::create_dir_all(&root).with_context(|| format!("cannot make the folder {}", root.display()))?;
    let folder = format!("services/{service}");
    let mut archive = git(checkout)
        .args([
            "archive",
            "--format=tar",
            commit,
            "--",
            &folder,
            "services/toolchains.toml",
            "contracts",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start git")?;
    let tar = archive.stdout.take().context("git has no output")?;
    let unpacked = Command::new("tar")
        .arg("-x")
        .arg("-C")
        .arg(&root)
        .stdin(tar)
        .output()
        .context("cannot start tar")?;
    let archived = archive.wait_with_output().context("git did not end")?;
    if !archived.status.success() || !unpacked.status.success() {
        let _ = std::fs::remove_dir_all(&root);
        let reason = String::from_utf8_lossy(if archived.status.success() {
            &unpacked.stderr
        } else {
            &archived.stderr
        });
        return Err(bad_input(anyhow!(
            "cannot take {folder} out of revision {commit}: {}",
            reason.trim()
        )));
    }
    Ok(root)
}

fn git(checkout: &Checkout) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(&checkout.root);
    git
}

#[cfg(test)]
mod tests {
    use super::Subject;

    #[test]
    fn names_are_read_as_written() {
        for text in [
            "go-gorilla",
            "go-gorilla/era",
            "go-gorilla@HEAD~1",
            "go-gorilla/era@v1.2",
        ] {
            assert_eq!(Subject::parse(text).to_string(), text);
        }
    }
}
