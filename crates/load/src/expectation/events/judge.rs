//! A stream judged while it comes.

use super::Events;
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
        Ok(CompiledEvents {
            until: self.until.unwrap_or(u32::MAX),
            for_ns: self.for_ns,
            reads_data: rules.iter().any(CompiledRule::reads_data),
            rules,
            longest: self.longest,
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
        self.for_ns.is_some() || self.until < u32::MAX
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
}

impl EventStream {
    /// A stream that begins.
    pub fn new(events: &CompiledEvents, format: Format) -> Self {
        Self {
            reader: Reader::new(format, events.longest, events.reads_data),
            count: 0,
            held: 0,
            ids: Ids::default(),
        }
    }

    /// Begins with another reply, and keeps the memory.
    pub fn begin(&mut self, events: &CompiledEvents, format: Format) {
        self.reader.begin(format, events.longest, events.reads_data);
        (self.count, self.held, self.ids) = (0, 0, Ids::default());
    }

    /// Messages so far.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Takes the next piece. `each` gets what the id of each message tells. Gives whether the stream has ended well by its number
    /// of messages: what stands behind is not read.
    pub fn read(
        &mut self,
        events: &CompiledEvents,
        piece: &[u8],
        mut each: impl FnMut(Step),
    ) -> Result<bool, Mismatch> {
        let Self {
            reader,
            count,
            held,
            ids,
        } = self;
        let read = reader.read(piece, |message| {
            each(take(events, (count, held, ids), message));
            if *count >= events.until {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        read.map_err(|fault| mismatch(fault, *count, events.longest))?;
        Ok(*count >= events.until)
    }

    /// The reply is complete.
    pub fn end(&mut self, events: &CompiledEvents, mut each: impl FnMut(Step)) -> Result<(), Mismatch> {
        let Self {
            reader,
            count,
            held,
            ids,
        } = self;
        let ended = reader.end(|message| {
            each(take(events, (count, held, ids), message));
            ControlFlow::Continue(())
        });
        ended.map_err(|fault| mismatch(fault, *count, events.longest))?;
        if *count < events.until && events.until < u32::MAX {
            return Err(Mismatch::new(
                "events: the stream ended early",
                format!("{} events", events.until),
                count.to_string(),
            ));
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
