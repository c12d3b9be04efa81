//! Replies as the checking clients deliver them, and what may keep them from it.

use super::report::Failure;
use prony_config::contract::Exchange;
use prony_load::events::{EventStream, Format};
use prony_load::{Bag, CompiledExpectation, Memory, Mismatch, Reply, Template};
use std::time::{Duration, Instant};

/// Names and values, in the order in which they came.
pub(super) type Headers = Vec<(Vec<u8>, Vec<u8>)>;

/// A whole reply.
#[derive(Debug, Clone, Default)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) grpc_status: Option<u32>,
    pub(super) headers: Headers,
    pub(super) body: Vec<u8>,
    /// HTTP/1.0.
    pub(super) old: bool,
    /// The connection ends with this reply.
    pub(super) closes: bool,
    /// When its request began to be sent.
    pub(super) sent: Option<Instant>,
    /// How much of the body had come, and when.
    pub(super) pieces: Vec<(usize, Instant)>,
    /// Whether each of these pieces is a message of gRPC.
    pub(super) is_messages: bool,
}

impl Answer {
    /// Notes that so much of the body has come by now.
    pub(super) fn came(&mut self, bytes: usize) {
        self.pieces.push((bytes, Instant::now()));
    }

    /// The body as it came: each piece with the time since the request, ns.
    fn pieces(&self) -> impl Iterator<Item = (&[u8], u64)> {
        let mut begin = 0;
        self.pieces.iter().map(move |&(end, at)| {
            let piece = &self.body[begin..end];
            begin = end;
            let after = self.sent.map_or(Duration::ZERO, |sent| at - sent);
            (piece, after.as_nanos() as u64)
        })
    }

    pub(super) fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value.as_slice())
    }
}

/// Why there is no reply to judge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    #[error("no connection: {0}")]
    Unreachable(String),
    /// Before the first byte of a reply: on a used connection the service may have closed it rightly.
    #[error("the service closed the connection without a reply")]
    Closed,
    #[error("the service closed the connection within a reply, after {0} bytes")]
    Cut(usize),
    #[error("no complete reply within {0:?}")]
    TimedOut(Duration),
    #[error("{0}")]
    Malformed(String),
}

impl Fault {
    pub(super) fn malformed(message: impl Into<String>) -> Self {
        Self::Malformed(message.into())
    }
}

/// A request that was not answered rightly.
pub(super) struct Wrong {
    pub(super) failure: Failure,
    /// There was no answer at all in time: more of the same would only take more time.
    pub(super) silent: bool,
}

impl From<Fault> for Wrong {
    fn from(fault: Fault) -> Self {
        Self {
            silent: matches!(fault, Fault::TimedOut(_)),
            failure: unanswered(&fault),
        }
    }
}

impl From<Failure> for Wrong {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            silent: false,
        }
    }
}

pub(super) fn failure(what: &str, expected: String, got: String) -> Failure {
    Failure {
        request: String::new(),
        what: what.to_owned(),
        expected,
        got,
    }
}

pub(super) fn unanswered(fault: &Fault) -> Failure {
    failure("reply", "a complete reply".to_owned(), fault.to_string())
}

/// Judges an answer. The bag holds what earlier replies of the case gave, and gets what this one gives.
pub(super) fn judge(exchange: &Exchange, answer: &Answer, bag: &mut Bag) -> Result<(), Mismatch> {
    let headers: Vec<(&[u8], &[u8])> = answer
        .headers
        .iter()
        .map(|(name, value)| (name.as_slice(), value.as_slice()))
        .collect();
    let reply = Reply {
        status: answer.status,
        grpc_status: answer.grpc_status,
        headers: &headers,
        body: &answer.body,
    };
    let expect = exchange.expect.compile();
    let expect = expect.expect("invariant: expectations were compiled when the contract was loaded");
    let mut memory = Memory::default();
    expect.judge_with(&mut memory, &reply, |slot, out| {
        out.extend_from_slice(bag.get(slot));
    })?;
    judge_events(&expect, answer, &reply, bag)?;
    expect.give(&memory, bag);
    Ok(())
}

/// Judges the messages of a reply that must be a stream.
fn judge_events(
    expect: &CompiledExpectation,
    answer: &Answer,
    reply: &Reply<'_>,
    bag: &Bag,
) -> Result<(), Mismatch> {
    let Some(events) = expect.events() else {
        return Ok(());
    };
    let format = if answer.is_messages {
        Some(Format::Messages)
    } else {
        answer.header("content-type").and_then(Format::of)
    };
    let Some(format) = format else {
        return Err(CompiledExpectation::no_stream(reply));
    };
    let value = |slot: usize, out: &mut Vec<u8>| out.extend_from_slice(bag.get(slot));
    let mut stream = EventStream::new(events, format, value);
    let mut last = 0;
    for (piece, after) in answer.pieces() {
        last = after;
        stream.read(events, (piece, after), |_| {})?;
        if answer.is_messages {
            stream.complete(events, after, |_| {})?;
        }
    }
    stream.end(events, last, |_| {})
}

/// The bytes of a template whose places are what earlier replies gave.
pub(super) fn bytes(template: &Template, bag: &Bag) -> Vec<u8> {
    let mut out = Vec::new();
    template.render(&mut out, |slot, out| out.extend_from_slice(bag.get(slot)));
    out
}

pub(super) fn body(exchange: &Exchange, bag: &Bag) -> Option<Vec<u8>> {
    exchange
        .request
        .body
        .render(|slot, out| out.extend_from_slice(bag.get(slot)))
}
