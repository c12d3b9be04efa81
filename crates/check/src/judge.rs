//! Whether a reply is what a contract expects, and what is said of one that is not.

use super::report::Failure;
use prony_config::contract::Exchange;
use prony_load::events::{EventStream, Format};
use prony_load::{CapturedValues, CompiledExpectation, Header, Memory, Mismatch};
use prony_protocols::client::{ClientError, Reply};
use prony_protocols::protocol::{Framing, Version};
use std::time::{Duration, Instant};

/// `DEADLINE_EXCEEDED` of gRPC.
const DEADLINE_EXCEEDED: u32 = 4;
/// The error code of HTTP/2 with which a stream is given up whose deadline has passed.
const CANCEL: u32 = 8;
/// How much sooner a service may give up than the deadline is: many timers count in milliseconds.
const EARLY: Duration = Duration::from_millis(1);

/// A request that was not answered rightly.
pub(super) struct FailedExchange {
    pub(super) failure: Failure,
    /// There was no answer at all in time: more of the same would only take more time.
    pub(super) silent: bool,
}

impl FailedExchange {
    /// There is no reply to judge, after waiting this long.
    pub(super) fn unanswered(error: &ClientError, patience: Duration) -> Self {
        Self {
            silent: *error == ClientError::TimedOut,
            failure: unanswered(error, patience),
        }
    }
}

impl From<Failure> for FailedExchange {
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

/// There is no reply to judge, after waiting this long.
pub(super) fn unanswered(error: &ClientError, patience: Duration) -> Failure {
    let got = match error {
        ClientError::TimedOut => format!("no complete reply within {patience:?}"),
        other => other.to_string(),
    };
    failure("reply", "a complete reply".to_owned(), got)
}

/// Judges a reply. The bag holds what earlier replies of the case gave, and gets what this one gives.
pub(super) fn judge(exchange: &Exchange, reply: &Reply, bag: &mut CapturedValues) -> Result<(), Mismatch> {
    let headers: Vec<(&[u8], &[u8])> = reply
        .headers
        .iter()
        .map(|(name, value)| (name.as_slice(), value.as_slice()))
        .collect();
    let judged = prony_load::Reply {
        status: reply.status,
        grpc_status: reply.grpc_status,
        headers: &headers,
        body: &reply.body,
    };
    let expect = exchange.expect.compile();
    let expect = expect.expect("invariant: expectations were compiled when the contract was loaded");
    let mut memory = Memory::default();
    expect.judge_with(&mut memory, &judged, |slot, out| {
        out.extend_from_slice(bag.get(slot));
    })?;
    if expect.events().is_some() && !has_messages(exchange, reply) && format_of(reply).is_none() {
        return Err(CompiledExpectation::no_stream(&judged));
    }
    judge_events(&expect, exchange, reply, bag)?;
    expect.give(&memory, bag);
    Ok(())
}

/// Judges the messages of a reply that must be a stream.
fn judge_events(
    expect: &CompiledExpectation,
    exchange: &Exchange,
    reply: &Reply,
    bag: &CapturedValues,
) -> Result<(), Mismatch> {
    let is_messages = has_messages(exchange, reply);
    let format = if is_messages {
        Some(Format::Messages)
    } else {
        format_of(reply)
    };
    let (Some(events), Some(format)) = (expect.events(), format) else {
        return Ok(());
    };
    let value = |slot: usize, out: &mut Vec<u8>| out.extend_from_slice(bag.get(slot));
    let mut stream = EventStream::new(events, format, value);
    let mut last = 0;
    for (piece, after) in reply.pieces() {
        last = after.as_nanos() as u64;
        stream.read(events, (piece, last), |_| {})?;
        if is_messages {
            stream.complete(events, last, |_| {})?;
        }
    }
    stream.end(events, last, |_| {})
}

fn format_of(reply: &Reply) -> Option<Format> {
    reply.header("content-type").and_then(Format::of)
}

/// Whether the reply to a call of gRPC must be one message. Where an error should have come, what comes is not looked at.
fn is_unary(exchange: &Exchange) -> bool {
    exchange.expect.events.is_none() && exchange.expect.grpc_status.unwrap_or(0) == 0
}

/// Whether a reply is a stream of messages of gRPC.
pub(super) fn has_messages(exchange: &Exchange, reply: &Reply) -> bool {
    reply.grpc_status == Some(0) && !is_unary(exchange)
}

/// What the reply to a call of gRPC is: an error has no messages, and a unary call has one.
pub(super) fn of_call(exchange: &Exchange, reply: &mut Reply) -> Result<(), ClientError> {
    match (reply.grpc_status, reply.pieces.len()) {
        (Some(0), 1) | (None, _) => Ok(()),
        (Some(0), _) if !is_unary(exchange) => Ok(()),
        (Some(0), 0) => Err("no message where a unary call has one".into()),
        (Some(0), count) => Err(ClientError::Malformed(format!(
            "{count} messages where a unary call has one"
        ))),
        (Some(_), _) => {
            reply.body.clear();
            reply.pieces.clear();
            Ok(())
        }
    }
}

/// What a call came to whose stream was given up because its deadline has passed. Not every service sends trailers then, and a
/// client of gRPC has the deadline on its own clock, too.
pub(super) fn late(exchange: &Exchange, error: &ClientError, started: Instant) -> Option<Reply> {
    let mut headers = exchange.request.headers.iter();
    let deadline = headers.find_map(Header::deadline_ns).map(Duration::from_nanos)?;
    let is_late = *error == ClientError::Reset(CANCEL) && started.elapsed() + EARLY >= deadline;
    is_late.then(|| Reply {
        status: 200,
        version: Version::Http2,
        headers: Vec::new(),
        framing: Framing::Stream,
        closes: false,
        body: Vec::new(),
        pieces: Vec::new(),
        grpc_status: Some(DEADLINE_EXCEEDED),
        grpc_message: Vec::new(),
        started,
        received: 0,
    })
}
