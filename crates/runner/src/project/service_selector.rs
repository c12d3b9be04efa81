//! A service as the user names it: `NAME` or `NAME/VARIANT`, optionally with `@REVISION` for an earlier git revision.

use super::Checkout;
use crate::CommandError;
use crate::build::id_of;
use crate::error::ErrorContext as _;
use prony_config::{Catalogue, Service};
use prony_load::Protocol;
use prony_records::ServiceId;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Marks the folder of a revision that was checked out completely.
const WHOLE: &str = ".prony-whole";

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
                "`{text}` names a revision, but the working directory is not in a project: run `prony init` to create one"
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

/// Finds the service. A service of an earlier revision is checked out and added to the catalogue as a separate variant.
pub fn choose(
    subject: &ServiceSelector,
    checkout: &Checkout,
    catalogue: &mut Catalogue,
) -> Result<SelectedService, CommandError> {
    let service = match &subject.revision {
        None => one(catalogue, subject)?.clone(),
        Some(revision) => {
            let commit = resolve(checkout, revision)?;
            let root = taken_out(checkout, &commit, &subject.name)?;
            let then = Checkout { root }.catalogue()?;
            let mut service = one(&then, subject)?.clone();
            service.variant = format!("{}@{}", service.variant, &commit[..commit.len().min(12)]);
            service.default = false;
            service
        }
    };
    let id = id_of(&service);
    if !catalogue
        .services
        .iter()
        .any(|known| known.name == id.service && known.variant == id.variant)
    {
        catalogue.services.push(service);
    }
    Ok(SelectedService { id })
}

/// The service of the catalogue.
pub fn find<'a>(catalogue: &'a Catalogue, chosen: &SelectedService) -> &'a Service {
    let same = |service: &&Service| service.name == chosen.id.service && service.variant == chosen.id.variant;
    catalogue
        .services
        .iter()
        .find(same)
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

fn one<'a>(catalogue: &'a Catalogue, subject: &ServiceSelector) -> Result<&'a Service, CommandError> {
    let found = catalogue.select(&subject.pattern())?;
    match found.as_slice() {
        [service] => Ok(service),
        several => Err(CommandError::Input(format!(
            "`{subject}` matches {} services: select one",
            several.len()
        ))),
    }
}

fn resolve(checkout: &Checkout, revision: &str) -> Result<String, CommandError> {
    let wanted = format!("{revision}^{{commit}}");
    let output = git(checkout)
        .args(["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted])
        .output();
    let output =
        output.failed(|| "cannot start git, which is needed for revisions: install it".to_owned())?;
    if !output.status.success() {
        return Err(CommandError::Input(format!(
            "git does not find the revision `{revision}` in this checkout"
        )));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The folder of the service in this revision, with the files that are needed to parse it. Each revision is checked out once.
fn taken_out(checkout: &Checkout, commit: &str, service: &str) -> Result<PathBuf, CommandError> {
    let root = checkout
        .state()
        .join("revisions")
        .join(format!("{commit}-{service}"));
    if root.join(WHOLE).is_file() {
        return Ok(root);
    }
    // Checked out into a temporary folder and then renamed, so that an interrupted checkout is never mistaken for a complete
    // one.
    let aside = root.with_file_name(format!(".{commit}-{service}.{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&aside);
    std::fs::create_dir_all(&aside).failed(|| format!("cannot create the folder {}", aside.display()))?;
    let taken = take_out(checkout, commit, service, &aside);
    let placed = taken.and_then(|()| put_in_place(&aside, &root));
    let _ = std::fs::remove_dir_all(&aside);
    placed.map(|()| root)
}

/// If another prony process was faster, its copy is used. An incomplete checkout of an earlier version of prony is replaced.
fn put_in_place(aside: &Path, root: &Path) -> Result<(), CommandError> {
    if std::fs::rename(aside, root).is_err() && !root.join(WHOLE).is_file() {
        std::fs::remove_dir_all(root).failed(|| format!("cannot remove {}", root.display()))?;
        std::fs::rename(aside, root).failed(|| format!("cannot create the folder {}", root.display()))?;
    }
    Ok(())
}

fn take_out(checkout: &Checkout, commit: &str, service: &str, root: &Path) -> Result<(), CommandError> {
    let folder = format!("services/{service}");
    // A project may have no toolchains, contracts or backing services of its own.
    let paths = ["services/toolchains.toml", "contracts", "backing-services"];
    let paths = paths.into_iter().filter(|path| holds(checkout, commit, path));
    let mut archive = git(checkout)
        .args(["archive", "--format=tar", commit, "--", &folder])
        .args(paths)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .failed(|| "cannot start git".to_owned())?;
    let tar = archive.stdout.take().expect("invariant: it was piped");
    let unpacked = Command::new("tar")
        .arg("-x")
        .arg("-C")
        .arg(root)
        .stdin(tar)
        .output()
        .failed(|| "cannot start tar".to_owned())?;
    let archived = archive
        .wait_with_output()
        .failed(|| "git did not end".to_owned())?;
    if !archived.status.success() || !unpacked.status.success() {
        let reason = String::from_utf8_lossy(if archived.status.success() {
            &unpacked.stderr
        } else {
            &archived.stderr
        });
        return Err(CommandError::Input(format!(
            "cannot check out {folder} of revision {commit}: {}",
            reason.trim()
        )));
    }
    let whole = root.join(WHOLE);
    std::fs::write(&whole, "").failed(|| format!("cannot write {}", whole.display()))
}

/// Whether a revision contains a file or folder.
fn holds(checkout: &Checkout, commit: &str, path: &str) -> bool {
    let found = git(checkout)
        .args(["cat-file", "-e", &format!("{commit}:./{path}")])
        .stderr(Stdio::null())
        .status();
    found.is_ok_and(|status| status.success())
}

fn git(checkout: &Checkout) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(&checkout.root);
    git
}

#[cfg(test)]
mod tests {
    use super::{ServiceSelector, taken_out};
    use crate::Checkout;
    use std::fs;
    use std::process::Command;

    #[test]
    fn a_revision_that_was_taken_out_in_part_is_taken_out_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().to_owned();
        let write = |name: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, name).expect("written");
        };
        for name in [
            "services/toy/service.toml",
            "services/toy/main.c",
            "services/toolchains.toml",
            "contracts/hello/c",
        ] {
            write(name);
        }
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.arg("-C")
                .arg(&root)
                .args(["-c", "user.name=t", "-c", "user.email=t@example.org"]);
            let output = git.args(arguments).output().expect("git runs");
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        };
        git(&["init", "-q"]);
        git(&["add", "-A"]);
        git(&["commit", "-qm", "all"]);
        let commit = git(&["rev-parse", "HEAD"]);
        // Left behind by a killed prony.
        let checkout = Checkout { root: root.clone() };
        let part = checkout
            .state()
            .join(format!("revisions/{commit}-toy/services/toy"));
        fs::create_dir_all(&part).expect("made");
        fs::write(part.join("service.toml"), "half").expect("written");
        let taken = taken_out(&checkout, &commit, "toy").expect("taken out");
        let main = fs::read_to_string(taken.join("services/toy/main.c"));
        assert_eq!(main.expect("there"), "services/toy/main.c");
        let again = taken_out(&checkout, &commit, "toy").expect("there");
        assert_eq!(again, taken);
        let paths = fs::read_dir(taken.parent().expect("a folder")).expect("there");
        assert_eq!(paths.count(), 1, "nothing is left over");
    }

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
