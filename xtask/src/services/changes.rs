//! The entries of the ledger that the change under test adds or edits.

use super::ledger::{Entries, FOLDER, parse};
use super::select::Id;
use crate::checkout::{Checkout, git};
use anyhow::{Context as _, Result, bail};
use std::collections::BTreeSet;
use std::fs;

/// The empty tree of git, the state before the first commit.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// The entries that differ from those of the base, or are new. A manual edit is no proof: these variants are verified.
pub(super) fn edited(checkout: &Checkout, base: &str) -> Result<BTreeSet<Id>> {
    let root = &checkout.root;
    let changed = git(root, &["diff", "--name-only", "--relative", base, "--", FOLDER])
        .with_context(|| format!("git finds no difference to `{base}`: is it a revision?"))?;
    let new = git(
        root,
        &["ls-files", "--others", "--exclude-standard", "--", FOLDER],
    );
    let mut edited = BTreeSet::new();
    for file in changed.lines().chain(new.unwrap_or_default().lines()) {
        let name = file.rsplit('/').next().unwrap_or_default();
        let Some(service) = name.strip_suffix(".toml") else {
            continue;
        };
        let Ok(text) = fs::read_to_string(checkout.path(file)) else {
            continue;
        };
        let before = git(root, &["show", &format!("{base}:./{file}")]);
        // An entry of an unreadable file counts as missing.
        let before: Entries = before.and_then(|text| parse(&text).ok()).unwrap_or_default();
        for (variant, entry) in parse(&text).with_context(|| file.to_owned())? {
            if before.get(&variant) != Some(&entry) {
                edited.insert(Id::new(service, &variant));
            }
        }
    }
    Ok(edited)
}

/// The base of the change under test: where HEAD left the default branch, or the first parent if HEAD is on it. `None`: without a
/// repository there is no change.
pub(super) fn base(checkout: &Checkout) -> Result<Option<String>> {
    let root = &checkout.root;
    if git(root, &["rev-parse", "--verify", "HEAD"]).is_none() {
        return match git(root, &["rev-parse", "--git-dir"]) {
            Some(_) => Ok(Some(EMPTY_TREE.to_owned())),
            None => Ok(None),
        };
    }
    if let Some(branch) = default_branch(checkout)
        && git(root, &["merge-base", "--is-ancestor", "HEAD", &branch]).is_none()
    {
        let left = git(root, &["merge-base", "HEAD", &branch]);
        return left.map(Some).with_context(|| {
            format!("HEAD and {branch} have no common ancestor here: fetch more history, or give --base")
        });
    }
    if let Some(parent) = git(root, &["rev-parse", "--verify", "HEAD^1"]) {
        return Ok(Some(parent));
    }
    if git(root, &["rev-parse", "--is-shallow-repository"]).as_deref() == Some("true") {
        bail!(
            "the parent of HEAD is not in this shallow clone: fetch it (git fetch --deepen 1), or give --base"
        );
    }
    Ok(Some(EMPTY_TREE.to_owned()))
}

fn default_branch(checkout: &Checkout) -> Option<String> {
    let remote_head = git(
        &checkout.root,
        &["symbolic-ref", "--short", "refs/remotes/origin/HEAD"],
    );
    remote_head.or_else(|| {
        let names = ["origin/main", "origin/master", "main", "master"];
        let exists = |branch: &&str| git(&checkout.root, &["rev-parse", "--verify", branch]).is_some();
        names.into_iter().find(exists).map(str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::process::Command;

    const ENTRY: &str = "prony = \"1\"\nseconds = 2\nparts = { source = \"SOURCE\" }\n";

    fn run(root: &Path, arguments: &[&str]) {
        let output = Command::new("git")
            .args([
                "-c",
                "user.name=a",
                "-c",
                "user.email=a@b",
                "-c",
                "init.defaultBranch=main",
            ])
            .args(arguments)
            .current_dir(root)
            .output()
            .expect("git");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }

    fn write(root: &Path, service: &str, entries: &[(&str, &str)]) {
        let entry =
            |(variant, source): &(&str, &str)| format!("[{variant}]\n{}", ENTRY.replace("SOURCE", source));
        let text: Vec<String> = entries.iter().map(entry).collect();
        let text = text.concat();
        fs::create_dir_all(root.join(FOLDER)).expect("a folder");
        fs::write(root.join(FOLDER).join(format!("{service}.toml")), text).expect("a file");
    }

    fn commit(root: &Path) {
        run(root, &["add", "-A"]);
        run(root, &["commit", "-q", "--allow-empty", "-m", "a change"]);
    }

    fn found(root: &Path) -> Vec<String> {
        let checkout = Checkout::at(root);
        let base = base(&checkout).expect("a base").expect("a repository");
        let edited = edited(&checkout, &base).expect("entries");
        edited.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn entries_that_a_change_adds_or_edits_are_found_committed_or_not() {
        let place = tempfile::tempdir().expect("a folder");
        let root = place.path();
        assert_eq!(base(&Checkout::at(root)).expect("no error"), None);
        run(root, &["init", "-q"]);
        write(root, "go", &[("current", "a"), ("era", "b")]);
        assert_eq!(found(root), ["go/current", "go/era"]);
        commit(root);
        assert_eq!(
            found(root),
            ["go/current", "go/era"],
            "the first commit adds them"
        );
        write(root, "go", &[("current", "a"), ("era", "c")]);
        commit(root);
        assert_eq!(found(root), ["go/era"]);
        commit(root);
        assert!(found(root).is_empty(), "the next commit changes none");
        write(root, "go", &[("current", "d"), ("era", "c")]);
        write(root, "node", &[("current", "a")]);
        assert_eq!(found(root), ["go/current", "node/current"]);
    }

    #[test]
    fn on_a_branch_all_of_its_commits_are_the_change() {
        let place = tempfile::tempdir().expect("a folder");
        let root = place.path();
        run(root, &["init", "-q"]);
        commit(root);
        run(root, &["checkout", "-q", "-b", "topic"]);
        write(root, "go", &[("current", "a")]);
        commit(root);
        commit(root);
        run(root, &["checkout", "-q", "main"]);
        write(root, "node", &[("current", "a")]);
        commit(root);
        run(root, &["checkout", "-q", "topic"]);
        assert_eq!(found(root), ["go/current"]);
    }

    #[test]
    fn a_shallow_clone_without_the_parent_is_an_error() {
        let place = tempfile::tempdir().expect("a folder");
        let (first, second) = (place.path().join("first"), place.path().join("second"));
        fs::create_dir(&first).expect("a folder");
        run(&first, &["init", "-q"]);
        commit(&first);
        commit(&first);
        let url = format!("file://{}", first.display());
        run(place.path(), &["clone", "-q", "--depth", "1", &url, "second"]);
        let error = base(&Checkout::at(&second)).expect_err("no parent");
        assert!(error.to_string().contains("git fetch"), "{error}");
    }
}
