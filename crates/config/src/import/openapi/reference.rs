//! References within a description, and cycles among them.

use crate::import::DraftError;
use crate::import::document::Document;
use percent_encoding::percent_decode_str;
use serde_json::Value;

/// The most references one after another.
const LONGEST_WAY: usize = 100;

/// A description, and its version.
pub(super) struct Description<'a> {
    pub(super) document: &'a Document,
    /// Version 3.0, whose schemas are not quite JSON Schema.
    pub(super) is_old: bool,
}

impl<'a> Description<'a> {
    /// The value that a reference names, and its pointer. `at` is the position of the reference, for errors.
    pub(super) fn target(&self, reference: &str, at: &str) -> Result<(&'a Value, String), DraftError> {
        let Some(pointer) = reference.strip_prefix('#') else {
            let message = format!(
                "`$ref` refers to another file, `{reference}`: bundle them into one first, for example with `npx @redocly/cli bundle`"
            );
            return Err(self.document.invalid(at, message));
        };
        let pointer = percent_decode_str(pointer).decode_utf8_lossy().into_owned();
        match self.document.value.pointer(&pointer) {
            Some(value) => Ok((value, pointer)),
            None => Err(self
                .document
                .invalid(at, format!("`$ref` names `{reference}`, which does not exist"))),
        }
    }

    /// The value, after following its references, and its pointer.
    pub(super) fn resolved(
        &self,
        value: &'a Value,
        pointer: &str,
    ) -> Result<(&'a Value, String), DraftError> {
        let (mut value, mut here) = (value, pointer.to_owned());
        let mut way = vec![here.clone()];
        while let Some(Value::String(reference)) = value.get("$ref") {
            let (next, target) = self.target(reference, &here)?;
            if way.len() > LONGEST_WAY {
                let message = format!("more than {LONGEST_WAY} `$ref` one after another: shorten the way");
                return Err(self.document.invalid(&here, message));
            }
            if way.contains(&target) {
                way.push(target);
                let message = format!("`$ref` is circular, {}: define one of them", way.join(" → "));
                return Err(self.document.invalid(&here, message));
            }
            way.push(target.clone());
            (value, here) = (next, target);
        }
        Ok((value, here))
    }
}
