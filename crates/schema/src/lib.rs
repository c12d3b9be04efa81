//! JSON Schema: validates the shape of a value whose content is not known in advance.
//!
//! Only this crate may depend on the validation library, and nothing here may be generic: newer versions of the library are
//! generic, so every crate that uses them compiles all of their code. 0.46 is the last version that is not. Start at [`Schema`].

use jsonschema::Validator;
use serde_json::Value;
use std::{fmt, thread};

/// Most references of a schema that is compiled on the stack of the caller. What a reference leads to is compiled within what has it, so that
/// a chain of schemas needs as much stack as it is long.
const FLAT: usize = 200;
/// The stack for others, bytes: memory that is not used is not taken.
const STACK: usize = 1 << 30;

fn references(value: &Value) -> usize {
    match value {
        Value::Object(members) => {
            usize::from(members.contains_key("$ref")) + members.values().map(references).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(references).sum(),
        _ => 0,
    }
}

/// A compiled schema. Formats are checked (`date-time`, `email`, …). References resolve only within the schema: nothing is
/// fetched.
pub struct Schema {
    validator: Option<Validator>,
    /// Whether it was compiled with a larger stack, and needs one to be freed.
    is_deep: bool,
}

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

impl Drop for Schema {
    fn drop(&mut self) {
        let validator = self.validator.take();
        if self.is_deep {
            deep(|| drop(validator));
        }
    }
}

/// Runs this with a large stack.
fn deep<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let builder = thread::Builder::new().stack_size(STACK);
        let running = builder.spawn_scoped(scope, run);
        let done = running.expect("invariant: the system starts a thread").join();
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

impl fmt::Debug for Schema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Schema")
    }
}

impl Schema {
    /// Compiles a schema. The error names the part of the schema that is wrong.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        let is_deep = references(schema) > FLAT;
        let compile = || {
            jsonschema::options()
                .should_validate_formats(true)
                .build(schema)
                .map_err(|error| SchemaError {
                    at: error.instance_path().to_string(),
                    reason: error.to_string(),
                })
        };
        let validator = if is_deep { deep(compile) } else { compile() };
        validator.map(|validator| Self {
            validator: Some(validator),
            is_deep,
        })
    }

    /// Validates a value.
    pub fn judge(&self, value: &Value) -> Result<(), Fault> {
        // The fast check first, since most replies are valid.
        let Some(validator) = &self.validator else {
            return Ok(());
        };
        if validator.is_valid(value) {
            return Ok(());
        }
        validator.validate(value).map_err(|error| Fault {
            at: error.instance_path().to_string(),
            rule: error.schema_path().to_string(),
            reason: error.masked().to_string(),
            got: error.instance().to_string(),
        })
    }
}

#[cfg(test)]
mod tests;
