//! Rules for bodies.

use super::document::Members;
use super::file_part::CompiledFilePart;
use super::generated::{self, CompiledList};
use super::html::{self, CompiledTable};
use super::json_schema::CompiledSchema;
use super::json_values::{CompiledText, ExpectedJson};
use super::{
    BodyRule, ExpectationError, Memory, Mismatch, Series, excerpt, json, protobuf, regular_expression, text,
};
use crate::{Body, Bytes, Part, Template};
use prost_reflect::MessageDescriptor;
use regex::bytes::Regex;

#[derive(Debug, Clone)]
pub(super) enum CompiledRule {
    Exact(ExactBody),
    Json(ExpectedJson),
    JsonPart(ExpectedJson),
    JsonNotContains(ExpectedJson),
    JsonText(CompiledText),
    List(CompiledList),
    Uploaded(Body),
    HtmlTable(CompiledTable),
    JsonSchema(CompiledSchema),
    Matches(Regex),
    Contains(Template),
    HtmlLine(Template),
    Table {
        parameter: usize,
        low: u64,
        bodies: Vec<Bytes>,
    },
    FilePart(CompiledFilePart),
    Series {
        series: Series,
        n: Template,
    },
    Protobuf {
        kind: MessageDescriptor,
        equals: Template,
    },
}

impl CompiledRule {
    pub(super) fn compile(rule: &BodyRule) -> Result<Self, ExpectationError> {
        Ok(match rule {
            BodyRule::Exact(template) => Self::Exact(ExactBody::new(template)),
            BodyRule::Json(template) => Self::Json(ExpectedJson::new(template)),
            BodyRule::JsonPart(template) => Self::JsonPart(ExpectedJson::new(template)),
            BodyRule::JsonNotContains(template) => Self::JsonNotContains(ExpectedJson::new(template)),
            BodyRule::JsonText(text) => Self::JsonText(text.compile()?),
            BodyRule::List(list) => Self::List(CompiledList::compile(list)?),
            BodyRule::Uploaded(body) => Self::Uploaded(body.clone()),
            BodyRule::HtmlTable(table) => Self::HtmlTable(CompiledTable::new(table)),
            BodyRule::JsonSchema(schema) => Self::JsonSchema(schema.compile()?),
            BodyRule::Matches(pattern) => Self::Matches(regular_expression(pattern)?),
            BodyRule::Contains(template) => Self::Contains(template.clone()),
            BodyRule::HtmlLine(template) => Self::HtmlLine(template.clone()),
            BodyRule::Table {
                parameter,
                low,
                bodies,
            } => Self::Table {
                parameter: *parameter,
                low: *low,
                bodies: bodies.clone(),
            },
            BodyRule::FilePart(part) => Self::FilePart(CompiledFilePart::new(part)),
            BodyRule::Series { series, n } => Self::Series {
                series: *series,
                n: n.clone(),
            },
            BodyRule::Protobuf {
                schema,
                message,
                equals,
            } => Self::Protobuf {
                kind: protobuf::message_type(schema, message)?,
                equals: equals.clone(),
            },
        })
    }

    /// Whether the rule judges every reply under load: JSON is compared without an allocation.
    pub(super) const fn judges_every_reply(&self) -> bool {
        matches!(
            self,
            Self::Json(_)
                | Self::JsonPart(_)
                | Self::JsonNotContains(_)
                | Self::JsonText(_)
                | Self::JsonSchema(_)
                | Self::List(_)
        )
    }

