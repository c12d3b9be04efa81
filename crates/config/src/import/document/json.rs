//! The lines of values in a JSON text. Large descriptions have millions of values, and a draft asks for the lines of few: so each object and
//! list is scanned when a line below it is first asked for, and its members are remembered.

use super::unescaped;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

/// A JSON text, and where the values in it are that were asked for.
pub(super) struct Positions {
    text: String,
    /// Offsets of the first byte of each line.
    lines: Vec<usize>,
    /// The members of objects and lists, by the offset of these.
    members: RefCell<HashMap<usize, Rc<Members>>>,
}

/// The places of the members of an object or list, by key or number.
type Members = HashMap<String, Range<usize>>;

impl Positions {
    /// `text` must be valid JSON.
    pub(super) fn of(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self {
            lines: std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect(),
            text: text.to_owned(),
            members: RefCell::default(),
        }
    }

    /// The line of the value at a pointer, or of its closest existing parent.
    pub(super) fn line(&self, pointer: &str) -> usize {
        let begins = self.text.len() - self.text.trim_start().len();
        let mut place = begins..self.text.len();
        for token in pointer.split('/').skip(1) {
            let Some(next) = self.members_at(&place).get(&unescaped(token)).cloned() else {
                break;
            };
            place = next;
        }
        self.lines.partition_point(|begin| *begin <= place.start)
    }

    fn members_at(&self, place: &Range<usize>) -> Rc<Members> {
        if let Some(known) = self.members.borrow().get(&place.start) {
            return Rc::clone(known);
        }
        let read: RawMembers<'_> = serde_json::from_str(&self.text[place.clone()]).unwrap_or_default();
        let start = self.text.as_ptr() as usize;
        let found = read.0.into_iter().map(|(key, value)| {
            let begin = value.as_ptr() as usize - start;
            (key, begin..begin + value.len())
        });
        let found = Rc::new(found.collect::<Members>());
        self.members.borrow_mut().insert(place.start, Rc::clone(&found));
        found
    }
}

/// The texts of the members of an object or list, within the text that is read; none of another value.
#[derive(Default)]
struct RawMembers<'a>(Vec<(String, &'a str)>);

impl<'de: 'a, 'a> Deserialize<'de> for RawMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = RawMembers<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object or a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            members.push((key, map.next_value::<&RawValue>()?.get()));
        }
        Ok(RawMembers(members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(value) = list.next_element::<&RawValue>()? {
            members.push((members.len().to_string(), value.get()));
        }
        Ok(RawMembers(members))
    }
}
