//! A JSON document in memory that is reused, so that every reply under load can be compared without an allocation.
//!
//! Only documents that two readers cannot understand differently are read: an object with a repeated member, or one
//! too large to find that out cheaply, is left to the general comparison, as is everything that is not JSON.

use super::json_rules::{DEEPEST, equal_numbers};
use std::ops::Range;

/// The longest source, bytes.
const LONGEST: usize = 16 << 20;
/// The most members of an object whose names are compared with each other.
const MOST_MEMBERS: usize = 64;

/// The place of a value in its document.
pub(super) type Place = usize;

/// Whether an object may have members that are not expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Members {
    Same,
    Further,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Null,
    True,
    False,
    Number,
    Text,
    List,
    Object,
}

#[derive(Debug, Clone)]
struct Node {
    kind: Kind,
    /// The member's name, in `Document::text`.
    name: Range<u32>,
    /// The number as written or the string without escapes, in `Document::text`.
    text: Range<u32>,
    /// Where the value is in the source.
    source: Range<u32>,
    /// Items of a list; members of an object that are not null.
    count: u32,
    /// The place after the value and everything in it.
    end: u32,
}

/// A JSON document.
#[derive(Debug, Clone, Default)]
pub(super) struct Document {
    nodes: Vec<Node>,
    text: Vec<u8>,
}

impl Document {
    /// The place of the whole document.
    pub(super) const ROOT: Place = 0;

    /// Reads another document. Returns whether it is JSON without repeated members.
    pub(super) fn read(&mut self, source: &[u8]) -> bool {
        self.nodes.clear();
        self.text.clear();
        if source.len() > LONGEST || std::str::from_utf8(source).is_err() {
            return false;
        }
        let mut reader = Reader {
            source,
            at: 0,
            document: self,
        };
        reader.value(0..0, 0).is_some() && {
            reader.skip_space();
            reader.at == source.len()
        }
    }

    /// The place that the tokens of a JSON pointer lead to.
    pub(super) fn at(&self, tokens: &[String]) -> Option<Place> {
        let mut place = Self::ROOT;
        for token in tokens {
            place = match self.nodes.get(place)?.kind {
                Kind::List => {
                    let index = token.parse().ok()?;
                    self.children(place).nth(index)?
                }
                Kind::Object => self
                    .children(place)
                    .find(|&child| self.slice(&self.nodes[child].name) == token.as_bytes())?,
                _ => return None,
            };
        }
        (place < self.nodes.len()).then_some(place)
    }

    /// Whether the value at a place is an object.
    pub(super) fn is_object(&self, place: Place) -> bool {
        self.nodes[place].kind == Kind::Object
    }

    /// The string at a place, without escapes.
    pub(super) fn string(&self, place: Place) -> Option<&[u8]> {
        let node = &self.nodes[place];
        (node.kind == Kind::Text).then(|| self.slice(&node.text))
    }

    /// Where a value is in the source.
    pub(super) fn source(&self, place: Place) -> Range<usize> {
        let Range { start, end } = self.nodes[place].source;
        start as usize..end as usize
    }

    /// Whether the whole of this document stands at a place of another one. Order of members is free, numbers are
    /// compared by value, and a null member equals an absent one.
    pub(super) fn is_in(&self, other: &Self, place: Place, members: Members) -> bool {
        self.equals(Self::ROOT, (other, place), members)
    }

    fn slice(&self, range: &Range<u32>) -> &[u8] {
        &self.text[range.start as usize..range.end as usize]
    }

