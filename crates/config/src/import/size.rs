//! How large the parts of a draft may become. Small files can describe endless values, and describe one value many times.

use crate::import::{Body, ExpectedBody, Omission, Operation};
use serde_json::Value;

/// What a value takes besides its text, bytes.
const VALUE: usize = 16;
/// The largest draft, bytes.
const LARGEST_DRAFT: usize = 16 << 20;
/// The most operations of a draft; each is tried out when the contract is read.
const MOST_OPERATIONS: usize = 10_000;
/// The deepest JSON in a contract: TOML is read down to 80 levels, of which some are the contract's own.
const DEEPEST: usize = 60;

/// What is left of a size.
#[derive(Debug)]
pub(crate) struct Room(usize);

impl Room {
    pub(crate) const fn of(bytes: usize) -> Self {
        Self(bytes)
    }

    pub(crate) const fn left(&self) -> usize {
        self.0
    }

    /// Takes this many bytes; if there are fewer, none is left.
    pub(crate) fn take_bytes(&mut self, bytes: usize) -> bool {
        let left = self.0.checked_sub(bytes);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }

    /// Takes what a value needs. Stops where the room ends, however large the value is.
    pub(crate) fn take(&mut self, value: &Value) -> bool {
        let own = match value {
            Value::String(text) => VALUE + text.len(),
            _ => VALUE,
        };
        self.take_bytes(own)
            && match value {
                Value::Array(items) => items.iter().all(|item| self.take(item)),
                Value::Object(members) => members
                    .iter()
                    .all(|(name, member)| self.take_bytes(name.len()) && self.take(member)),
                _ => true,
            }
    }

    /// Takes what an operation needs.
    pub(crate) fn take_operation(&mut self, operation: &Operation) -> bool {
        let body = match &operation.body {
            Some(Body::Json(value)) => self.take(value),
            Some(Body::Text(text) | Body::Template(text)) => self.take_bytes(text.len()),
            None => true,
        };
        let expected = match &operation.expect.body {
            Some(ExpectedBody::Json(value)) => self.take(value),
            Some(ExpectedBody::Text(text) | ExpectedBody::Schema(text) | ExpectedBody::Matches(text)) => {
                self.take_bytes(text.len())
            }
            None => true,
        };
        let pairs = operation.headers.iter().map(|(name, value)| (name, value));
        let pairs = pairs.chain(&operation.with);
        let texts = [
            &operation.name,
            &operation.from,
            &operation.summary,
            &operation.path,
        ];
        let texts = texts.into_iter().chain(&operation.remarks).map(String::len);
        let texts: usize = pairs
            .map(|(name, value)| name.len() + value.len())
            .chain(texts)
            .sum();
        body && expected && self.take_bytes(texts + VALUE)
    }
}

/// What is left for the operations of a draft.
#[derive(Debug)]
pub(crate) struct DraftRoom {
    bytes: Room,
    operations: usize,
    /// Where the first operation comes from that has no room, and the number of all of them.
    left_out: Option<(String, usize)>,
}

impl DraftRoom {
    pub(crate) const fn new() -> Self {
        Self {
            bytes: Room::of(LARGEST_DRAFT),
            operations: MOST_OPERATIONS,
            left_out: None,
        }
    }

    /// Whether there is room for another operation. `place`: where it comes from.
    pub(crate) fn is_open(&mut self, place: impl FnOnce() -> String) -> bool {
        let is_open = self.left_out.is_none() && self.operations > 0;
        if !is_open {
            self.left_out.get_or_insert_with(|| (place(), 0)).1 += 1;
        }
        is_open
    }

    /// Adds an operation if there is room for it.
    pub(crate) fn add(
        &mut self,
        operation: Operation,
        operations: &mut Vec<Operation>,
        place: impl FnOnce() -> String,
    ) {
        if self.bytes.take_operation(&operation) {
            self.operations -= 1;
            operations.push(operation);
        } else {
            self.left_out.get_or_insert_with(|| (place(), 0)).1 += 1;
        }
    }

    /// The operations that have no room, if there are any.
    pub(crate) fn omission(&self) -> Option<Omission> {
        let (place, count) = self.left_out.clone()?;
        let reason = format!("{count} operation(s) from here on: {}", Self::limit());
        Some(Omission { place, reason, count })
    }

    fn limit() -> String {
        format!(
            "a draft has at most {MOST_OPERATIONS} operations and {} MiB",
            LARGEST_DRAFT >> 20
        )
    }
}

/// Whether a contract can contain this value.
pub(crate) fn is_too_deep(value: &Value) -> bool {
    fn reaches(value: &Value, depth: usize) -> bool {
        depth > DEEPEST
            || match value {
                Value::Array(items) => items.iter().any(|item| reaches(item, depth + 1)),
                Value::Object(members) => members.values().any(|member| reaches(member, depth + 1)),
                _ => false,
            }
    }
    reaches(value, 0)
}
