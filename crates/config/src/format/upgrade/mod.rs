//! Brings files of former formats to the current one.

use super::FileKind;
use toml::de::DeTable;

/// Upgrades a file without `format` in memory.
pub(super) fn in_memory(_kind: FileKind, _tree: &mut DeTable<'_>) {}
