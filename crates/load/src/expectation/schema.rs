//! JSON Schema: what shape a body must have where its values are not known.

use super::{ExpectationError, Mismatch, excerpt, json};
use jsonschema::Validator;
use serde_json::Value;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Schemas that are kept compiled, at most.
const MOST: usize = 256;
/// A check makes an expectation of each request anew, and compiling a schema costs more than all else about it.
static COMPILED: Mutex<Vec<(Value, Arc<Validator>)>> = Mutex::new(Vec::new());

/// A schema, compiled once.
#[derive(Clone)]
pub(super) struct JsonSchema(Arc<Validator>);

impl fmt::Debug for JsonSchema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JsonSchema")
    }
}

impl JsonSchema {
    /// Compiles it, once for all expectations that ask the same. References lead within it: nothing is fetched.
    pub(super) fn compile(schema: &Value) -> Result<Self, ExpectationError> {
        let mut known = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, compiled)) = known.iter().find(|(one, _)| one == schema) {
            return Ok(Self(Arc::clone(compiled)));
        }
        let compiled = jsonschema::options()
            .should_validate_formats(true)
            .build(schema)
            .map_err(|error| {
                let place = error.instance_path().to_string();
                let place = if place.is_empty() {
                    String::new()
                } else {
                    format!("{place}: ")
                };
                ExpectationError::JsonSchema {
                    reason: format!("{place}{error}"),
                }
            })?;
        let compiled = Arc::new(compiled);
        if known.len() == MOST {
            known.clear();
        }
        known.push((schema.clone(), Arc::clone(&compiled)));
        Ok(Self(compiled))
    }

    /// Judges a body; the mismatch names the first member that the schema does not allow.
    pub(super) fn judge(&self, body: &[u8]) -> Result<(), Mismatch> {
        let value = json::parsed(body, || "JSON that the schema allows".to_owned())?;
        // The quick question first: most replies are right.
        if self.0.is_valid(&value) {
            return Ok(());
        }
        let Err(error) = self.0.validate(&value) else {
            return Ok(());
        };
        let path = error.instance_path().to_string();
        let what = if path.is_empty() {
            "body".to_owned()
        } else {
            format!("body at {path}")
        };
        let got = excerpt(error.instance().to_string().as_bytes());
        Err(Mismatch::new(
            what,
            format!("{} (schema {})", error.masked(), error.schema_path()),
            got,
        ))
    }
}
