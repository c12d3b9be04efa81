//! Rules for single values of a JSON reply, each named by a pointer: `/result/isError!=true`.
//!
//! All rules of an expectation form one tree, which a push parser walks over the body once: no document is built, and
//! a valid reply costs no allocation once the memory has grown.

mod equal;
#[cfg(test)]
mod tests;
mod tree;
mod walk;

use super::{ExpectationError, Memory, Mismatch, excerpt, regular_expression};
use crate::Template;
use equal::ExactStream;
use regex::bytes::Regex;
use serde::{Deserialize, Serialize};
use std::fmt;
use tree::{NodeId, Tree};
use walk::{Fault, PathMatch, Walker};

pub(super) use equal::numbers as equal_numbers;
pub(super) use walk::DEEPEST;

type Headers<'a> = &'a [(&'a [u8], &'a [u8])];

/// The longest body that is judged, bytes.
const LONGEST: usize = 16 << 20;

/// The longest valid document that is remembered, so that an equal one need not be parsed. Services often repeat
/// themselves, and comparing is far cheaper than parsing.
const LARGEST_KNOWN: usize = 4096;

/// A rule for the value at a pointer (RFC 6901).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonRule {
    /// The rule as written, for messages.
    pub text: String,
    /// The tokens of the pointer, unescaped; empty: the whole reply.
    pub pointer: Vec<String>,
    /// The condition on the value.
    pub test: JsonTest,
}

/// A condition on the value at a pointer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JsonTest {
    /// It exists and is not null.
    Present,
    /// It is absent or null.
    Absent,
    /// It equals this, compared as JSON if the text is valid JSON, else as a string.
    Equals(Template),
    /// It does not equal this; true for an absent value.
    Differs(Template),
    /// It is a string in which this regular expression matches.
    Matches(String),
}

/// Why a text is not a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JsonRuleError<E> {
    /// It does not begin with a pointer.
    Pointer,
    /// `~` in a token is neither `~0` nor `~1`, or something follows the pointer after `!`.
    Form,
    /// Its value is not a valid template.
    Value(E),
}

impl<E: fmt::Display> fmt::Display for JsonRuleError<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pointer => formatter.write_str("it must begin with a JSON pointer (`/result/id`), or with `!` and a pointer"),
            Self::Form => formatter.write_str(
                "write /POINTER, !/POINTER, /POINTER=VALUE, /POINTER!=VALUE or /POINTER~REGEX (in a name, `~` is ~0 and `/` is ~1)",
            ),
            Self::Value(error) => error.fmt(formatter),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for JsonRuleError<E> {}

impl JsonRule {
    /// Whether the rule is the same for each request.
    pub fn is_constant(&self) -> bool {
        match &self.test {
            JsonTest::Equals(value) | JsonTest::Differs(value) => value.is_constant(),
            JsonTest::Present | JsonTest::Absent | JsonTest::Matches(_) => true,
        }
    }

    /// Parses a rule. `template` parses its value, which may contain the placeholders of the request.
    pub fn read<E>(
        text: &str,
        template: impl FnOnce(&str) -> Result<Template, E>,
    ) -> Result<Self, JsonRuleError<E>> {
        let (is_absent, rest) = match text.strip_prefix('!') {
            Some(rest) if !rest.starts_with('=') => (true, rest),
            _ => (false, text),
        };
        let (pointer, operator, value) = split(rest);
        if !pointer.is_empty() && !pointer.starts_with('/') || (pointer.is_empty() && operator.is_none()) {
            return Err(JsonRuleError::Pointer);
        }
        let condition = match (is_absent, operator) {
            (true, None) => JsonTest::Absent,
            (true, Some(_)) => return Err(JsonRuleError::Form),
            (false, None) => JsonTest::Present,
            (false, Some(Operator::Equals)) => {
                JsonTest::Equals(template(value).map_err(JsonRuleError::Value)?)
            }
            (false, Some(Operator::Differs)) => {
                JsonTest::Differs(template(value).map_err(JsonRuleError::Value)?)
            }
            (false, Some(Operator::Matches)) => JsonTest::Matches(value.to_owned()),
        };
        let parts = pointer.split('/').skip(1);
        Ok(Self {
            text: text.to_owned(),
            pointer: parts
                .map(|token| token.replace("~1", "/").replace("~0", "~"))
                .collect(),
            test: condition,
        })
    }
}

#[derive(Clone, Copy)]
enum Operator {
    Equals,
    Differs,
    Matches,
}

