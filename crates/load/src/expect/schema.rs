//! JSON Schema: rules for the shape of a body whose values are not known.

use super::{ExpectationError, Mismatch, excerpt, json};
use prony_schema::Schema;
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};

/// Largest number of schemas kept compiled.
const MOST: usize = 256;
/// A cache of compiled schemas. The check builds a new expectation for each request, and compiling a schema is the
/// most expensive part of that.
static COMPILED: Mutex<Vec<(Value, Arc<Schema>)>> = Mutex::new(Vec::new());

/// A compiled schema, shared by all expectations that use it.
#[derive(Debug, Clone)]
pub(super) struct JsonSchema(Arc<Schema>);

impl JsonSchema {
    /// Compiles the schema, or takes it from the cache.
    pub(super) fn compile(schema: &Value) -> Result<Self, ExpectationError> {
        let mut cache = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, compiled)) = cache.iter().find(|(one, _)| one == schema) {
            return Ok(Self(Arc::clone(compiled)));
        }
        let compiled = Schema::compile(schema).map_err(|error| ExpectationError::JsonSchema {
            reason: error.to_string(),
        })?;
        let compiled = Arc::new(compiled);
        if cache.len() == MOST {
            cache.clear();
        }
        cache.push((schema.clone(), Arc::clone(&compiled)));
        Ok(Self(compiled))
    }

    /// Judges a body; the mismatch names the first member that the schema does not allow.
    pub(super) fn judge(&self, body: &[u8]) -> Result<(), Mismatch> {
        let value = json::parsed(body, || "JSON that the schema allows".to_owned())?;
        self.0.judge(&value).map_err(|fault| {
            let what = if fault.at.is_empty() {
                "body".to_owned()
            } else {
                format!("body at {}", fault.at)
            };
            let wanted = format!("{} (schema {})", fault.reason, fault.rule);
            Mismatch::new(what, wanted, excerpt(fault.got.as_bytes()))
        })
    }
}