    fn children(&self, place: Place) -> impl Iterator<Item = Place> + '_ {
        self.range(place + 1..self.nodes[place].end as usize)
    }

    /// Values next to each other, up to a place.
    fn range(&self, places: Range<Place>) -> impl Iterator<Item = Place> + '_ {
        let mut next = places.start;
        std::iter::from_fn(move || {
            let place = next;
            (place < places.end).then(|| {
                next = self.nodes[place].end as usize;
                place
            })
        })
    }

    fn equals(&self, place: Place, (other, there): (&Self, Place), members: Members) -> bool {
        let (left, right) = (&self.nodes[place], &other.nodes[there]);
        if left.kind != right.kind {
            return false;
        }
        match left.kind {
            Kind::Null | Kind::True | Kind::False => true,
            Kind::Text => self.slice(&left.text) == other.slice(&right.text),
            Kind::Number => equal_numbers(self.slice(&left.text), other.slice(&right.text)),
            Kind::List => {
                left.count == right.count
                    && self
                        .children(place)
                        .zip(other.children(there))
                        .all(|(item, its)| self.equals(item, (other, its), members))
            }
            Kind::Object => {
                (members == Members::Further || left.count == right.count)
                    && self.has_members_of(place, (other, there), members)
            }
        }
    }

    /// Whether another object has all members of this one. Usually they come in the same order.
    fn has_members_of(&self, place: Place, (other, there): (&Self, Place), members: Members) -> bool {
        let (begin, end) = (there + 1, other.nodes[there].end as usize);
        let mut next = begin;
        for member in self.children(place) {
            let name = self.slice(&self.nodes[member].name);
            let found = other
                .range(next..end)
                .chain(other.range(begin..next))
                .find(|&place| other.slice(&other.nodes[place].name) == name);
            let is_met = match found {
                Some(found) => {
                    next = other.nodes[found].end as usize;
                    self.equals(member, (other, found), members)
                }
                None => self.nodes[member].kind == Kind::Null,
            };
            if !is_met {
                return false;
            }
        }
        true
    }

    fn repeats_a_name(&self, place: Place) -> bool {
        let name = |child: Place| self.slice(&self.nodes[child].name);
        self.children(place).enumerate().any(|(index, child)| {
            index >= MOST_MEMBERS
                || self
                    .children(place)
                    .take(index)
                    .any(|earlier| name(earlier) == name(child))
        })
    }
}

struct Reader<'a> {
    source: &'a [u8],
    at: usize,
    document: &'a mut Document,
}

