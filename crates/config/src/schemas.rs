//! The JSON Schemas of the files that this crate reads.

use crate::backing::BackingToml;
use crate::contract::{ContractToml, SequenceToml};
use crate::format::{FileKind, schema};
use crate::project::Settings;
use crate::service::ServiceToml;
use crate::toolchain::ToolchainsToml;
use serde_json::Value;
use std::sync::Arc;

/// The schema of a kind of file with prony's extensions; `None` for kinds that another crate reads.
pub fn extended(kind: FileKind) -> Option<Arc<Value>> {
    Some(match kind {
        FileKind::Contract => schema::extended::<ContractToml>(),
        FileKind::Service => schema::extended::<ServiceToml>(),
        FileKind::Toolchains => schema::extended::<ToolchainsToml>(),
        FileKind::Backing => schema::extended::<BackingToml>(),
        FileKind::Sequence => schema::extended::<SequenceToml>(),
        FileKind::Suite => schema::extended::<crate::suite::SuiteToml>(),
        FileKind::Project => schema::extended::<Settings>(),
        FileKind::Testbed => return None,
    })
}
