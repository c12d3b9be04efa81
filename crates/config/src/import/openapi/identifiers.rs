//! Names of schemas other than their pointers: `$id`, `$anchor`, `$dynamicAnchor` and `$recursiveAnchor` of JSON Schema, which descriptions of
//! version 3.1 and later may use.

use crate::import::document::step;
use serde_json::Value;
use std::collections::BTreeMap;

/// The schemas of a description that have names, by pointer.
#[derive(Debug, Default)]
pub(super) struct Identifiers {
    /// Pointers of schemas by their `$id`.
    ids: BTreeMap<String, String>,
    /// Pointers of all schemas with an `$id`, sorted.
    resources: Vec<String>,
    /// Pointers by anchor, in the order of the description.
    anchors: BTreeMap<String, Vec<String>>,
    /// Pointers of schemas with `$recursiveAnchor`.
    recursive: Vec<String>,
}

/// Whether the pointer is that of the root or of a value below it.
fn is_within(pointer: &str, root: &str) -> bool {
    pointer
        .strip_prefix(root)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The innermost of these roots around a pointer.
fn innermost<'a>(roots: &'a [String], pointer: &str) -> Option<&'a str> {
    let around = roots.iter().filter(|root| is_within(pointer, root));
    around.max_by_key(|root| root.len()).map(String::as_str)
}

impl Identifiers {
    pub(super) fn of(value: &Value) -> Self {
        let mut found = Self::default();
        found.collect(value, &mut String::new());
        found
    }

    fn collect(&mut self, value: &Value, pointer: &mut String) {
        match value {
            Value::Object(members) => {
                let text = |word: &str| members.get(word).and_then(Value::as_str);
                if let Some(id) = text("$id") {
                    let id = id.trim_end_matches('#');
                    self.ids.insert(id.to_owned(), pointer.clone());
                    self.resources.push(pointer.clone());
                }
                for name in ["$anchor", "$dynamicAnchor"].into_iter().filter_map(text) {
                    self.anchors
                        .entry(name.to_owned())
                        .or_default()
                        .push(pointer.clone());
                }
                if members.get("$recursiveAnchor") == Some(&Value::Bool(true)) {
                    self.recursive.push(pointer.clone());
                }
                for (key, below) in members
                    .iter()
                    .filter(|(_, below)| below.is_object() || below.is_array())
                {
                    self.collect_below(below, key, pointer);
                }
            }
            Value::Array(items) => {
                for (number, below) in items
                    .iter()
                    .enumerate()
                    .filter(|(_, below)| below.is_object() || below.is_array())
                {
                    self.collect_below(below, &number.to_string(), pointer);
                }
            }
            _ => {}
        }
    }

    fn collect_below(&mut self, below: &Value, key: &str, pointer: &mut String) {
        let length = pointer.len();
        *pointer = step(pointer, key);
        self.collect(below, pointer);
        pointer.truncate(length);
    }

    /// The pointer of the schema with `$id` around this one; empty if there is none: the description.
    pub(super) fn resource(&self, pointer: &str) -> &str {
        innermost(&self.resources, pointer).unwrap_or_default()
    }

    /// The pointer of the schema with this `$id`, given in full or by the end of its path.
    pub(super) fn schema(&self, id: &str) -> Option<String> {
        let is_same =
            |known: &str| known == id || known.ends_with(&format!("/{}", id.trim_start_matches("./")));
        let exact = self.ids.get(id);
        let similar = || {
            self.ids
                .iter()
                .find(|(known, _)| is_same(known))
                .map(|(_, pointer)| pointer)
        };
        exact.or_else(similar).cloned()
    }

    /// The pointer of an anchor: one in the same schema with `$id` or component if there is one, else the first.
    pub(super) fn anchor(&self, at: &str, name: &str) -> Option<String> {
        let known = self.anchors.get(name)?;
        let resource = self.resource(at);
        let near = known
            .iter()
            .filter(|pointer| is_within(at, pointer))
            .max_by_key(|pointer| pointer.len());
        let own = || known.iter().find(|pointer| is_within(pointer, resource));
        near.or_else(own).or_else(|| known.first()).cloned()
    }

    /// What `"$recursiveRef": "#"` names: the innermost schema around it that allows that, has an `$id`, or is a component.
    pub(super) fn recursive_root(&self, at: &str) -> String {
        if let Some(root) = innermost(&self.recursive, at) {
            return root.to_owned();
        }
        let component = at
            .strip_prefix("/components/schemas/")
            .and_then(|rest| rest.split('/').next());
        match component {
            Some(name) if self.resource(at).is_empty() => format!("/components/schemas/{name}"),
            _ => self.resource(at).to_owned(),
        }
    }
}