impl Reader<'_> {
    /// Reads a value; `None` if there is no valid one.
    fn value(&mut self, name: Range<u32>, depth: usize) -> Option<Kind> {
        self.skip_space();
        let begin = self.at as u32;
        let place = self.document.nodes.len();
        self.document.nodes.push(Node {
            kind: Kind::Null,
            name,
            text: 0..0,
            source: begin..begin,
            count: 0,
            end: 0,
        });
        let (kind, mut text, mut count) = (self.source.get(self.at)?, 0..0, 0);
        let kind = match kind {
            b'"' => {
                text = self.string()?;
                Kind::Text
            }
            b'[' if depth < DEEPEST => {
                count = self.items(depth)?;
                Kind::List
            }
            b'{' if depth < DEEPEST => {
                count = self.members(depth)?;
                Kind::Object
            }
            b't' => self.word(b"true", Kind::True)?,
            b'f' => self.word(b"false", Kind::False)?,
            b'n' => self.word(b"null", Kind::Null)?,
            _ => {
                text = self.number()?;
                Kind::Number
            }
        };
        let end = self.document.nodes.len() as u32;
        let node = &mut self.document.nodes[place];
        (node.kind, node.text, node.count) = (kind, text, count);
        (node.source.end, node.end) = (self.at as u32, end);
        (kind != Kind::Object || !self.document.repeats_a_name(place)).then_some(kind)
    }

    fn items(&mut self, depth: usize) -> Option<u32> {
        self.at += 1;
        if self.is_next(b']') {
            return Some(0);
        }
        let mut count = 0;
        loop {
            self.value(0..0, depth + 1)?;
            count += 1;
            if !self.is_next(b',') {
                return self.is_next(b']').then_some(count);
            }
        }
    }

    /// Reads the members of an object, and counts those that are not null.
    fn members(&mut self, depth: usize) -> Option<u32> {
        self.at += 1;
        if self.is_next(b'}') {
            return Some(0);
        }
        let mut count = 0;
        loop {
            self.skip_space();
            if self.source.get(self.at) != Some(&b'"') {
                return None;
            }
            let name = self.string()?;
            if !self.is_next(b':') {
                return None;
            }
            count += u32::from(self.value(name, depth + 1)? != Kind::Null);
            if !self.is_next(b',') {
                return self.is_next(b'}').then_some(count);
            }
        }
    }

    fn skip_space(&mut self) {
        while matches!(self.source.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Whether this is the next byte that is not white space; it is taken then.
    fn is_next(&mut self, byte: u8) -> bool {
        self.skip_space();
        let is_next = self.source.get(self.at) == Some(&byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn word(&mut self, word: &[u8], kind: Kind) -> Option<Kind> {
        let is_word = self.source[self.at..].starts_with(word);
        self.at += word.len();
        is_word.then_some(kind)
    }

    fn string(&mut self) -> Option<Range<u32>> {
        let begin = self.document.text.len() as u32;
        self.at += 1;
        loop {
            let rest = &self.source[self.at..];
            let length = memchr::memchr2(b'"', b'\\', rest)?;
            let plain = &rest[..length];
            if plain.iter().min().is_some_and(|&least| least < 0x20) {
                return None;
            }
            self.document.text.extend_from_slice(plain);
            self.at += length + 1;
            if rest[length] == b'"' {
                return Some(begin..self.document.text.len() as u32);
            }
            self.escape()?;
        }
    }

    /// Reads an escape, after its backslash.
    fn escape(&mut self) -> Option<()> {
        let byte = *self.source.get(self.at)?;
        self.at += 1;
        let meant = match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let first = self.unit()?;
                let is_half = (0xd800..0xdc00).contains(&first);
                let code = if is_half && self.source[self.at..].starts_with(b"\\u") {
                    self.at += 2;
                    let second = self.unit()?;
                    let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                    0x1_0000 + ((first - 0xd800) << 10) + low
                } else {
                    first
                };
                let letter = char::from_u32(code)?;
                let text = &mut self.document.text;
                text.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                return Some(());
            }
            _ => return None,
        };
        self.document.text.push(meant);
        Some(())
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Option<u32> {
        let digits = self.source.get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |unit, &digit| {
            Some(unit << 4 | char::from(digit).to_digit(16)?)
        })
    }

    fn number(&mut self) -> Option<Range<u32>> {
        let begin = self.at;
        self.at += usize::from(self.source[self.at] == b'-');
        if self.source.get(self.at) == Some(&b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.source.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.source.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.source.get(self.at), Some(b'+' | b'-')));
            self.digits()?;
        }
        let text = &mut self.document.text;
        let kept = text.len() as u32;
        text.extend_from_slice(&self.source[begin..self.at]);
        Some(kept..text.len() as u32)
    }

    /// One digit or more.
    fn digits(&mut self) -> Option<()> {
        let begin = self.at;
        while self.source.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        (self.at > begin).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Document> {
        let mut document = Document::default();
        document.read(text.as_bytes()).then_some(document)
    }

    #[test]
    fn what_is_read_is_what_serde_json_reads() {
        for text in [
            "null",
            " true ",
            "[]",
            "{}",
            "[1,2 , 3]",
            "-0",
            "-0.5e+10",
            "1E5",
            "\"\"",
            "\"\\u00e9\\n\\/\"",
            "\"\\ud83d\\ude00\"",
            "{\"a\":{\"b\":[null,false]}}",
            "{ \"a\" : 1 , \"b\" : 2 }",
            "\"\u{1F600}\"",
            "",
            " ",
            "nul",
            "truex",
            "[1,]",
            "[,1]",
            "[1",
            "{\"a\":1,}",
            "{\"a\"}",
            "{a:1}",
            "01",
            "1.",
            ".5",
            "1e",
            "+1",
            "-",
            "\"",
            "\"\n\"",
            "\"\\x\"",
            "\"\\ud800\"",
            "\"\\ud800\\u0041\"",
            "\"\\udc00\"",
            "\"\\u12g4\"",
            "1 2",
            "[1}",
        ] {
            let serde = serde_json::from_str::<serde_json::Value>(text).is_ok();
            assert_eq!(read(text).is_some(), serde, "{text}");
        }
        assert!(!Document::default().read(b"\"\xff\""));
        for (levels, is_read) in [(DEEPEST, true), (DEEPEST + 1, false)] {
            let text = "[".repeat(levels) + &"]".repeat(levels);
            assert_eq!(read(&text).is_some(), is_read, "{levels}");
        }
    }

    #[test]
    fn repeated_members_are_left_to_the_general_comparison() {
        assert!(read(r#"{"a":1,"b":2,"a":3}"#).is_none());
        assert!(read(r#"{"a":{"a":1},"b":[{"a":1},{"a":2}]}"#).is_some());
        let many: Vec<String> = (0..=MOST_MEMBERS)
            .map(|number| format!("\"{number}\":1"))
            .collect();
        assert!(read(&format!("{{{}}}", many.join(","))).is_none());
    }

    #[test]
    fn documents_are_compared_by_meaning() {
        for (wanted, got, same, further) in [
            ("1", "1.0", true, true),
            ("9007199254740993", "9007199254740992", false, false),
            ("\"é\"", "\"\\u00e9\"", true, true),
            ("17", "\"17\"", false, false),
            (r#"{"a":1,"b":[2]}"#, r#"{ "b":[2], "a":1e0 }"#, true, true),
            (r#"{"a":1}"#, r#"{"a":1,"b":null}"#, true, true),
            (r#"{"a":1}"#, r#"{"a":1,"b":0}"#, false, true),
            (r#"{"a":1,"b":null}"#, r#"{"a":1}"#, true, true),
            (r#"{"a":1,"b":null}"#, r#"{"a":1,"b":0}"#, false, false),
            (r#"{"a":{"b":1}}"#, r#"{"a":{"b":1,"c":2},"d":3}"#, false, true),
            (r#"[{"a":1}]"#, r#"[{"a":1,"b":2}]"#, false, true),
            ("[1,2]", "[1,2,3]", false, false),
            ("[1,2]", "[2,1]", false, false),
            ("{}", "[]", false, false),
            ("null", "false", false, false),
        ] {
            let (wanted, got) = (read(wanted).expect(wanted), read(got).expect(got));
            for (members, expected) in [(Members::Same, same), (Members::Further, further)] {
                let is_in = wanted.is_in(&got, Document::ROOT, members);
                assert_eq!(is_in, expected, "{wanted:?} in {got:?}, {members:?}");
            }
        }
    }

    #[test]
    fn pointers_lead_to_values() {
        let source = r#"{"a":[{"b":"x\ty"},2],"c/d":{"0":[true]}}"#;
        let document = read(source).expect("JSON");
        let at = |tokens: &[&str]| {
            let tokens: Vec<String> = tokens.iter().map(|&token| token.to_owned()).collect();
            document.at(&tokens)
        };
        let text = at(&["a", "0", "b"]).and_then(|place| document.string(place));
        assert_eq!(text, Some(&b"x\ty"[..]));
        for (tokens, value) in [
            (&["a", "1"][..], "2"),
            (&["c/d", "0"], "[true]"),
            (&["a", "0", "b"], r#""x\ty""#),
        ] {
            let found = at(tokens).map(|place| &source[document.source(place)]);
            assert_eq!(found, Some(value), "{tokens:?}");
        }
        for nothing in [&["a", "2"][..], &["a", "b"], &["a", "1", "c"], &["e"]] {
            assert_eq!(at(nothing), None, "{nothing:?}");
        }
    }
}
