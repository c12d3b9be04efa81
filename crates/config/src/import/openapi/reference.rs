//! References within a description, and cycles among them.

use super::files::Files;
use super::identifiers::Identifiers;
use crate::import::DraftError;
use crate::import::document::Document;
use percent_encoding::percent_decode_str;
use serde_json::Value;

/// The most references one after another.
const LONGEST_WAY: usize = 100;
/// The keywords that refer to another value. `$recursiveRef` is of JSON Schema 2019-09, `$dynamicRef` of 2020-12; both are read as if they
/// were in no other schema than their own.
pub(super) const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// A description with the files that it refers to, and its version.
pub(super) struct Description<'a> {
    pub(super) document: &'a Document,
    pub(super) files: &'a Files,
    pub(super) identifiers: Identifiers,
    /// Version 3.0, whose schemas are not quite JSON Schema.
    pub(super) is_old: bool,
}

/// The reference of a value, and its keyword.
pub(super) fn reference_of(value: &Value) -> Option<(&'static str, &str)> {
    let members = value.as_object()?;
    REFERENCES
        .iter()
        .find_map(|word| Some((*word, members.get(*word)?.as_str()?)))
}

impl<'a> Description<'a> {
    pub(super) fn new(document: &'a Document, files: &'a Files, is_old: bool) -> Self {
        Self {
            document,
            files,
            identifiers: Identifiers::of(&document.value),
            is_old,
        }
    }

    /// The line of the value at a pointer in its file.
    pub(super) fn line(&self, pointer: &str) -> usize {
        match self.files.document_of(pointer) {
            Some((document, rest)) => document.line(rest),
            None => self.document.line(pointer),
        }
    }

    /// File and line of the value at a pointer.
    pub(super) fn place(&self, pointer: &str) -> String {
        match self.files.document_of(pointer) {
            Some((document, rest)) => document.place(rest),
            None => self.document.place(pointer),
        }
    }

    /// An error at a pointer.
    pub(super) fn invalid(&self, pointer: &str, message: impl Into<String>) -> DraftError {
        match self.files.document_of(pointer) {
            Some((document, rest)) => document.invalid(rest, message),
            None => self.document.invalid(pointer, message),
        }
    }

    /// The value that a reference names, and its pointer. `at` is the position of the reference.
    pub(super) fn target(
        &self,
        (word, reference): (&str, &str),
        at: &str,
    ) -> Result<(&'a Value, String), DraftError> {
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let fragment = percent_decode_str(fragment).decode_utf8_lossy();
        let found = match base {
            "" if word == "$recursiveRef" => Some(self.identifiers.recursive_root(at)),
            "" if fragment.is_empty() || fragment.starts_with('/') => {
                // Within a schema with `$id`, pointers start at that schema; many descriptions mean the whole file nevertheless.
                let own = format!("{}{fragment}", self.identifiers.resource(at));
                let is_own = self.document.value.pointer(&own).is_some();
                Some(if is_own { own } else { fragment.into_owned() })
            }
            "" => self.identifiers.anchor(at, &fragment),
            base => self.identifiers.schema(base).map(|root| match fragment.as_ref() {
                pointer if pointer.is_empty() || pointer.starts_with('/') => format!("{root}{pointer}"),
                name => self.identifiers.anchor(&root, name).unwrap_or(root),
            }),
        };
        if let Some(pointer) = found
            && let Some(value) = self.document.value.pointer(&pointer)
        {
            return Ok((value, pointer));
        }
        let why = match self.files.failure(reference) {
            Some(why) => format!("`{word}` refers to `{reference}`: {why}"),
            None => format!("`{word}` names `{reference}`, which does not exist"),
        };
        Err(self.invalid(at, why))
    }

    /// The value, after following its references, and its pointer.
    pub(super) fn resolved(
        &self,
        value: &'a Value,
        pointer: &str,
    ) -> Result<(&'a Value, String), DraftError> {
        let (mut value, mut here) = (value, pointer.to_owned());
        let mut way = vec![here.clone()];
        while let Some(reference) = reference_of(value) {
            let (next, target) = self.target(reference, &here)?;
            if way.len() > LONGEST_WAY {
                let message = format!("more than {LONGEST_WAY} `$ref` one after another: shorten the way");
                return Err(self.invalid(&here, message));
            }
            if way.contains(&target) {
                way.push(target);
                let message = format!("`$ref` is circular, {}: define one of them", way.join(" → "));
                return Err(self.invalid(&here, message));
            }
            way.push(target.clone());
            (value, here) = (next, target);
        }
        Ok((value, here))
    }
}