/// Splits off the pointer, the first operator and the text after it. `~0` and `~1` belong to the pointer.
fn split(text: &str) -> (&str, Option<Operator>, &str) {
    let bytes = text.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        let next = bytes.get(at + 1);
        let (operator, length) = match (byte, next) {
            (b'=', _) => (Operator::Equals, 1),
            (b'!', Some(b'=')) => (Operator::Differs, 2),
            (b'~', Some(b'0' | b'1')) => continue,
            (b'~', _) => (Operator::Matches, 1),
            _ => continue,
        };
        return (&text[..at], Some(operator), &text[at + length..]);
    }
    (text, None, "")
}

/// A compiled set of rules.
#[derive(Debug, Clone)]
pub(super) struct CompiledJsonRules {
    tree: Tree,
    rules: Vec<CompiledRule>,
    /// Whether the verdict depends on the document alone, not on the request.
    is_constant: bool,
}

#[derive(Debug, Clone)]
struct CompiledRule {
    text: String,
    node: NodeId,
    test: CompiledTest,
}

#[derive(Debug, Clone)]
enum CompiledTest {
    Present,
    Absent,
    /// Whether the value must be equal (else different), and to what.
    Equal(bool, ComparedValue),
    Matches(Regex),
}

/// The value that a rule compares with.
#[derive(Debug, Clone)]
enum ComparedValue {
    /// The same for each request.
    Constant { text: Vec<u8>, value: ExactStream },
    /// It depends on the request, so only then is it known whether it is JSON or a string.
    Filled(Template),
}

impl ComparedValue {
    fn new(template: &Template) -> Self {
        if !template.is_constant() {
            return Self::Filled(template.clone());
        }
        let mut text = Vec::new();
        template.render(&mut text, |_, _| {});
        let value = read(&text);
        Self::Constant { text, value }
    }
}

/// Parses a value as typed: JSON if it is valid, else a string.
fn read(text: &[u8]) -> ExactStream {
    let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok();
    let value = if is_json { ExactStream::read(text) } else { None };
    value.unwrap_or_else(|| ExactStream::Text(String::from_utf8_lossy(text).into_owned()))
}

impl CompiledJsonRules {
    /// Returns `None` where there are no rules.
    pub(super) fn compile(rules: &[JsonRule]) -> Result<Option<Self>, ExpectationError> {
        let mut tree = Tree::new();
        let mut compiled = Vec::new();
        for rule in rules {
            let test = match &rule.test {
                JsonTest::Present => CompiledTest::Present,
                JsonTest::Absent => CompiledTest::Absent,
                JsonTest::Equals(value) => CompiledTest::Equal(true, ComparedValue::new(value)),
                JsonTest::Differs(value) => CompiledTest::Equal(false, ComparedValue::new(value)),
                JsonTest::Matches(pattern) => CompiledTest::Matches(regular_expression(pattern)?),
            };
            let wants_whole = match &test {
                CompiledTest::Equal(_, ComparedValue::Constant { value, .. }) => {
                    matches!(value, ExactStream::List(_) | ExactStream::Members(_))
                }
                CompiledTest::Equal(_, ComparedValue::Filled(_)) => true,
                _ => false,
            };
            compiled.push(CompiledRule {
                text: rule.text.clone(),
                node: tree.add(&rule.pointer, wants_whole),
                test,
            });
        }
        let depends =
            |rule: &CompiledRule| matches!(rule.test, CompiledTest::Equal(_, ComparedValue::Filled(_)));
        Ok((!compiled.is_empty()).then_some(Self {
            tree,
            is_constant: !compiled.iter().any(depends),
            rules: compiled,
        }))
    }

    /// Whether a reply with these headers can be judged while it arrives. Events cannot: their data has to be
    /// assembled first.
    pub(super) fn can_walk(headers: Headers<'_>) -> bool {
        !matches!(kind(headers), Ok(Kind::Events))
    }

