//! A git revision of a project. Its files are checked out once; services are then built from them with the scripts, toolchains and
//! contracts of that revision.

use super::Checkout;
use super::shipped::shipped;
use crate::CommandError;
use crate::error::ErrorContext as _;
use crate::git::{self, GitError};
use crate::source_files::WHOLE;
use prony_config::contract::Contract;
use prony_config::project::service_file;
use prony_config::{Catalogue, Revision, Service, Source, SourceFiles, Toolchain};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::SystemTime;

/// The folder of the files in that of a revision.
const TREE: &str = "tree";

/// A git revision of a project.
#[derive(Debug)]
pub struct ProjectRevision {
    /// The hash of the commit.
    pub commit: String,
    /// What the project contained.
    pub catalogue: Catalogue,
    /// The files of the repository.
    tree: PathBuf,
    /// The same folder of the current state.
    work_tree: PathBuf,
}

impl Checkout {
    /// The project at a git revision, such as `main`, `HEAD~1` or a commit.
    pub fn revision(&self, revision: &str) -> Result<ProjectRevision, CommandError> {
        let root =
            std::path::absolute(&self.root).failed(|| "cannot find the working directory".to_owned())?;
        let Some(work_tree) = git::work_tree(&root) else {
            return Err(CommandError::Input(format!(
                "`{revision}` names a git revision, and {} is not inside a git repository → `git init` creates one.",
                root.display()
            )));
        };
        let commit = resolve(&root, revision)?;
        let tree = self.taken_out(work_tree, &commit)?;
        let then = tree.join(root.strip_prefix(work_tree).unwrap_or(Path::new("")));
        Ok(ProjectRevision {
            catalogue: Catalogue::read_with(&then, Some(&shipped()?))?,
            commit,
            tree,
            work_tree: work_tree.to_owned(),
        })
    }

    /// Whether git finds a commit of this name.
    pub fn has_revision(&self, revision: &str) -> bool {
        std::path::absolute(&self.root).is_ok_and(|root| resolve(&root, revision).is_ok())
    }

    /// The last common commit of two revisions; `None` if the history in this clone does not reach back to it.
    pub fn merge_base(&self, base: &str, head: &str) -> Result<Option<String>, CommandError> {
        let root =
            std::path::absolute(&self.root).failed(|| "cannot find the working directory".to_owned())?;
        let [base, head] = [resolve(&root, base)?, resolve(&root, head)?];
        Ok(git::line(&root, &["merge-base", &base, &head]))
    }

    /// The folder with all files of a commit. Each commit is checked out once.
    fn taken_out(&self, work_tree: &Path, commit: &str) -> Result<PathBuf, CommandError> {
        let root = self.state().join("revisions").join(commit);
        if is_whole(&root) {
            // `prony clean --older-than` counts from the last use.
            let stamp = File::options().append(true).open(root.join(WHOLE));
            let _ = stamp.and_then(|file| file.set_modified(SystemTime::now()));
            return Ok(root.join(TREE));
        }
        // Checked out into a temporary folder and then renamed, so that an interrupted checkout is never mistaken for a complete
        // one.
        let aside = root.with_file_name(format!(".{commit}.{}", std::process::id()));
        let _ = fs::remove_dir_all(&aside);
        fs::create_dir_all(&aside).failed(|| format!("cannot create the folder {}", aside.display()))?;
        let taken = take_out(work_tree, commit, &aside.join(TREE)).and_then(|()| {
            let whole = aside.join(WHOLE);
            fs::write(&whole, "").failed(|| format!("cannot write {}", whole.display()))?;
            put_in_place(&aside, &root)
        });
        let _ = fs::remove_dir_all(&aside);
        taken.map(|()| root.join(TREE))
    }
}

impl ProjectRevision {
    /// The service that a pattern selects, to be built and measured as of this revision. `current`: what the project contains now. A
    /// revision from before the service was described has the sources alone: then the current description applies.
    pub fn service(&self, pattern: &str, current: &Catalogue) -> Result<Service, CommandError> {
        match self.catalogue.select(pattern) {
            Ok(found) => Ok(self.own(only(&found, pattern)?)),
            Err(error) => {
                let described = current.select(pattern).ok();
                let described = described.and_then(|found| only(&found, pattern).ok().cloned());
                let moved = described.and_then(|service| self.moved(&service, current));
                moved.ok_or_else(|| self.lacks(pattern, CommandError::from(error)))
            }
        }
    }

    /// The same variant at this revision, found like [`Self::service`]; `None` if the revision does not have it.
    pub(crate) fn variant(&self, service: &Service, current: &Catalogue) -> Option<Service> {
        let own = self.catalogue.variant(&service.name, &service.variant);
        own.map(|own| self.own(own))
            .or_else(|| self.moved(service, current))
    }

