//! Upgrades testbed files, and `prony.toml`, which names one.

use super::editor::{Editor, key_of};
use crate::format::edit::Edit;
use toml::de::DeTable;

pub(super) fn upgrade(tree: &mut DeTable<'_>, edits: &mut Vec<Edit>) {
    let mut editor = Editor::new(tree, edits);
    for host in editor.tables_of(&key_of(&[], "host")) {
        let names = [
            ("program", "binary"),
            ("build", "build_on"),
            ("node", "node_selector"),
        ];
        editor.rename(&host, &names);
        let places = [("there", "host"), ("here", "controller")];
        editor.rename_text(&key_of(&host, "build_on"), &places);
        // A number is the count of CPUs of a pod.
        if editor.text(&key_of(&host, "cpus")).is_some() {
            editor.rename(&host, &[("cpus", "cpu_set")]);
        }
    }
    let roles = [("backing", "backing_service"), ("companion", "backing_service")];
    editor.rename(&key_of(&[], "roles"), &roles);
    let names = [
        ("prony", "binary"),
        ("within", "ready_timeout"),
        ("deadline", "max_lifetime"),
        ("pull", "pull_policy"),
    ];
    editor.rename(&key_of(&[], "kubernetes"), &names);
}

/// Upgrades `prony.toml`.
pub(super) fn upgrade_project(tree: &mut DeTable<'_>, edits: &mut Vec<Edit>) {
    Editor::new(tree, edits).rename(&[], &[("lab", "testbed")]);
}
