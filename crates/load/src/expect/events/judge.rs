//! Judges a stream while it arrives.

use super::Events;
use super::chat::{AnswerProgress, Chat};
use super::expected::{CompiledWhole, ExpectedStreamState};
use super::ids::{Ids, Step};
use super::reader::{EventFault, Format, Message, Reader};
use super::rule::CompiledRule;
use crate::expect::{ExpectationError, Mismatch, excerpt};
use std::ops::ControlFlow;

/// Most rules that a stream may have: one bit each.
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
    /// The time after the request at which the stream has ended successfully, ns.
    pub const fn for_ns(&self) -> Option<u64> {
        self.for_ns
    }

    /// Whether the rules end a stream that never ends by itself.
    pub const fn is_bounded(&self) -> bool {
        self.for_ns.is_some() || self.until < u32::MAX || self.chat.is_some()
    }

    /// The limits of a good answer, where the stream is the answer of a language model.
    pub const fn chat(&self) -> Option<&Chat> {
        self.chat.as_ref()
    }
}

/// One reply that is a stream, as far as it has arrived.
#[derive(Debug)]
pub struct EventStream {
    reader: Reader,
    count: u32,
    /// A bit for each rule that some message has met.
    met: u64,
    ids: Ids,
    /// The expected messages, where all of them are known.
    expected: ExpectedStreamState,
    /// The state of the answer of a language model.
    answer: AnswerProgress,
}

impl EventStream {
    /// Starts a stream. `value(i, out)` appends the value that parameter `i` had in its request.
    pub fn new(events: &CompiledEvents, format: Format, mut value: impl FnMut(usize, &mut Vec<u8>)) -> Self {
        let mut expected = ExpectedStreamState::default();
        if let Some(whole) = &events.whole {
            expected.begin(whole, &mut value);
        }
        Self {
            reader: Reader::new(format, events.longest, events.reads_data),
            count: 0,
            met: 0,
            ids: Ids::default(),
            expected,
            answer: AnswerProgress::default(),
        }
    }

    /// Starts with another reply, and keeps the memory.
    pub fn begin(
        &mut self,
        events: &CompiledEvents,
        format: Format,
        mut value: impl FnMut(usize, &mut Vec<u8>),
    ) {
        self.reader.begin(format, events.longest, events.reads_data);
        (self.count, self.met, self.ids) = (0, 0, Ids::default());
        if let Some(whole) = &events.whole {
            self.expected.begin(whole, &mut value);
        }
        self.answer = AnswerProgress::default();
    }

