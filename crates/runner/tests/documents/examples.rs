//! The files in documents are valid.
//!
//! `<!-- example: contracts/shop/contract.toml -->` before a block says where its file would be. The files of a document are those
//! of one project.

use super::root;
use prony_config::Catalogue;
use prony_config::format::{FileKind, SourceFile};
use prony_runner::verify_file;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const MARK: &str = "<!-- example: ";

/// The files of a document by path, and the blocks whose file has no name.
fn files(page: &str) -> (BTreeMap<String, String>, Vec<String>) {
    let (mut named, mut unnamed) = (BTreeMap::new(), Vec::new());
    let mut blocks = page.split("```toml\n");
    let mut before = blocks.next().unwrap_or_default();
    for block in blocks {
        let (text, after) = block.split_once("```").expect("a block has an end");
        let name = before.trim_end().lines().last();
        let name = name.and_then(|line| line.strip_prefix(MARK)?.strip_suffix(" -->"));
        match name {
            Some(name) => drop(named.insert(name.to_owned(), text.to_owned())),
            None if text.starts_with("#:schema") || text.starts_with("format = ") => {
                unnamed.push(text.lines().next().unwrap_or_default().to_owned());
            }
            None => {}
        }
        before = after;
    }
    (named, unnamed)
}

fn errors(files: &BTreeMap<String, String>) -> Vec<String> {
    let project = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = project.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new(""))).expect("a folder");
        std::fs::write(&path, text).expect("written");
    }
    let catalogue = Catalogue::read_with(project.path(), Some(&root())).expect("a project");
    let verified = files.iter().map(|(name, text)| {
        let path = project.path().join(name);
        let kind = FileKind::of(&path, text).ok_or_else(|| format!("{name} is no file of prony"))?;
        let source = SourceFile::read(&path).map_err(|error| error.to_string())?;
        verify_file(kind, &source, &catalogue).map_err(|error| error.to_string())
    });
    verified.filter_map(Result::err).collect()
}

#[test]
fn files_in_documents_are_valid() {
    let documents = std::fs::read_dir(root().join("docs")).expect("the documents");
    let documents = documents.map(|entry| entry.expect("an entry").path());
    let pages = ["README.md", "CONTRIBUTING.md"].map(|name| root().join(name));
    let mut pages: Vec<PathBuf> = documents.chain(pages).collect();
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    let mut count = 0;
    for page in pages {
        let text = std::fs::read_to_string(&page).expect("a document");
        let (files, unnamed) = files(&text);
        count += files.len();
        assert_eq!(
            unnamed,
            [""; 0],
            "{}: give each file a line `{MARK}PATH -->`",
            page.display()
        );
        if !files.is_empty() {
            assert_eq!(errors(&files), [""; 0], "{}", page.display());
        }
    }
    assert!(count >= FileKind::ALL.len(), "only {count} files");
}