    /// All services as of this revision, also those that only the current state describes.
    pub(crate) fn services(&self, current: &Catalogue) -> Vec<Service> {
        let own = self.catalogue.services.iter().map(|service| self.own(service));
        let others = current.services.iter();
        let others = others.filter_map(|service| self.moved(service, current));
        own.chain(others).collect()
    }

    fn own(&self, service: &Service) -> Service {
        let (toolchains, contracts) = (&self.catalogue.toolchains, &self.catalogue.contracts);
        self.with(service.clone(), toolchains.clone(), contracts.clone())
    }

    /// The description of a service at a later state with the sources of this revision; `None` if the revision describes the service
    /// itself, or lacks the folder.
    fn moved(&self, service: &Service, current: &Catalogue) -> Option<Service> {
        let source = &service.source;
        if source.files == SourceFiles::All || service_file(&self.catalogue.root, &service.name).is_some() {
            return None;
        }
        let later = service.revision.as_deref();
        let top = later.map_or(&self.work_tree, |later| &later.checkout);
        let folder = self.tree.join(source.folder.strip_prefix(top).ok()?);
        let moved = Service {
            source: Source {
                folder: folder.is_dir().then_some(folder)?,
                ..source.clone()
            },
            ..service.clone()
        };
        let toolchains = later.map_or(&current.toolchains, |later| &later.toolchains);
        let contracts = later.map_or(&current.contracts, |later| &later.contracts);
        Some(self.with(moved, toolchains.clone(), contracts.clone()))
    }

    fn with(
        &self,
        service: Service,
        toolchains: BTreeMap<String, Toolchain>,
        contracts: BTreeMap<String, Contract>,
    ) -> Service {
        Service {
            revision: Some(Arc::new(Revision {
                commit: self.commit.clone(),
                checkout: self.tree.clone(),
                work_tree: self.work_tree.clone(),
                toolchains,
                contracts,
            })),
            ..service
        }
    }

    fn lacks(&self, pattern: &str, error: CommandError) -> CommandError {
        let commit = &self.commit[..self.commit.len().min(12)];
        match error {
            CommandError::Input(text) => {
                CommandError::Input(format!("revision {commit} does not have `{pattern}`: {text}"))
            }
            other => other,
        }
    }
}

/// The only service among those that a pattern selects.
pub(super) fn only<'a>(found: &[&'a Service], pattern: &str) -> Result<&'a Service, CommandError> {
    match found {
        [service] => Ok(service),
        several => Err(CommandError::Input(format!(
            "`{pattern}` matches {} services: select one",
            several.len()
        ))),
    }
}