    /// Judges a whole body by all rules.
    pub(super) fn judge(
        &self,
        (headers, body): (Headers<'_>, &[u8]),
        memory: &mut Memory,
        value: &mut impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<(), Mismatch> {
        let (mut walk, mut message) = (std::mem::take(&mut memory.walk), std::mem::take(&mut memory.text));
        let result = kind(headers).and_then(|kind| {
            let document = match kind {
                Kind::Events if body.len() <= LONGEST => {
                    only_message(body, EventName::Any, &mut message)?;
                    &message
                }
                _ => body,
            };
            self.begin(&mut walk);
            self.push(&mut walk, document, memory, value);
            self.end(&mut walk, document, memory, value)
        });
        (memory.walk, memory.text) = (walk, message);
        result
    }

    /// Starts a reply.
    pub(super) fn begin(&self, walk: &mut JsonWalk) {
        walk.walker.begin(&self.tree);
        (walk.bytes, walk.wrong, walk.is_known) = (0, None, false);
        walk.first.clear();
    }

    /// Takes the next piece of a body.
    pub(super) fn push(
        &self,
        walk: &mut JsonWalk,
        piece: &[u8],
        memory: &mut Memory,
        value: &mut impl FnMut(usize, &mut Vec<u8>),
    ) {
        let is_first = walk.bytes == 0;
        walk.bytes += piece.len();
        if is_first && self.is_constant && piece.len() <= LARGEST_KNOWN {
            walk.first.extend_from_slice(piece);
            walk.is_known = piece == memory.right;
        } else if std::mem::take(&mut walk.is_known) {
            // The body starts like the remembered one, but continues.
            let first = std::mem::take(&mut walk.first);
            self.read(walk, &first, memory, value);
            walk.first = first;
        }
        if !walk.is_known {
            self.read(walk, piece, memory, value);
        }
    }

    /// Parses the next piece of a document.
    fn read(
        &self,
        walk: &mut JsonWalk,
        piece: &[u8],
        memory: &mut Memory,
        value: &mut impl FnMut(usize, &mut Vec<u8>),
    ) {
        let JsonWalk {
            walker, bytes, wrong, ..
        } = walk;
        if *bytes > LONGEST || matches!(wrong, Some(RuleFailure::Fault(_))) {
            return;
        }
        let pushed = walker.push(&self.tree, piece, &mut |node, found| {
            self.find((node, found), wrong, memory, value);
        });
        if let Err(fault) = pushed {
            *wrong = Some(RuleFailure::Fault(fault));
        }
    }

    /// Judges the received body; `begin` is its start, for display.
    pub(super) fn end(
        &self,
        walk: &mut JsonWalk,
        begin: &[u8],
        memory: &mut Memory,
        value: &mut impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<(), Mismatch> {
        if walk.is_known && walk.bytes > 0 {
            return Ok(());
        }
        let JsonWalk {
            walker,
            bytes,
            wrong,
            first,
            ..
        } = walk;
        if *bytes > LONGEST {
            let (wanted, got) = (
                format!("at most {LONGEST} bytes"),
                format!("one of {bytes} bytes"),
            );
            return Err(Mismatch::new("body: too long", wanted, got));
        }
        let ended = walker.end(&self.tree, &mut |node, found| {
            self.find((node, found), wrong, memory, value);
        });
        match (wrong.take(), ended) {
            (Some(RuleFailure::Fault(fault)), _) | (_, Err(fault)) => return Err(no_json(fault, begin)),
            (Some(RuleFailure::Rule(mismatch)), Ok(())) => return Err(mismatch),
            (None, Ok(())) => {}
        }
        for rule in &self.rules {
            let needs_value = match &rule.test {
                CompiledTest::Present | CompiledTest::Matches(_) | CompiledTest::Equal(true, _) => true,
                CompiledTest::Absent | CompiledTest::Equal(false, _) => false,
            };
            if needs_value && !walker.has_found(rule.node) {
                if let CompiledTest::Equal(_, ComparedValue::Filled(template)) = &rule.test {
                    memory.render(template, value);
                }
                return Err(rule.mismatch("nothing", memory));
            }
        }
        if !first.is_empty() && first.len() == *bytes {
            std::mem::swap(first, &mut memory.right);
        }
        Ok(())
    }

    /// Checks a value against the rules of its node; the first violation is remembered.
    fn find(
        &self,
        (node, found): (NodeId, PathMatch<'_>),
        wrong: &mut Option<RuleFailure>,
        memory: &mut Memory,
        value: &mut impl FnMut(usize, &mut Vec<u8>),
    ) {
        for (index, rule) in self.rules.iter().enumerate() {
            if rule.node == node && wrong.is_none() && !rule.is_met(index, found, memory, value) {
                *wrong = Some(RuleFailure::Rule(rule.mismatch(&match_text(found), memory)));
            }
        }
    }
}

/// Progress of the rules in the JSON body of an arriving reply. Its memory is reused for the next reply.
#[derive(Debug, Clone, Default)]
pub struct JsonWalk {
    walker: Walker,
    /// Bytes of the body so far.
    bytes: usize,
    wrong: Option<RuleFailure>,
    /// The first piece of the body, which is often the whole body.
    first: Vec<u8>,
    /// Whether the body equals the document last accepted so far, and was therefore not parsed.
    is_known: bool,
}

impl JsonWalk {
    /// Bytes kept for comparison.
    pub fn buffered_bytes(&self) -> usize {
        self.walker.buffered_bytes() + self.first.len()
    }
}

#[derive(Debug, Clone)]
enum RuleFailure {
    Fault(Fault),
    Rule(Mismatch),
}

impl CompiledRule {
    fn is_met(
        &self,
        index: usize,
        found: PathMatch<'_>,
        memory: &mut Memory,
        value: &mut impl FnMut(usize, &mut Vec<u8>),
    ) -> bool {
        let is_null = found == PathMatch::Literal(b"null");
        match &self.test {
            CompiledTest::Present => !is_null,
            CompiledTest::Absent => is_null,
            CompiledTest::Matches(pattern) => {
                matches!(found, PathMatch::Text(text) if pattern.is_match(text))
            }
            CompiledTest::Equal(must, ComparedValue::Constant { text, value }) => {
                equals(value, found, || {
                    is_known_equal(index, (text, found), memory, value)
                }) == *must
            }
            CompiledTest::Equal(must, ComparedValue::Filled(template)) => {
                memory.render(template, value);
                equals_filled(index, found, memory) == *must
            }
        }
    }

    /// The mismatch with this rule. If the expected value depends on the request, it is in `memory.wanted`.
    fn mismatch(&self, got: &str, memory: &Memory) -> Mismatch {
        let wanted = match &self.test {
            CompiledTest::Present => "a value that is not null".to_owned(),
            CompiledTest::Absent => "nothing or null".to_owned(),
            CompiledTest::Matches(pattern) => format!("a string that matches `{pattern}`"),
            CompiledTest::Equal(must, wanted) => {
                let text = match wanted {
                    ComparedValue::Constant { text, .. } => text,
                    ComparedValue::Filled(_) => &memory.wanted,
                };
                let not = if *must { "" } else { "anything but " };
                format!("{not}{}", excerpt(text))
            }
        };
        Mismatch::new(format!("JSON rule `{}`", self.text), wanted, got)
    }
}

/// Whether a value equals the expected one; `whole` compares objects and arrays.
fn equals(wanted: &ExactStream, found: PathMatch<'_>, whole: impl FnOnce() -> bool) -> bool {
    match (wanted, found) {
        (ExactStream::Text(text), PathMatch::Text(got)) => text.as_bytes() == got,
        (ExactStream::Number(number), PathMatch::Number(got)) => equal::numbers(number, got),
        (ExactStream::Literal(first), PathMatch::Literal(got)) => got.first() == Some(first),
        (ExactStream::List(_) | ExactStream::Members(_), PathMatch::Whole(_)) => whole(),
        _ => false,
    }
}

/// Whether an object or array equals the expected one. Bytes that were found equal before are not parsed again.
fn is_known_equal(
    index: usize,
    (text, found): (&[u8], PathMatch<'_>),
    memory: &mut Memory,
    wanted: &ExactStream,
) -> bool {
    let PathMatch::Whole(got) = found else {
        return false;
    };
    if text == got || memory.equal.contains(PLACE + index, text, got) {
        return true;
    }
    let is_equal = ExactStream::read(got).as_ref() == Some(wanted);
    if is_equal {
        memory.equal.insert(PLACE + index, text, got);
    }
    is_equal
}

/// Offset of JSON rules among the rule numbers in [`Memory::equal`].
const PLACE: usize = 1 << 32;

/// Whether a value equals the one rendered for the request.
fn equals_filled(index: usize, found: PathMatch<'_>, memory: &mut Memory) -> bool {
    let wanted = std::mem::take(&mut memory.wanted);
    let is_equal = match found {
        PathMatch::Text(text) => {
            text == wanted || matches!(read_text(&wanted), Some(inner) if inner.as_bytes() == text)
        }
        PathMatch::Number(number) => is_number(&wanted) && equal::numbers(&wanted, number),
        PathMatch::Literal(literal) => literal == wanted,
        PathMatch::Whole(got) => {
            got == wanted
                || memory.equal.contains(PLACE + index, &wanted, got)
                || (matches!(wanted.first(), Some(b'{' | b'['))
                    && is_known_equal(index, (&wanted, found), memory, &read(&wanted)))
        }
    };
    memory.wanted = wanted;
    is_equal
}

/// The content of a JSON string.
fn read_text(text: &[u8]) -> Option<String> {
    text.starts_with(b"\"")
        .then(|| serde_json::from_slice(text).ok())?
}

fn is_number(text: &[u8]) -> bool {
    text.first()
        .is_some_and(|first| first.is_ascii_digit() || *first == b'-')
        && serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok()
}

fn match_text(found: PathMatch<'_>) -> String {
    match found {
        PathMatch::Text(text) => format!("`{}`", excerpt(text)),
        PathMatch::Whole([]) => "an object or array".to_owned(),
        PathMatch::Number(text) | PathMatch::Literal(text) | PathMatch::Whole(text) => excerpt(text),
    }
}

fn no_json(fault: Fault, document: &[u8]) -> Mismatch {
    let what = match fault {
        Fault::Syntax(at) => format!("body: not JSON (byte {at})"),
        Fault::Unfinished if document.is_empty() => "body: empty".to_owned(),
        Fault::Unfinished => "body: not JSON (it ends too early)".to_owned(),
        Fault::Deep => format!("body: JSON nested deeper than {DEEPEST} levels"),
        Fault::Twice => "body: a member named by a rule occurs twice".to_owned(),
    };
    Mismatch::new(what, "JSON", excerpt(document))
}

pub(super) enum Kind {
    Json,
    Events,
}

/// The kind of body that `content-type` names.
pub(super) fn kind(headers: Headers<'_>) -> Result<Kind, Mismatch> {
    let mut types = headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case(b"content-type"));
    let value = types.next().map_or(&b""[..], |(_, value)| *value);
    let media = value
        .split(|&byte| byte == b';')
        .next()
        .unwrap_or_default()
        .trim_ascii();
    let ends =
        |end: &[u8]| media.len() > end.len() && media[media.len() - end.len()..].eq_ignore_ascii_case(end);
    if media.eq_ignore_ascii_case(b"application/json") || ends(b"+json") {
        Ok(Kind::Json)
    } else if media.eq_ignore_ascii_case(b"text/event-stream") {
        Ok(Kind::Events)
    } else {
        let wanted = "application/json, …+json or text/event-stream";
        let got = if value.is_empty() {
            "none".to_owned()
        } else {
            excerpt(value)
        };
        Err(Mismatch::new("header content-type", wanted, got))
    }
}

/// The name of the event whose data is a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventName {
    Any,
    /// None, or `message`: what readers of server-sent events take for a message.
    Message,
}

/// Extracts the data of the only event that has any.
pub(super) fn only_message(body: &[u8], name: EventName, message: &mut Vec<u8>) -> Result<(), Mismatch> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    message.clear();
    let (mut count, mut has_data, mut is_named, mut is_other) = (0, false, false, false);
    // Where the data of this event begins.
    let mut begin = 0;
    for line in JsonLinesReader(body) {
        if line.is_empty() {
            // Servers may send an event with an id and without a message first, so that clients can come back to it.
            let is_empty = name == EventName::Message && message.len() == begin;
            if std::mem::take(&mut has_data) && !is_empty {
                count += 1;
                is_other |= is_named;
            }
            is_named = false;
        } else if let Some(data) = line.strip_prefix(b"data") {
            let Some(data) = data
                .strip_prefix(b":")
                .or_else(|| data.is_empty().then_some(data))
            else {
                continue;
            };
            if has_data {
                message.push(b'\n');
            } else {
                begin = message.len();
            }
            has_data = true;
            message.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
        } else if let Some(event) = line.strip_prefix(b"event:") {
            let event = event.strip_prefix(b" ").unwrap_or(event);
            is_named = !matches!(event, b"" | b"message");
        }
    }
    // Data without a final empty line is not an event.
    let is_wrong = name == EventName::Message && is_other;
    if count == 1 && !has_data && !is_wrong {
        return Ok(());
    }
    let got = if is_wrong {
        "an event with data that is not a `message`".to_owned()
    } else if has_data {
        "an event without a final empty line".to_owned()
    } else {
        format!("{count} events with data")
    };
    Err(Mismatch::new("events", "one event with data", got))
}

/// Iterates over lines that end with CR, LF or both.
struct JsonLinesReader<'a>(&'a [u8]);

impl<'a> Iterator for JsonLinesReader<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
        let line = &self.0[..end];
        let length = if self.0[end..].starts_with(b"\r\n") { 2 } else { 1 };
        self.0 = &self.0[end + length..];
        Some(line)
    }
}
