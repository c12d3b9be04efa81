//! Upgrades `service.toml`.

use super::editor::{Editor, key_of};
use crate::format::edit::{Edit, Step};
use toml::de::DeTable;

pub(super) fn upgrade(tree: &mut DeTable<'_>, edits: &mut Vec<Edit>) {
    let mut editor = Editor::new(tree, edits);
    table(&mut editor, &[]);
    for variant in editor.items_of(&key_of(&[], "variant")) {
        table(&mut editor, &variant);
    }
}

/// The file or a variant.
fn table(editor: &mut Editor<'_, '_>, at: &[Step]) {
    editor.rename(at, &[("documents", "study"), ("era", "pinned")]);
    editor.rename(&key_of(at, "workers"), &[("uses", "kind"), ("how", "note")]);
    editor.rename_text(&key_of(at, "class"), &[("full", "fullstack")]);
    for protocol in editor.items_of(&key_of(at, "protocols")) {
        editor.rename_text(&protocol, &[("http", "http1")]);
    }
}
