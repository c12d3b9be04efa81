//! Brings files of former formats to the current one: the same edits change the tree in memory and the file on disk.

mod aliases;
mod backing;
mod contract;
mod editor;
mod placeholders;
mod service;
mod suite;
mod testbed;
mod toolchains;

use super::edit::{Edit, Path, Step};
use super::{FORMAT, FileKind};
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Upgrades a file without `format` in memory, and returns the changes. With its schema, keys get their current names, too.
pub(super) fn upgrade(kind: FileKind, tree: &mut DeTable<'_>, schema: Option<&Value>) -> Vec<Edit> {
    let mut edits = Vec::new();
    if let Some(schema) = schema {
        aliases::rename(schema, tree, &mut edits);
    }
    match kind {
        FileKind::Contract | FileKind::Sequence => contract::upgrade(kind, tree, &mut edits),
        FileKind::Service => service::upgrade(tree, &mut edits),
        FileKind::Suite => suite::upgrade(tree, &mut edits),
        FileKind::Toolchains => toolchains::upgrade(tree, &mut edits),
        FileKind::Backing => backing::upgrade(tree, &mut edits),
        FileKind::Testbed => testbed::upgrade(tree, &mut edits),
        FileKind::Project => testbed::upgrade_project(tree, &mut edits),
    }
    // Tables that have another place now may have had former names in them.
    if let Some(schema) = schema {
        aliases::rename(schema, tree, &mut edits);
    }
    edits
}

/// A tree that changes, and the changes.
struct Editor<'a, 'i> {
    tree: &'a mut DeTable<'i>,
    edits: &'a mut Vec<Edit>,
}

impl<'i> Editor<'_, 'i> {
    fn apply(&mut self, edit: Edit) {
        edit.apply_to_tree(self.tree);
        self.edits.push(edit);
    }

    /// The value at a path.
    fn at(&self, path: &[Step]) -> Option<&Spanned<DeValue<'i>>> {
        let (Step::Key(first), rest) = path.split_first()? else {
            return None;
        };
        rest.iter()
            .try_fold(self.tree.get(first.as_str())?, |value, step| {
                match (value.get_ref(), step) {
                    (DeValue::Table(table), Step::Key(key)) => table.get(key.as_str()),
                    (DeValue::Array(items), Step::Index(index)) => items.get(*index),
                    _ => None,
                }
            })
    }

    fn table(&self, path: &[Step]) -> Option<&DeTable<'i>> {
        if path.is_empty() {
            return Some(self.tree);
        }
        self.at(path)?.get_ref().as_table()
    }

    fn text(&self, path: &[Step]) -> Option<String> {
        self.at(path)?.get_ref().as_str().map(str::to_owned)
    }

    fn has(&self, path: &[Step]) -> bool {
        self.at(path).is_some()
    }

    /// The keys of a table, in the order of the file.
    fn keys(&self, path: &[Step]) -> Vec<String> {
        let Some(table) = self.table(path) else {
            return Vec::new();
        };
        let mut keys: Vec<(usize, String)> = table
            .keys()
            .map(|key| (key.span().start, key.get_ref().to_string()))
            .collect();
        keys.sort();
        keys.into_iter().map(|(_, key)| key).collect()
    }

    /// The paths of the items of a list, or of a single value itself.
    fn items(&self, path: &[Step]) -> Vec<Path> {
        match self.at(path).map(Spanned::get_ref) {
            None => Vec::new(),
            Some(DeValue::Array(items)) => (0..items.len())
                .map(|index| join(path, Step::Index(index)))
                .collect(),
            Some(_) => vec![path.to_vec()],
        }
    }

    fn rename(&mut self, table: &[Step], from: &str, to: &str) {
        if self.has(&key(table, from)) {
            self.apply(Edit::Rename {
                table: table.to_vec(),
                from: from.to_owned(),
                to: to.to_owned(),
            });
        }
    }

    fn replace(&mut self, at: &[Step], value: impl Into<toml::Value>) {
        self.apply(Edit::Replace {
            at: at.to_vec(),
            value: value.into(),
        });
    }

    fn insert(&mut self, table: &[Step], name: &str, value: impl Into<toml::Value>) {
        self.apply(Edit::Insert {
            table: table.to_vec(),
            key: name.to_owned(),
            value: value.into(),
        });
    }

    fn remove(&mut self, at: &[Step]) {
        if self.has(at) {
            self.apply(Edit::Remove { at: at.to_vec() });
        }
    }

    fn relocate(&mut self, from: &[Step], to: &[Step]) {
        if self.has(from) {
            self.apply(Edit::Move {
                from: from.to_vec(),
                to: to.to_vec(),
            });
        }
    }
}

fn join(path: &[Step], step: Step) -> Path {
    path.iter().cloned().chain([step]).collect()
}

/// The path of a key in a table.
fn key(path: &[Step], name: &str) -> Path {
    join(path, Step::Key(name.to_owned()))
}

/// The changes that bring a file to the current format, `format` itself included; none if it is current.
pub(crate) fn changes(kind: FileKind, tree: &mut DeTable<'_>, schema: &Value) -> Vec<Edit> {
    let is_old = !tree.contains_key("format");
    let mut edits = Vec::new();
    if is_old {
        edits = upgrade(kind, tree, Some(schema));
        edits.push(Edit::Insert {
            table: Path::new(),
            key: "format".to_owned(),
            value: i64::from(FORMAT).into(),
        });
    } else {
        aliases::rename(schema, tree, &mut edits);
    }
    edits
}
