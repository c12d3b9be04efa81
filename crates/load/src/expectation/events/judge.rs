//! A stream judged while it comes.

use super::Events;
use super::chat::{Chat, Told};
use super::expected::{CompiledWhole, Expected};
use super::ids::{Ids, Step};
use super::message::{EventFault, Message};
use super::reader::{Format, Reader};
use super::rule::CompiledRule;
use crate::expectation::{ExpectationError, Mismatch, excerpt};
use std::ops::ControlFlow;

/// Rules that a stream may have: a bit each.
const MOST_RULES: usize = 64;

/// [`Events`] with its rules compiled.
#[derive(Debug, Clone)]
pub struct CompiledEvents {
    until: u32,
    for_ns: Option<u64>,
    rules: Vec<CompiledRule>,
    longest: u64,
    reads_data: bool,
    whole: Option<CompiledWhole>,
    chat: Option<Chat>,
}

impl Events {
    /// Compiles the rules.
    pub fn compile(&self) -> Result<CompiledEvents, ExpectationError> {
        if self.some.len() > MOST_RULES {
            return Err(ExpectationError::TooManyEvents {
                count: self.some.len(),
                most: MOST_RULES,
            });
        }
        let rules: Vec<CompiledRule> = self
            .some
            .iter()
            .map(CompiledRule::compile)
            .collect::<Result<_, _>>()?;
        let whole = self.whole.as_ref().map(CompiledWhole::compile).transpose()?;
        Ok(CompiledEvents {
            until: self.until.unwrap_or(u32::MAX),
            for_ns: self.for_ns,
            reads_data: self.chat.is_some()
                || rules.iter().any(CompiledRule::reads_data)
                || whole.as_ref().is_some_and(CompiledWhole::reads_data),
            whole,
            rules,
            longest: self.longest,
            chat: self.chat,
        })
    }
}

impl CompiledEvents {
    /// How long after its request a stream has ended well, ns.
    pub const fn for_ns(&self) -> Option<u64> {
        self.for_ns
    }

    /// Whether a stream that never ends by itself has an end.
    pub const fn is_bounded(&self) -> bool {
        self.for_ns.is_some() || self.until < u32::MAX || self.chat.is_some()
    }

    /// When the answer of a language model is a good one, where the stream is that.
    pub const fn chat(&self) -> Option<&Chat> {
        self.chat.as_ref()
    }
}

/// One reply that is a stream, as far as it came.
#[derive(Debug)]
pub struct EventStream {
    reader: Reader,
    count: u32,
    /// A bit for each rule that held once.
    held: u64,
    ids: Ids,
    /// Where every message is known.
    expected: Expected,
    /// What the answer of a language model has told.
    told: Told,
}

impl EventStream {
    /// A stream that begins. `value(i, out)` appends the value that parameter `i` had in its request.
    pub fn new(events: &CompiledEvents, format: Format, mut value: impl FnMut(usize, &mut Vec<u8>)) -> Self {
        let mut expected = Expected::default();
        if let Some(whole) = &events.whole {
            expected.begin(whole, &mut value);
        }
        Self {
            reader: Reader::new(format, events.longest, events.reads_data),
            count: 0,
            held: 0,
            ids: Ids::default(),
            expected,
            told: Told::default(),
        }
    }

    /// Begins with another reply, and keeps the memory.
    pub fn begin(
        &mut self,
        events: &CompiledEvents,
        format: Format,
        mut value: impl FnMut(usize, &mut Vec<u8>),
    ) {
        self.reader.begin(format, events.longest, events.reads_data);
        (self.count, self.held, self.ids) = (0, 0, Ids::default());
        if let Some(whole) = &events.whole {
            self.expected.begin(whole, &mut value);
        }
        self.told = Told::default();
    }

    /// What the answer of a language model has told so far.
    pub const fn told(&self) -> &Told {
        &self.told
    }

