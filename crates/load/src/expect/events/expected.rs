//! A stream whose messages are all known, judged message by message.

use super::exact_stream::{Data, ExactStream, MessageRule};
use super::reader::Message;
use crate::expect::{ExpectationError, Mismatch, excerpt, json, protobuf};
use crate::{Bytes, Template};
use prost_reflect::MessageDescriptor;
use std::time::Duration;

/// How much earlier than due a message may arrive, ns: many timers count in milliseconds.
const EARLY: u64 = 1_000_000;

/// A compiled [`ExactStream`].
#[derive(Debug, Clone)]
pub(super) struct CompiledWhole {
    count: Template,
    gap_us: Option<Template>,
    flushed: bool,
    separate: bool,
    each: CompiledShape,
    first: Vec<CompiledShape>,
    /// The messages after `count` ones, in order.
    last: Vec<CompiledShape>,
    /// The word for one of them in messages: `event` or `message`.
    noun: &'static str,
    /// The parameters that messages mention. Their values are the same for the whole stream.
    parameters: Vec<usize>,
}

#[derive(Debug, Clone)]
struct CompiledShape {
    id: Option<Template>,
    name: Option<Template>,
    data: Option<CompiledData>,
}

#[derive(Debug, Clone)]
enum CompiledData {
    Json(Template),
    JsonContains(Template),
    Text(Template),
    Messages(MessageDescriptor, Vec<Bytes>),
}

impl CompiledWhole {
    pub(super) fn compile(whole: &ExactStream) -> Result<Self, ExpectationError> {
        let each = CompiledShape::compile(&whole.each)?;
        let compiled = |shapes: &mut dyn Iterator<Item = &MessageRule>| -> Result<Vec<_>, ExpectationError> {
            shapes.map(CompiledShape::compile).collect()
        };
        let first = compiled(&mut whole.first.iter())?;
        let last = compiled(&mut whole.closing.iter().chain(&whole.last))?;
        let mut parameters = Vec::new();
        let shapes = [&each].into_iter().chain(&first).chain(&last);
        for template in shapes.flat_map(CompiledShape::templates) {
            template.visit_parameters(&mut |index| parameters.push(index));
        }
        parameters.sort_unstable();
        parameters.dedup();
        Ok(Self {
            count: whole.count.clone(),
            gap_us: whole.gap_us.clone(),
            flushed: whole.flushed,
            separate: whole.separate,
            each,
            first,
            last,
            noun: match whole.each.data {
                Some(Data::Messages(_)) => "message",
                _ => "event",
            },
            parameters,
        })
    }

    /// Whether any rule reads the data of messages.
    pub(super) fn reads_data(&self) -> bool {
        let reads = |shape: &CompiledShape| shape.data.is_some();
        reads(&self.each) || self.first.iter().chain(&self.last).any(reads)
    }
}

impl CompiledShape {
    fn compile(shape: &MessageRule) -> Result<Self, ExpectationError> {
        let data = match &shape.data {
            None => None,
            Some(Data::Json(json)) => Some(CompiledData::Json(json.clone())),
            Some(Data::JsonContains(json)) => Some(CompiledData::JsonContains(json.clone())),
            Some(Data::Text(text)) => Some(CompiledData::Text(text.clone())),
            Some(Data::Messages(encoded)) => Some(CompiledData::Messages(
                protobuf::message_type(&encoded.schema, &encoded.message)?,
                encoded.equals.clone(),
            )),
        };
        Ok(Self {
            id: shape.id.clone(),
            name: shape.name.clone(),
            data,
        })
    }

    fn templates(&self) -> impl Iterator<Item = &Template> {
        let data = match &self.data {
            Some(
                CompiledData::Json(template)
                | CompiledData::JsonContains(template)
                | CompiledData::Text(template),
            ) => Some(template),
            Some(CompiledData::Messages(..)) | None => None,
        };
        [self.id.as_ref(), self.name.as_ref(), data].into_iter().flatten()
    }
}

/// Progress of such a stream. Its memory is reused for the next one.
#[derive(Debug, Default)]
pub(super) struct ExpectedStreamState {
    /// Messages before the last one; `None` where the rendered count is not a number.
    count: Option<u64>,
    gap_ns: u64,
    received: u64,
    /// Arrival times of the first and the latest one of `each` after the request, ns.
    first: u64,
    latest: u64,
    /// Messages of `each` that arrived half of a pause or more after the one before.
    separate: u64,
    /// The values of the parameters that messages mention.
    values: Vec<Vec<u8>>,
    wanted: Vec<u8>,
}

