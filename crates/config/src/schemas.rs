//! The JSON Schemas of the files that this crate reads.

use crate::contract::ContractToml;
use crate::format::{FileKind, schema};
use serde_json::Value;
use std::sync::Arc;

/// The schema of a kind of file with prony's extensions; `None` for kinds that another crate reads.
pub fn extended(kind: FileKind) -> Option<Arc<Value>> {
    Some(match kind {
        FileKind::Contract => schema::extended::<ContractToml>(),
        FileKind::Sequence => schema::extended::<crate::contract::SequenceToml>(),
        _ => return None,
    })
}