    /// Messages so far.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Takes the next piece, which came `after` its request, ns. `each` gets what the id of each message tells. Gives whether the
    /// stream has ended well by its number of messages: what stands behind is not read.
    pub fn read(
        &mut self,
        events: &CompiledEvents,
        (piece, after): (&[u8], u64),
        mut each: impl FnMut(Step),
    ) -> Result<bool, Mismatch> {
        let Self {
            reader,
            count,
            held,
            ids,
            expected,
            ..
        } = self;
        let mut wrong = None;
        let read = reader.read(piece, |message| {
            each(take(events, (count, held, ids), message));
            if let Some(whole) = &events.whole {
                wrong = expected.judge(whole, message, after).err();
            }
            if *count >= events.until || wrong.is_some() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        if let Some(mismatch) = wrong {
            return Err(mismatch);
        }
        read.map_err(|fault| mismatch(fault, *count, events.longest))?;
        Ok(*count >= events.until)
    }

    /// The message whose pieces were read is complete, so long after its request, ns: gRPC tells where each of them ends. Gives
    /// whether the stream has ended well by its number of messages.
    pub fn complete(
        &mut self,
        events: &CompiledEvents,
        after: u64,
        each: impl FnOnce(Step),
    ) -> Result<bool, Mismatch> {
        let Self {
            reader,
            count,
            held,
            ids,
            expected,
            ..
        } = self;
        let mut judged = Ok(());
        reader.complete(|message| {
            each(take(events, (count, held, ids), message));
            if let Some(whole) = &events.whole {
                judged = expected.judge(whole, message, after);
            }
        });
        judged.map(|()| *count >= events.until)
    }

    /// Takes the next piece of the answer of a language model. `each` is called for each event that brings text. What stands
    /// behind `[DONE]` is not looked at.
    pub fn read_chat(
        &mut self,
        events: &CompiledEvents,
        piece: &[u8],
        mut each: impl FnMut(),
    ) -> Result<(), Mismatch> {
        let Self {
            reader, count, told, ..
        } = self;
        if told.is_done {
            return Ok(());
        }
        let mut wrong = None;
        let read = reader.read(piece, |message| {
            match told.take(message.name, message.data) {
                Ok(true) => {
                    *count = count.saturating_add(1);
                    each();
                }
                Ok(false) => {}
                Err(mismatch) => wrong = Some(mismatch),
            }
            if told.is_done || wrong.is_some() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        read.map_err(|fault| mismatch(fault, *count, events.longest))?;
        wrong.map_or(Ok(()), Err)
    }

    /// The reply of a language model is complete.
    pub fn end_chat(&self) -> Result<(), Mismatch> {
        if self.told.is_done {
            return Ok(());
        }
        Err(Mismatch::new(
            "events: the stream ended early",
            "data: [DONE]",
            format!("the end of the reply after {} events with text", self.count),
        ))
    }

    /// The reply is complete, so long after its request, ns.
    pub fn end(
        &mut self,
        events: &CompiledEvents,
        after: u64,
        mut each: impl FnMut(Step),
    ) -> Result<(), Mismatch> {
        let Self {
            reader,
            count,
            held,
            ids,
            expected,
            ..
        } = self;
        let mut wrong = None;
        let ended = reader.end(|message| {
            each(take(events, (count, held, ids), message));
            if let Some(whole) = &events.whole {
                wrong = expected.judge(whole, message, after).err();
            }
            ControlFlow::Continue(())
        });
        if let Some(mismatch) = wrong {
            return Err(mismatch);
        }
        ended.map_err(|fault| mismatch(fault, *count, events.longest))?;
        if *count < events.until && events.until < u32::MAX {
            return Err(Mismatch::new(
                "events: the stream ended early",
                format!("{} events", events.until),
                count.to_string(),
            ));
        }
        if let Some(whole) = &events.whole {
            expected.end(whole)?;
        }
        self.judge(events)
    }

    /// Whether a stream that ends by its bound held what it must.
    pub fn judge(&self, events: &CompiledEvents) -> Result<(), Mismatch> {
        let missing = (0..)
            .zip(&events.rules)
            .find(|(bit, _)| self.held >> bit & 1 == 0);
        match missing {
            None => Ok(()),
            Some((_, rule)) => Err(Mismatch::new(
                "events",
                rule.described(),
                format!("none among {}", self.count),
            )),
        }
    }
}

fn take(
    events: &CompiledEvents,
    (count, held, ids): (&mut u32, &mut u64, &mut Ids),
    message: &Message<'_>,
) -> Step {
    *count = count.saturating_add(1);
    for (bit, rule) in (0..).zip(&events.rules) {
        if *held >> bit & 1 == 0 && rule.holds(message) {
            *held |= 1_u64 << bit;
        }
    }
    message.id.map_or(Step::Nothing, |id| ids.take(id))
}

fn mismatch(fault: EventFault, count: u32, longest: u64) -> Mismatch {
    let behind = format!("after {count} whole ones");
    match fault {
        EventFault::TooLong => Mismatch::new(
            "events: one is too long",
            format!("events of at most {longest} bytes (--longest-event)"),
            format!("a longer one, {behind}"),
        ),
        EventFault::NoJson => Mismatch::new(
            "events",
            "a JSON value in each line",
            format!("something else, {behind}"),
        ),
        EventFault::CutOff => Mismatch::new(
            "events: the stream ends in the middle of one",
            "whole events",
            format!("a part of one, {behind}"),
        ),
    }
}

/// What is wrong with a reply that is no stream.
pub(in super::super) fn no_stream(content_type: Option<&[u8]>, body: &[u8]) -> Mismatch {
    let got = content_type.map_or_else(|| "no content-type".to_owned(), excerpt);
    Mismatch::new(
        "header content-type",
        "a stream: text/event-stream, application/x-ndjson or application/jsonl",
        if body.is_empty() {
            got
        } else {
            format!("{got} with the body `{}`", excerpt(body))
        },
    )
}
