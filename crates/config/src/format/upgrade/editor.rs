//! Edits of a tree that are kept.

use crate::format::edit::{Edit, Path, Step};
use toml::de::{DeTable, DeValue};

/// A tree, and the edits that were applied to it.
pub(super) struct Editor<'a, 'i> {
    tree: &'a mut DeTable<'i>,
    edits: &'a mut Vec<Edit>,
}

impl<'a, 'i> Editor<'a, 'i> {
    pub(super) const fn new(tree: &'a mut DeTable<'i>, edits: &'a mut Vec<Edit>) -> Self {
        Self { tree, edits }
    }

    pub(super) fn apply(&mut self, edit: Edit) {
        edit.apply_to_tree(self.tree);
        self.edits.push(edit);
    }

    fn value(&self, path: &[Step]) -> Option<&DeValue<'i>> {
        let (first, rest) = path.split_first()?;
        let Step::Key(key) = first else { return None };
        let mut value = self.tree.get(key.as_str())?.get_ref();
        for step in rest {
            value = match step {
                Step::Key(key) => value.as_table()?.get(key.as_str())?.get_ref(),
                Step::Index(index) => value.as_array()?.get(*index)?.get_ref(),
            };
        }
        Some(value)
    }

    /// The table at a path; an empty path is the whole file.
    fn table(&self, path: &[Step]) -> Option<&DeTable<'i>> {
        if path.is_empty() {
            return Some(self.tree);
        }
        self.value(path)?.as_table()
    }

    /// Whether a table has a key.
    pub(super) fn has(&self, path: &[Step], key: &str) -> bool {
        self.table(path).is_some_and(|table| table.contains_key(key))
    }

    /// The text at a path.
    pub(super) fn text(&self, path: &[Step]) -> Option<&str> {
        self.value(path)?.as_str()
    }

    /// The paths of all tables in a table of tables.
    pub(super) fn tables_of(&self, path: &[Step]) -> Vec<Path> {
        let table = self.table(path).into_iter().flat_map(DeTable::iter);
        let inner = table.filter(|(_, value)| value.get_ref().is_table());
        inner.map(|(key, _)| key_of(path, key.get_ref())).collect()
    }

    /// The paths of all items of a list.
    pub(super) fn items_of(&self, path: &[Step]) -> Vec<Path> {
        let items = self.value(path).and_then(DeValue::as_array);
        let count = items.map_or(0, |items| items.iter().count());
        let item = |index| path.iter().cloned().chain([Step::Index(index)]).collect();
        (0..count).map(item).collect()
    }

    /// Renames keys of a table. A key whose new name is taken stays: that is an error of the file.
    pub(super) fn rename(&mut self, table: &[Step], names: &[(&str, &str)]) {
        for (from, to) in names {
            if self.has(table, from) && !self.has(table, to) {
                self.apply(Edit::Rename {
                    table: table.to_vec(),
                    from: (*from).to_owned(),
                    to: (*to).to_owned(),
                });
            }
        }
    }

    /// Replaces a text by its new name.
    pub(super) fn rename_text(&mut self, at: &[Step], names: &[(&str, &str)]) {
        let written = self.text(at);
        let Some((_, to)) = names.iter().find(|(from, _)| written == Some(*from)) else {
            return;
        };
        self.apply(Edit::Replace {
            at: at.to_vec(),
            value: toml::Value::from(*to),
        });
    }
}

/// The path of a key in a table.
pub(super) fn key_of(table: &[Step], key: &str) -> Path {
    let key = Step::Key(key.to_owned());
    table.iter().cloned().chain([key]).collect()
}
