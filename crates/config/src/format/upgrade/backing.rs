//! Upgrades `backing.toml`.

use super::editor::Editor;
use crate::format::edit::Edit;
use toml::de::DeTable;

pub(super) fn upgrade(tree: &mut DeTable<'_>, edits: &mut Vec<Edit>) {
    let names = [
        ("exports", "env"),
        ("asked_at", "query_url"),
        ("faults", "fatal_log"),
        ("blames", "service_error_log"),
    ];
    Editor::new(tree, edits).rename(&[], &names);
}