    /// Splits off the reader, so that the counters can be updated while it runs. `after` is the time since the
    /// request, ns.
    const fn parts<'a>(
        &'a mut self,
        events: &'a CompiledEvents,
        after: u64,
    ) -> (&'a mut Reader, MessageCounters<'a>) {
        let counters = MessageCounters {
            events,
            after,
            count: &mut self.count,
            met: &mut self.met,
            ids: &mut self.ids,
            expected: &mut self.expected,
        };
        (&mut self.reader, counters)
    }

    /// The state of the answer of a language model.
    pub const fn answer(&self) -> &AnswerProgress {
        &self.answer
    }

    /// Messages so far.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Takes the next piece, which arrived `after` ns after the request. `each` receives the [`Step`] of each
    /// message's id. Returns whether the stream has ended successfully by its number of messages; what follows is not
    /// read.
    pub fn read(
        &mut self,
        events: &CompiledEvents,
        (piece, after): (&[u8], u64),
        mut each: impl FnMut(Step),
    ) -> Result<bool, Mismatch> {
        let (reader, mut counters) = self.parts(events, after);
        let mut result = Ok(());
        let read = reader.read(piece, |message| {
            result = counters.take(message, &mut each);
            if result.is_err() || counters.is_all() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        result?;
        read.map_err(|fault| mismatch(fault, *counters.count, events.longest))?;
        Ok(counters.is_all())
    }

    /// Completes the message whose pieces were read, `after` ns after the request: gRPC marks the end of each
    /// message. Returns whether the stream has ended successfully by its number of messages.
    pub fn complete(
        &mut self,
        events: &CompiledEvents,
        after: u64,
        each: impl FnOnce(Step),
    ) -> Result<bool, Mismatch> {
        let (reader, mut counters) = self.parts(events, after);
        let mut result = Ok(());
        reader.complete(|message| result = counters.take(message, each));
        result.map(|()| counters.is_all())
    }

    /// Takes the next piece of the answer of a language model. `each` is called for each event that contains text.
    /// Anything after `[DONE]` is ignored.
    pub fn read_chat(
        &mut self,
        events: &CompiledEvents,
        piece: &[u8],
        mut each: impl FnMut(),
    ) -> Result<(), Mismatch> {
        let Self {
            reader,
            count,
            answer,
            ..
        } = self;
        if answer.is_done {
            return Ok(());
        }
        let mut wrong = None;
        let read = reader.read(piece, |message| {
            match answer.take(message.name, message.data) {
                Ok(true) => {
                    *count = count.saturating_add(1);
                    each();
                }
                Ok(false) => {}
                Err(mismatch) => wrong = Some(mismatch),
            }
            if answer.is_done || wrong.is_some() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        read.map_err(|fault| mismatch(fault, *count, events.longest))?;
        wrong.map_or(Ok(()), Err)
    }

    /// Judges the end of a language model's reply.
    pub fn end_chat(&self) -> Result<(), Mismatch> {
        if self.answer.is_done {
            return Ok(());
        }
        Err(Mismatch::new(
            "events: the stream ended early",
            "data: [DONE]",
            format!("the end of the reply after {} events with text", self.count),
        ))
    }

    /// Judges the end of the reply, `after` ns after the request.
    pub fn end(
        &mut self,
        events: &CompiledEvents,
        after: u64,
        mut each: impl FnMut(Step),
    ) -> Result<(), Mismatch> {
        let (reader, mut counters) = self.parts(events, after);
        let mut result = Ok(());
        let ended = reader.end(|message| {
            result = counters.take(message, &mut each);
            ControlFlow::Continue(())
        });
        result?;
        ended.map_err(|fault| mismatch(fault, *counters.count, events.longest))?;
        if !counters.is_all() && events.until < u32::MAX {
            return Err(Mismatch::new(
                "events: the stream ended early",
                format!("{} events", events.until),
                counters.count.to_string(),
            ));
        }
        if let Some(whole) = &events.whole {
            counters.expected.end(whole)?;
        }
        self.judge(events)
    }

    /// Whether a stream that was ended by its end condition has met all rules.
    pub fn judge(&self, events: &CompiledEvents) -> Result<(), Mismatch> {
        let missing = (0..).zip(&events.rules).find(|(bit, _)| self.met >> bit & 1 == 0);
        match missing {
            None => Ok(()),
            Some((_, rule)) => Err(Mismatch::new(
                "events",
                rule.description(),
                format!("none among {}", self.count),
            )),
        }
    }
}

/// The counters of a stream, borrowed while its reader runs.
struct MessageCounters<'a> {
    events: &'a CompiledEvents,
    /// Time after the request, ns.
    after: u64,
    count: &'a mut u32,
    met: &'a mut u64,
    ids: &'a mut Ids,
    expected: &'a mut ExpectedStreamState,
}

impl MessageCounters<'_> {
    /// Counts a message, reports its [`Step`] to `each`, and judges it.
    fn take(&mut self, message: &Message<'_>, each: impl FnOnce(Step)) -> Result<(), Mismatch> {
        *self.count = self.count.saturating_add(1);
        for (bit, rule) in (0..).zip(&self.events.rules) {
            if *self.met >> bit & 1 == 0 && rule.is_met(message) {
                *self.met |= 1_u64 << bit;
            }
        }
        each(message.id.map_or(Step::Nothing, |id| self.ids.take(id)));
        match &self.events.whole {
            Some(whole) => self.expected.judge(whole, message, self.after),
            None => Ok(()),
        }
    }

    /// Whether enough messages have arrived to end the stream.
    const fn is_all(&self) -> bool {
        *self.count >= self.events.until
    }
}

fn mismatch(fault: EventFault, count: u32, longest: u64) -> Mismatch {
    let behind = format!("after {count} complete ones");
    match fault {
        EventFault::TooLong => Mismatch::new(
            "events: an event is too long",
            format!("events of at most {longest} bytes (--longest-event)"),
            format!("a longer one, {behind}"),
        ),
        EventFault::NoJson => Mismatch::new(
            "events",
            "a JSON value in each line",
            format!("something else, {behind}"),
        ),
        EventFault::CutOff => Mismatch::new(
            "events: the stream ends in the middle of an event",
            "whole events",
            format!("part of an event, {behind}"),
        ),
    }
}

/// The mismatch for a reply that is not a stream.
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
