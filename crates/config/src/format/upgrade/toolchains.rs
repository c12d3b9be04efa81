//! Upgrades `toolchains.toml`.

use super::editor::{Editor, key_of};
use crate::format::edit::Edit;
use toml::de::DeTable;

pub(super) fn upgrade(tree: &mut DeTable<'_>, edits: &mut Vec<Edit>) {
    let mut editor = Editor::new(tree, edits);
    for toolchain in editor.tables_of(&[]) {
        editor.rename(&toolchain, &[("env", "export")]);
        for distribution in ["debian", "fedora", "arch"] {
            let to = key_of(&key_of(&toolchain, "packages"), distribution);
            if editor.has(&toolchain, distribution) {
                let from = key_of(&toolchain, distribution);
                editor.apply(Edit::Move { from, to });
            }
        }
    }
}