impl ExpectedStreamState {
    /// Starts a new stream. `value(i, out)` appends the value that parameter `i` had in its request.
    pub(super) fn begin(&mut self, whole: &CompiledWhole, value: &mut impl FnMut(usize, &mut Vec<u8>)) {
        self.values.resize_with(whole.parameters.len(), Vec::new);
        for (text, index) in self.values.iter_mut().zip(&whole.parameters) {
            text.clear();
            value(*index, text);
        }
        self.count = self.number(&whole.count, value);
        let gap_us = whole.gap_us.as_ref().and_then(|gap| self.number(gap, value));
        self.gap_ns = gap_us.unwrap_or_default().saturating_mul(1_000);
        (self.received, self.first, self.latest, self.separate) = (0, 0, 0, 0);
    }

    fn number(&mut self, template: &Template, value: &mut impl FnMut(usize, &mut Vec<u8>)) -> Option<u64> {
        self.wanted.clear();
        template.render(&mut self.wanted, value);
        std::str::from_utf8(&self.wanted).ok()?.parse().ok()
    }

    /// Judges the next message, which arrived `after` ns after the request.
    pub(super) fn judge(
        &mut self,
        whole: &CompiledWhole,
        message: &Message<'_>,
        after: u64,
    ) -> Result<(), Mismatch> {
        self.received += 1;
        let (number, count) = (self.received, self.expected_count()?);
        let place = |number: u64| usize::try_from(number - 1).unwrap_or(usize::MAX);
        if number <= count {
            let shape = whole.first.get(place(number)).unwrap_or(&whole.each);
            self.compare(whole, shape, message)?;
            return self.time(whole.noun, number, after);
        }
        match whole.last.get(place(number - count)) {
            Some(last) => self.compare(whole, last, message),
            None => Err(Mismatch::new(
                format!("{}s: too many", whole.noun),
                in_all(whole, count),
                format!("one more: {}", excerpt(message.data)),
            )),
        }
    }

    /// Judges the end of the stream.
    pub(super) fn end(&self, whole: &CompiledWhole) -> Result<(), Mismatch> {
        let count = self.expected_count()?;
        if self.received < count + whole.last.len() as u64 {
            let got = format!("{}, and the end of the stream", self.received);
            let what = format!("{}s: too few", whole.noun);
            return Err(Mismatch::new(what, in_all(whole, count), got));
        }
        let least = self.gap_ns.saturating_mul(count.saturating_sub(1)) / 2;
        let spread = self.latest - self.first;
        if whole.flushed && spread < least {
            return Err(Mismatch::new(
                format!("{}s: not flushed one by one", whole.noun),
                format!(
                    "the last {:?} or more after the first",
                    Duration::from_nanos(least)
                ),
                format!("{:?}", Duration::from_nanos(spread)),
            ));
        }
        let least = count.saturating_sub(1) / 2;
        if whole.separate && self.separate < least {
            let half = Duration::from_nanos(self.gap_ns / 2);
            return Err(Mismatch::new(
                format!("{}s: not flushed one by one", whole.noun),
                format!("{least} or more that arrive {half:?} or more after the one before"),
                self.separate.to_string(),
            ));
        }
        Ok(())
    }

    fn expected_count(&self) -> Result<u64, Mismatch> {
        self.count
            .ok_or_else(|| Mismatch::new("events", "a known number of events", "a stream"))
    }

    fn time(&mut self, noun: &str, number: u64, after: u64) -> Result<(), Mismatch> {
        if number == 1 {
            self.first = after;
        } else if after.saturating_sub(self.latest) >= self.gap_ns / 2 {
            self.separate += 1;
        }
        self.latest = after;
        let due = self.gap_ns.saturating_mul(number - 1);
        if after.saturating_add(EARLY) >= due {
            return Ok(());
        }
        Err(Mismatch::new(
            format!("{noun} {number}: too soon"),
            format!("not before {:?} after the request", Duration::from_nanos(due)),
            format!("{:?}", Duration::from_nanos(after)),
        ))
    }

