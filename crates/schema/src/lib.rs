//! JSON Schema: what shape a value must have where its content is not known.
//!
//! Only this crate names the library that validates, and nothing here is generic: its newer versions are, and whoever names
//! them compiles all of them. 0.46 is the last that is not.

use jsonschema::Validator;
use serde_json::Value;
use std::fmt;

/// A schema, compiled. Formats count (`date-time`, `email`, …), and references lead within it: nothing is fetched.
pub struct Schema(Validator);

/// Why a schema cannot be compiled.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SchemaError(String);

/// The first member of a value that a schema does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {reason} (schema {rule})")]
pub struct Fault {
    /// Where it stands in the value, as a JSON pointer; empty for the value as a whole.
    pub at: String,
    /// The rule that it breaks, as a JSON pointer into the schema.
    pub rule: String,
    /// What the rule says.
    pub reason: String,
    /// The member itself, as JSON.
    pub got: String,
}

impl fmt::Debug for Schema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Schema")
    }
}

impl Schema {
    /// Compiles a schema; the error says which part of it is wrong.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        jsonschema::options()
            .should_validate_formats(true)
            .build(schema)
            .map(Self)
            .map_err(|error| {
                let place = error.instance_path().to_string();
                SchemaError(if place.is_empty() {
                    error.to_string()
                } else {
                    format!("{place}: {error}")
                })
            })
    }

    /// Judges a value.
    pub fn judge(&self, value: &Value) -> Result<(), Fault> {
        // The quick question first: most replies are right.
        if self.0.is_valid(value) {
            return Ok(());
        }
        self.0.validate(value).map_err(|error| Fault {
            at: error.instance_path().to_string(),
            rule: error.schema_path().to_string(),
            reason: error.masked().to_string(),
            got: error.instance().to_string(),
        })
    }
}

#[cfg(test)]
mod tests;
