use crate::format::edit::Edit;
use toml::de::DeTable;

pub(super) fn upgrade(_tree: &mut DeTable<'_>, _edits: &mut Vec<Edit>) {}