    fn compare(
        &mut self,
        whole: &CompiledWhole,
        shape: &CompiledShape,
        message: &Message<'_>,
    ) -> Result<(), Mismatch> {
        let number = self.received;
        let differs = |part: &str, wanted: &[u8], got: Option<&[u8]>| {
            let got = got.map_or_else(|| "none".to_owned(), excerpt);
            Err(Mismatch::new(
                format!("event {number}: {part}"),
                excerpt(wanted),
                got,
            ))
        };
        if let Some(name) = &shape.name
            && self.render(whole, name) != message.name
        {
            return differs("name", &self.wanted, Some(message.name));
        }
        if let Some(id) = &shape.id
            && Some(self.render(whole, id)) != message.id
        {
            return differs("id", &self.wanted, message.id);
        }
        match &shape.data {
            None => Ok(()),
            Some(CompiledData::Text(text)) if self.render(whole, text) == message.data => Ok(()),
            Some(CompiledData::Text(_)) => differs("data", &self.wanted, Some(message.data)),
            Some(CompiledData::Messages(kind, equals)) => {
                let place = usize::try_from(number - 1).unwrap_or(usize::MAX);
                let Some(wanted) = equals.get(place) else {
                    return differs("data", b"none", Some(message.data));
                };
                protobuf::equal(kind, wanted.as_slice(), message.data).map_err(|mismatch| Mismatch {
                    what: format!("message {number}{}", mismatch.what.replacen("body", "", 1)),
                    ..mismatch
                })
            }
            Some(CompiledData::Json(json) | CompiledData::JsonContains(json)) => {
                let wanted = self.render(whole, json);
                if equal_but_for_spaces(wanted, message.data) {
                    return Ok(());
                }
                let compared = match &shape.data {
                    Some(CompiledData::Json(_)) => json::equal(wanted, message.data),
                    _ => json::has(wanted, message.data),
                };
                compared.map_err(|mismatch| Mismatch {
                    what: format!("event {number}: {}", mismatch.what.replacen("body", "data", 1)),
                    ..mismatch
                })
            }
        }
    }

    fn render(&mut self, whole: &CompiledWhole, template: &Template) -> &[u8] {
        self.wanted.clear();
        let values = &self.values;
        template.render_item(&mut self.wanted, self.received as i64, |index, out| {
            if let Ok(place) = whole.parameters.binary_search(&index) {
                out.extend_from_slice(&values[place]);
            }
        });
        &self.wanted
    }
}

fn in_all(whole: &CompiledWhole, count: u64) -> String {
    let noun = whole.noun;
    match whole.last.len() {
        0 => format!("{count} {noun}s"),
        1 => format!("{count} {noun}s and the last one"),
        last => format!("{count} {noun}s and the last {last}"),
    }
}

/// Whether `got` equals the JSON `wanted`, which has no spaces, when single spaces after `:` and `,` are ignored:
/// many writers put them there. `false` where a full comparison is needed to decide.
fn equal_but_for_spaces(wanted: &[u8], got: &[u8]) -> bool {
    let mut wanted = wanted.iter();
    let (mut before, mut in_text) = (0, false);
    for &byte in got {
        match byte {
            b'\\' => return false,
            b' ' if !in_text && matches!(before, b':' | b',') => {}
            _ if wanted.next() != Some(&byte) => return false,
            b'"' => in_text = !in_text,
            _ => {}
        }
        before = byte;
    }
    wanted.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::equal_but_for_spaces;

    #[test]
    fn spaces_of_writers_are_seen_through() {
        let wanted = br#"{"n":1,"of":[2,3],"t":"a, b"}"#;
        for (got, equal) in [
            (r#"{"n":1,"of":[2,3],"t":"a, b"}"#, true),
            (r#"{"n": 1, "of": [2, 3], "t": "a, b"}"#, true),
            (r#"{"n": 1, "of": [2, 3], "t": "a,b"}"#, false),
            (r#"{"n": 1, "of": [2, 3], "t": "a,  b"}"#, false),
            (r#"{"n":1,"of":[2,3],"t":"a, b"#, false),
            (r#"{"n":1,"of":[2,3],"t":"a, b"}}"#, false),
            (r#"{"n":1,"of":[2 ,3],"t":"a, b"}"#, false),
            (r#"{"n":1,"of":[2,3],"t":"a,\u0020b"}"#, false),
            ("", false),
        ] {
            assert_eq!(equal_but_for_spaces(wanted, got.as_bytes()), equal, "{got}");
        }
    }
}
