//! Brings files without `format` to format 1. Every change is an edit, which applies to the tree of a file and to its text.

mod backing;
mod editor;
mod service;
mod testbed;
mod toolchains;

use super::FileKind;
use super::edit::Edit;
use toml::de::DeTable;

/// Upgrades a file without `format` in memory.
pub(super) fn in_memory(kind: FileKind, tree: &mut DeTable<'_>) {
    upgrade(kind, tree, &mut Vec::new());
}

/// Upgrades the tree of a file without `format`, and adds every change to `edits`.
pub(super) fn upgrade(kind: FileKind, tree: &mut DeTable<'_>, edits: &mut Vec<Edit>) {
    match kind {
        FileKind::Service => service::upgrade(tree, edits),
        FileKind::Toolchains => toolchains::upgrade(tree, edits),
        FileKind::Backing => backing::upgrade(tree, edits),
        FileKind::Testbed => testbed::upgrade(tree, edits),
        FileKind::Project => testbed::upgrade_project(tree, edits),
        FileKind::Contract | FileKind::Suite | FileKind::Sequence => {}
    }
}
