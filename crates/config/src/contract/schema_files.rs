//! The JSON Schemas that the expectations of a contract share.

use crate::ConfigError;
use prony_load::SchemaDocument;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The schema files of a contract, each read once.
#[derive(Debug, Clone, Default)]
pub(crate) struct SchemaFiles {
    pub(crate) access: SchemaAccess,
    documents: Arc<Mutex<BTreeMap<String, SchemaDocument>>>,
    /// Whether all schemas can be read and compiled, once that is known.
    pub(crate) verified: Arc<OnceLock<Result<(), ConfigError>>>,
}

/// What happens to a schema while a contract is read. Large ones take seconds to read and compile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum SchemaAccess {
    /// It is not opened: any value is valid.
    Skip,
    /// It is read, and compiled once a reply is judged.
    #[default]
    Read,
    /// It is compiled, to find what is wrong with it.
    Compile,
}

impl SchemaFiles {
    pub(crate) fn document(
        &self,
        name: &str,
        read: impl FnOnce() -> Result<String, String>,
    ) -> Result<SchemaDocument, String> {
        let mut known = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(document) = known.get(name) {
            return Ok(document.clone());
        }
        let text = read().map_err(|reason| format!("{name}: {reason}"))?;
        let value = serde_json::from_str(&text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            format!("{name}:{line}:{column}: it is not JSON from here on")
        })?;
        let document = SchemaDocument::new(value);
        known.insert(name.to_owned(), document.clone());
        Ok(document)
    }
}