    /// Judges a body by this rule. `place` is the rule's index in its expectation, `status` that of the reply.
    pub(super) fn judge(
        &self,
        (place, status, body): (usize, u16, &[u8]),
        memory: &mut Memory,
        value: &mut impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<(), Mismatch> {
        match self {
            Self::Exact(exact) => exact.judge(body, memory, value),
            Self::Json(expected) => expected.judge((place, body), Members::Same, memory, value),
            Self::JsonPart(expected) => expected.judge((place, body), Members::Further, memory, value),
            Self::JsonNotContains(unwanted) => unwanted.judge_absent(body, memory, value),
            Self::JsonText(text) => text.judge(body, memory, value),
            Self::List(list) => list.judge((place, body), memory, value),
            Self::Uploaded(upload) => {
                generated::render_upload(upload, memory, value);
                judge_meaning((place, body), memory, json::equal)
            }
            Self::HtmlTable(table) => table.judge(body, memory, value),
            Self::JsonSchema(schema) => schema.judge_known((place, body), memory),
            Self::Matches(pattern) if pattern.is_match(body) => Ok(()),
            Self::Matches(pattern) => Err(Mismatch::new(
                "body",
                format!("a match of `{pattern}`"),
                excerpt(body),
            )),
            Self::Contains(template) => text::contains(memory.render(template, value), body),
            Self::HtmlLine(template) => html::line(memory.render(template, value), body),
            Self::Table {
                parameter,
                low,
                bodies,
            } => {
                memory.wanted.clear();
                value(*parameter, &mut memory.wanted);
                match row(&memory.wanted, *low, bodies) {
                    Some(expected) => text::equal(expected.as_slice(), body),
                    None => Err(Mismatch::new(
                        "body",
                        format!("a known body for {}", excerpt(&memory.wanted)),
                        excerpt(body),
                    )),
                }
            }
            Self::FilePart(part) => part.judge((status, body), memory, value),
            Self::Series { series, n } => {
                memory.render(n, value);
                series.judge(memory, body)
            }
            Self::Protobuf { kind, equals } => {
                memory.render(equals, value);
                judge_meaning((place, body), memory, |wanted, got| {
                    protobuf::equal(kind, wanted, got)
                })
            }
        }
    }
}

/// The only valid body of a reply.
#[derive(Debug, Clone)]
pub struct ExactBody {
    begin: Bytes,
    rest: Template,
}

impl ExactBody {
    fn new(Template(parts): &Template) -> Self {
        let (begin, rest) = match parts.as_slice() {
            [Part::Literal(begin), rest @ ..] => (begin.clone(), rest),
            rest => (Bytes::default(), rest),
        };
        Self {
            begin,
            rest: Template(rest.to_vec()),
        }
    }

    /// The leading bytes, which are the same for every request.
    #[inline]
    pub fn begin(&self) -> &[u8] {
        self.begin.as_slice()
    }

    /// Whether [`ExactBody::begin`] is the whole body.
    #[inline]
    pub const fn is_constant(&self) -> bool {
        self.rest.0.is_empty()
    }

    /// Whether a body that starts with [`ExactBody::begin`] and continues with `end` is valid. `value(i, out)`
    /// appends the value that parameter `i` had in the request.
    #[inline]
    pub fn ends_with(
        &self,
        end: &[u8],
        memory: &mut Memory,
        mut value: impl FnMut(usize, &mut Vec<u8>),
    ) -> bool {
        memory.render(&self.rest, &mut value) == end
    }

    fn judge(
        &self,
        body: &[u8],
        memory: &mut Memory,
        mut value: &mut impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<(), Mismatch> {
        if let Some(end) = body.strip_prefix(self.begin())
            && self.ends_with(end, memory, &mut value)
        {
            return Ok(());
        }
        let expected = [self.begin(), memory.render(&self.rest, value)].concat();
        Err(text::difference(&expected, body))
    }
}

/// Compares bodies by meaning. Parsing is skipped where the bytes are equal, or where this pair was found equal
/// before.
fn judge_meaning(
    (place, body): (usize, &[u8]),
    memory: &mut Memory,
    equal: impl FnOnce(&[u8], &[u8]) -> Result<(), Mismatch>,
) -> Result<(), Mismatch> {
    let wanted = memory.wanted.as_slice();
    if (wanted == body && !body.is_empty()) || memory.equal.contains(place, wanted, body) {
        return Ok(());
    }
    equal(wanted, body)?;
    memory.equal.insert(place, wanted, body);
    Ok(())
}

fn row<'a>(number: &[u8], low: u64, bodies: &'a [Bytes]) -> Option<&'a Bytes> {
    let number: u64 = std::str::from_utf8(number).ok()?.parse().ok()?;
    bodies.get(usize::try_from(number.checked_sub(low)?).ok()?)
}
