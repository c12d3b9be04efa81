use crate::format::edit::Edit;
use toml::de::DeTable;

pub(super) fn upgrade(_tree: &mut DeTable<'_>, _edits: &mut Vec<Edit>) {}

pub(super) fn load_table(_table: &DeTable<'_>, _at: &super::Path, _edits: &mut Vec<Edit>) {}