fn resolve(root: &Path, revision: &str) -> Result<String, CommandError> {
    let wanted = format!("{revision}^{{commit}}");
    match git::output(
        root,
        &["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted],
    ) {
        Ok(commit) => Ok(String::from_utf8_lossy(&commit).trim().to_owned()),
        Err(GitError::Failed(said)) => {
            let said = if said.is_empty() {
                said
            } else {
                format!(" ({said})")
            };
            Err(CommandError::Input(format!(
                "git does not find the revision `{revision}` in this checkout{said} → Fetch it: `git fetch origin {revision}`."
            )))
        }
        Err(absent) => Err(CommandError::Input(absent.to_string())),
    }
}

fn is_whole(root: &Path) -> bool {
    root.join(WHOLE).is_file() && root.join(TREE).is_dir()
}

/// If another prony process was faster, its copy is used. An incomplete checkout, or one of an earlier version of prony, is replaced.
fn put_in_place(aside: &Path, root: &Path) -> Result<(), CommandError> {
    if fs::rename(aside, root).is_err() && !is_whole(root) {
        fs::remove_dir_all(root).failed(|| format!("cannot remove {}", root.display()))?;
        fs::rename(aside, root).failed(|| format!("cannot create the folder {}", root.display()))?;
    }
    Ok(())
}

/// Writes the files of a commit, and of its submodules, into a folder, which is created.
fn take_out(work_tree: &Path, commit: &str, to: &Path) -> Result<(), CommandError> {
    let failed =
        |error: GitError| CommandError::Input(format!("cannot check out the revision {commit}: {error}"));
    fs::create_dir_all(to).failed(|| format!("cannot create the folder {}", to.display()))?;
    let scratch = tempfile::tempdir().failed(|| "cannot create a temporary folder".to_owned())?;
    // An index of its own. Files are checked out of it as git fills a working tree: `git archive` leaves out those with the
    // attribute `export-ignore`.
    let index = scratch.path().join("index");
    let git = |arguments: &[&str], input: Stdio| {
        let mut git = git::command(work_tree);
        git::run(git.env("GIT_INDEX_FILE", &index).args(arguments).stdin(input))
    };
    git(&["read-tree", commit], Stdio::null()).map_err(failed)?;
    let listed = git(&["ls-files", "-z"], Stdio::null()).map_err(failed)?;
    let names = scratch.path().join("names");
    fs::write(&names, &listed).failed(|| format!("cannot write {}", names.display()))?;
    let names = File::open(&names).failed(|| format!("cannot read {}", names.display()))?;
    let prefix = std::path::absolute(to).unwrap_or_else(|_| to.to_owned());
    let prefix = format!("--prefix={}/", prefix.display());
    let arguments = ["checkout-index", "-z", "--stdin", "--force", &prefix];
    git(&arguments, names.into()).map_err(failed)?;
    let staged = git(&["ls-files", "-z", "--stage"], Stdio::null()).map_err(failed)?;
    for (path, commit) in submodules(&staged) {
        let module = work_tree.join(&path);
        // One that is not initialized has no files in the work tree either.
        if module.join(".git").exists() {
            take_out(&module, &commit, &to.join(&path))?;
        }
    }
    Ok(())
}

/// Path and commit of each submodule in a list of `git ls-files --stage`.
fn submodules(staged: &[u8]) -> Vec<(PathBuf, String)> {
    let entries = staged.split(|byte| *byte == 0);
    entries
        .filter_map(|entry| {
            let end = entry.iter().position(|byte| *byte == b'\t')?;
            let head = String::from_utf8_lossy(&entry[..end]).into_owned();
            let commit = head.strip_prefix("160000 ")?.split(' ').next()?.to_owned();
            Some((PathBuf::from(OsStr::from_bytes(&entry[end + 1..])), commit))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Runs git in a folder, and returns what it prints.
    fn git(root: &Path, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.arg("-C")
            .arg(root)
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
            .args(["-c", "protocol.file.allow=always"]);
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

    fn taken_out(root: &Path, commit: &str) -> PathBuf {
        let checkout = Checkout {
            root: root.to_owned(),
        };
        let work_tree = git::work_tree(root).expect("a repository");
        checkout.taken_out(work_tree, commit).expect("taken out")
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder").flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
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
        fs::create_dir_all(folder.path().join("src")).expect("made");
        fs::write(folder.path().join("src/above.c"), "above").expect("written");
        let commit = committed(
            folder.path(),
            &project,
            &[ignored, ("services/toy/data", "$Format:%H$")],
        );
        let tree = taken_out(&project, &commit);
        let data = fs::read_to_string(tree.join("benchmarks/services/toy/data")).expect("there");
        assert_eq!(data, "$Format:%H$", "as in a working tree");
        assert_eq!(
            names(&tree),
            ["benchmarks", "src"],
            "also what is above the project"
        );
        assert_eq!(
            names(&tree.join("benchmarks")),
            [".gitattributes", "contracts", "services"]
        );
    }

    #[test]
    fn a_revision_has_the_files_of_its_submodules() {
        let folder = tempfile::tempdir().expect("a folder");
        let (lib, shop) = (folder.path().join("lib"), folder.path().join("shop"));
        committed(&lib, &lib, &[("lib.c", "one")]);
        committed(&shop, &shop, &[]);
        git(&shop, &["submodule", "--quiet", "add", "../lib", "vendor/lib"]);
        git(&shop, &["commit", "-qm", "lib"]);
        let commit = git(&shop, &["rev-parse", "HEAD"]);
        fs::write(shop.join("vendor/lib/lib.c"), "two").expect("written");
        let tree = taken_out(&shop, &commit);
        let text = fs::read_to_string(tree.join("vendor/lib/lib.c"));
        assert_eq!(text.expect("there"), "one");
    }

    /// `prony clean --older-than` counts from the last use.
    #[test]
    fn a_revision_that_is_used_again_is_not_old() {
        let folder = tempfile::tempdir().expect("a folder");
        let commit = committed(folder.path(), folder.path(), &[]);
        let stamp = || taken_out(folder.path(), &commit).with_file_name(WHOLE);
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
        let tree = taken_out(folder.path(), &commit);
        let main = fs::read_to_string(tree.join("services/toy/main.c"));
        assert_eq!(main.expect("there"), "services/toy/main.c");
    }

    #[test]
    fn a_revision_that_was_taken_out_in_part_is_taken_out_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let commit = committed(folder.path(), folder.path(), &[]);
        let revisions = folder.path().join(".prony/revisions");
        // Left behind by a killed prony, and by an earlier version.
        for (file, text) in [("services/toy/service.toml", "half"), (WHOLE, "")] {
            let path = revisions.join(&commit).join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
            let tree = taken_out(folder.path(), &commit);
            let main = fs::read_to_string(tree.join("services/toy/main.c"));
            assert_eq!(main.expect("there"), "services/toy/main.c");
            assert_eq!(taken_out(folder.path(), &commit), tree);
            assert_eq!(names(&revisions), [commit.as_str()], "nothing is left over");
            fs::remove_dir_all(revisions.join(&commit)).expect("it is there");
        }
    }
}
