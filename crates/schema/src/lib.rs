//! JSON Schema: validates the shape of a value whose content is not known in advance.
//!
//! Only this crate may depend on the validation library, and nothing here may be generic: newer versions of the library are
//! generic, so every crate that uses them compiles all of their code. 0.46 is the last version that is not. Start at [`Schema`].

use jsonschema::Validator;
use serde_json::Value;
use std::fmt;

/// A compiled schema. Formats are checked (`date-time`, `email`, …). References resolve only within the schema: nothing is
/// fetched.
pub struct Schema(Validator);

/// Why a schema could not be compiled.
#[derive(Debug, thiserror::Error)]
#[error("{}{}{reason}", at, if at.is_empty() { "" } else { ": " })]
pub struct SchemaError {
    /// JSON pointer to the part of the schema that is wrong; empty if it is the schema as a whole.
    pub at: String,
    /// What is wrong with it.
    pub reason: String,
}

/// The first violation of a schema in a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {reason} (schema {rule})")]
pub struct Fault {
    /// JSON pointer to the violating member of the value; empty for the value as a whole.
    pub at: String,
    /// JSON pointer to the violated rule in the schema.
    pub rule: String,
    /// Description of the violation, without the value.
    pub reason: String,
    /// The violating member, as JSON.
    pub got: String,
}

impl fmt::Debug for Schema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Schema")
    }
}

impl Schema {
    /// Compiles a schema. The error names the part of the schema that is wrong.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        jsonschema::options()
            .should_validate_formats(true)
            .build(schema)
            .map(Self)
            .map_err(|error| SchemaError {
                at: error.instance_path().to_string(),
                reason: error.to_string(),
            })
    }

    /// Validates a value.
    pub fn judge(&self, value: &Value) -> Result<(), Fault> {
        // The fast check first, since most replies are valid.
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
