//! Brings files of former formats to the current one.

mod suite;

use super::FileKind;
use toml::de::DeTable;

/// Upgrades a file without `format` in memory.
pub(super) fn in_memory(kind: FileKind, tree: &mut DeTable<'_>) {
    let mut edits = Vec::new();
    if kind == FileKind::Suite {
        suite::upgrade(tree, &mut edits);
    }
    for edit in edits {
        edit.apply_to_tree(tree);
    }
}
