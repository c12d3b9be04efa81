//! A service as the user names it: `NAME` or `NAME/VARIANT`, optionally with `@REVISION` for an earlier git revision.

use super::Checkout;
use crate::CommandError;
use crate::build::id_of;
use crate::error::ErrorContext as _;
use prony_config::{Catalogue, Revision, Service};
use prony_load::Protocol;
use prony_records::ServiceId;
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::SystemTime;

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
            for name in service
                .contracts
                .iter()
                .filter(|name| then.contracts.contains_key(*name))
            {
                then.contract(name)?;
            }
            service.revision = Some(Arc::new(Revision {
                commit: commit.clone(),
                toolchains: then.toolchains,
                contracts: then.contracts,
            }));
            service.variant = format!("{}@{}", service.variant, &commit[..commit.len().min(12)]);
            service.default = false;
            service
        }
    };
    let id = id_of(&service);
    if catalogue.variant(&id.service, &id.variant).is_none() {
        catalogue.services.push(service);
    }
    Ok(SelectedService { id })
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
        output.failed(|| "cannot start git, which is needed for revisions → Install it.".to_owned())?;
    if !output.status.success() {
        return Err(CommandError::Input(format!(
            "git does not find the revision `{revision}` in this checkout"
        )));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The folder of the project in this revision, which must have the service. Each revision is checked out once.
fn taken_out(checkout: &Checkout, commit: &str, service: &str) -> Result<PathBuf, CommandError> {
    let root = checkout.state().join("revisions").join(commit);
    let folder = Path::new("services").join(service);
    if root.join(WHOLE).is_file() && root.join(&folder).is_dir() {
        // `prony clean --older-than` counts from the last use.
        let stamp = File::options().append(true).open(root.join(WHOLE));
        let _ = stamp.and_then(|file| file.set_modified(SystemTime::now()));
        return Ok(root);
    }
    // Checked out into a temporary folder and then renamed, so that an interrupted checkout is never mistaken for a complete
    // one.
    let aside = root.with_file_name(format!(".{commit}.{}", std::process::id()));
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
    let failed = |reason: &[u8]| {
        CommandError::Input(format!(
            "cannot check out {folder} of revision {commit}: {}",
            String::from_utf8_lossy(reason).trim()
        ))
    };
    let scratch =
        tempfile::tempdir_in(root).failed(|| format!("cannot create a folder in {}", root.display()))?;
    // An index of its own. Files are checked out of it as git fills a working tree: `git archive` leaves out those with the
    // attribute `export-ignore`.
    let index = scratch.path().join("index");
    let git = |arguments: &[&str], input: Stdio| {
        let mut git = git(checkout);
        let git = git.env("GIT_INDEX_FILE", &index).args(arguments).stdin(input);
        // Reads both outputs at the same time, so that neither can fill up while the other is awaited.
        let output = git.output().failed(|| "cannot start git".to_owned())?;
        if output.status.success() {
            Ok(output.stdout)
        } else {
            Err(failed(&output.stderr))
        }
    };
    git(&["read-tree", commit], Stdio::null())?;
    // All of it: the service may copy files from anywhere in the project.
    let listed = git(&["ls-files", "-z", "--", "."], Stdio::null())?;
    let names = scratch.path().join("names");
    std::fs::write(&names, &listed).failed(|| format!("cannot write {}", names.display()))?;
    let names = File::open(&names).failed(|| format!("cannot read {}", names.display()))?;
    let tree = scratch.path().join("tree");
    let prefix = std::path::absolute(&tree).unwrap_or(tree);
    let prefix = format!("--prefix={}/", prefix.display());
    git(
        &["checkout-index", "-z", "--stdin", "--force", &prefix],
        names.into(),
    )?;
    // The project may be a folder of the repository.
    let project = git(&["rev-parse", "--show-prefix"], Stdio::null())?;
    let project = scratch
        .path()
        .join("tree")
        .join(OsStr::from_bytes(project.trim_ascii_end()));
    if !project.join(&folder).is_dir() {
        return Err(failed(b"the revision does not contain it"));
    }
    for entry in std::fs::read_dir(&project).into_iter().flatten().flatten() {
        let place = root.join(entry.file_name());
        std::fs::rename(entry.path(), &place).failed(|| format!("cannot write {}", place.display()))?;
    }
    let whole = root.join(WHOLE);
    std::fs::write(&whole, "").failed(|| format!("cannot write {}", whole.display()))
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
    use std::fs::{self, File};
    use std::path::Path;
    use std::process::Command;
    use std::time::SystemTime;

    /// Runs git in a folder, and returns what it prints.
    fn git(root: &Path, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.arg("-C")
            .arg(root)
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org"]);
        let output = git.args(arguments).output().expect("git runs");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Commits a project with a service and more files, whose content is their name, in a new repository. Returns the commit.
    fn committed(repository: &Path, project: &Path, more: &[(&str, &str)]) -> String {
        let files = [
            "services/toy/service.toml",
            "services/toy/main.c",
            "services/toolchains.toml",
            "contracts/hello/c",
        ];
        for (name, text) in files.map(|name| (name, name)).iter().chain(more) {
            let path = project.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        }
        git(repository, &["init", "-q"]);
        git(repository, &["add", "-A"]);
        git(repository, &["commit", "-qm", "all"]);
        git(repository, &["rev-parse", "HEAD"])
    }

    /// A base that lacks files which the working tree has would be compared with something else.
    #[test]
    fn export_ignore_takes_nothing_out_of_a_revision() {
        let folder = tempfile::tempdir().expect("a folder");
        let project = folder.path().join("benchmarks");
        let ignored = (
            ".gitattributes",
            "services/toy/data export-ignore\nservices/toy/main.c export-subst\n",
        );
        let commit = committed(
            folder.path(),
            &project,
            &[ignored, ("services/toy/data", "$Format:%H$")],
        );
        let checkout = Checkout { root: project };
        let taken = taken_out(&checkout, &commit, "toy").expect("taken out");
        let data = fs::read_to_string(taken.join("services/toy/data")).expect("there");
        assert_eq!(data, "$Format:%H$", "as in a working tree");
        let mut names: Vec<String> = fs::read_dir(&taken)
            .expect("a folder")
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        assert_eq!(names, [".gitattributes", ".prony-whole", "contracts", "services"]);
    }

    /// `prony clean --older-than` counts from the last use.
    #[test]
    fn a_revision_that_is_used_again_is_not_old() {
        let folder = tempfile::tempdir().expect("a folder");
        let commit = committed(folder.path(), folder.path(), &[]);
        let checkout = Checkout {
            root: folder.path().to_owned(),
        };
        let stamp = || {
            let taken = taken_out(&checkout, &commit, "toy").expect("taken out");
            taken.join(super::WHOLE)
        };
        let old = SystemTime::UNIX_EPOCH;
        let file = File::options().append(true).open(stamp()).expect("opens");
        file.set_modified(old).expect("an earlier time");
        assert!(fs::metadata(stamp()).expect("there").modified().expect("a time") > old);
    }

    /// More than a pipe holds: who reads the files first and the messages later waits for ever.
    #[test]
    fn a_git_that_says_much_does_not_hang() {
        let folder = tempfile::tempdir().expect("a folder");
        let commit = committed(
            folder.path(),
            folder.path(),
            &[(".gitattributes", "main.c filter=loud\n")],
        );
        let loud = "yes 'a warning of a filter' | head -c 300000 >&2; cat";
        git(folder.path(), &["config", "filter.loud.smudge", loud]);
        let checkout = Checkout {
            root: folder.path().to_owned(),
        };
        let taken = taken_out(&checkout, &commit, "toy").expect("taken out");
        let main = fs::read_to_string(taken.join("services/toy/main.c"));
        assert_eq!(main.expect("there"), "services/toy/main.c");
        let error = taken_out(&checkout, &commit, "absent")
            .expect_err("no such service")
            .to_string();
        assert!(error.contains("cannot check out services/absent"), "{error}");
    }

    #[test]
    fn a_revision_that_was_taken_out_in_part_is_taken_out_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().to_owned();
        let commit = committed(&root, &root, &[]);
        // Left behind by a killed prony.
        let checkout = Checkout { root: root.clone() };
        let part = checkout.state().join(format!("revisions/{commit}/services/toy"));
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
