//! A stream judged while it comes.

use super::Events;
use super::chat::{Chat, Told};
use super::expected::{CompiledWhole, Expected};
use super::ids::{Ids, Step};
use super::message::{EventFault, Message};
use super::reader::{Format, Reader};
use super::rule::CompiledRule;
use crate::expect::{ExpectationError, Mismatch, excerpt};
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

    /// Its reader, and what is noted of the messages that come `after` their request, ns.
    const fn parts<'a>(
        &'a mut self,
        events: &'a CompiledEvents,
        after: u64,
    ) -> (&'a mut Reader, Counted<'a>) {
        let counted = Counted {
            events,
            after,
            count: &mut self.count,
            held: &mut self.held,
            ids: &mut self.ids,
            expected: &mut self.expected,
        };
        (&mut self.reader, counted)
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
        let (reader, mut counted) = self.parts(events, after);
        let mut judged = Ok(());
        let read = reader.read(piece, |message| {
            judged = counted.take(message, &mut each);
            if judged.is_err() || counted.is_all() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        judged?;
        read.map_err(|fault| mismatch(fault, *counted.count, events.longest))?;
        Ok(counted.is_all())
    }

    /// The message whose pieces were read is complete, so long after its request, ns: gRPC tells where each of them ends. Gives
    /// whether the stream has ended well by its number of messages.
    pub fn complete(
        &mut self,
        events: &CompiledEvents,
        after: u64,
        each: impl FnOnce(Step),
    ) -> Result<bool, Mismatch> {
        let (reader, mut counted) = self.parts(events, after);
        let mut judged = Ok(());
        reader.complete(|message| judged = counted.take(message, each));
        judged.map(|()| counted.is_all())
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
        let (reader, mut counted) = self.parts(events, after);
        let mut judged = Ok(());
        let ended = reader.end(|message| {
            judged = counted.take(message, &mut each);
            ControlFlow::Continue(())
        });
        judged?;
        ended.map_err(|fault| mismatch(fault, *counted.count, events.longest))?;
        if !counted.is_all() && events.until < u32::MAX {
            return Err(Mismatch::new(
                "events: the stream ended early",
                format!("{} events", events.until),
                counted.count.to_string(),
            ));
        }
        if let Some(whole) = &events.whole {
            counted.expected.end(whole)?;
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

/// What is noted of the messages of a stream, while some are read.
struct Counted<'a> {
    events: &'a CompiledEvents,
    /// How long after the request they came, ns.
    after: u64,
    count: &'a mut u32,
    held: &'a mut u64,
    ids: &'a mut Ids,
    expected: &'a mut Expected,
}

impl Counted<'_> {
    /// Counts a message, tells what its id tells, and judges it.
    fn take(&mut self, message: &Message<'_>, each: impl FnOnce(Step)) -> Result<(), Mismatch> {
        *self.count = self.count.saturating_add(1);
        for (bit, rule) in (0..).zip(&self.events.rules) {
            if *self.held >> bit & 1 == 0 && rule.holds(message) {
                *self.held |= 1_u64 << bit;
            }
        }
        each(message.id.map_or(Step::Nothing, |id| self.ids.take(id)));
        match &self.events.whole {
            Some(whole) => self.expected.judge(whole, message, self.after),
            None => Ok(()),
        }
    }

    /// Whether as many came as end the stream.
    const fn is_all(&self) -> bool {
        *self.count >= self.events.until
    }
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
