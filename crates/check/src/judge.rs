//! Compares replies with the contract, and describes the differences.

use super::report::Failure;
use prony_config::contract::Exchange;
use prony_load::events::{EventStream, Format};
use prony_load::{CapturedValues, CompiledExpectation, Header, Memory, Mismatch};
use prony_protocols::client::{ClientError, Reply};
use prony_protocols::protocol::{Framing, Version};
use std::time::{Duration, Instant};

/// `DEADLINE_EXCEEDED` of gRPC.
const DEADLINE_EXCEEDED: u32 = 4;
/// The HTTP/2 error code of a stream that is cancelled because its deadline has passed.
const CANCEL: u32 = 8;
/// How long before the deadline a service may cancel: many timers count in milliseconds.
const TIMER_RESOLUTION: Duration = Duration::from_millis(1);

/// A request without the expected reply.
pub(super) struct FailedExchange {
    pub(super) failure: Failure,
    /// The request timed out: further requests of the case would only wait in vain.
    pub(super) timed_out: bool,
}

impl FailedExchange {
    /// A request without a complete reply.
    pub(super) fn missing_reply(error: &ClientError, timeout: Duration) -> Self {
        Self {
            timed_out: *error == ClientError::TimedOut,
            failure: missing_reply(error, timeout),
        }
    }
}

impl From<Failure> for FailedExchange {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            timed_out: false,
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

/// The failure of a request without a complete reply.
pub(super) fn missing_reply(error: &ClientError, timeout: Duration) -> Failure {
    let got = match error {
        ClientError::TimedOut => format!("no complete reply within {timeout:?}"),
        other => other.to_string(),
    };
    failure("reply", "a complete reply".to_owned(), got)
}

/// Judges a reply. `captured` has the values of earlier replies of the case and receives those of this one.
pub(super) fn judge(
    exchange: &Exchange,
    reply: &Reply,
    captured: &mut CapturedValues,
) -> Result<(), Mismatch> {
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
        out.extend_from_slice(captured.get(slot));
    })?;
    if expect.events().is_some() && !has_messages(exchange, reply) && event_format(reply).is_none() {
        return Err(CompiledExpectation::no_stream(&judged));
    }
    judge_events(&expect, exchange, reply, captured)?;
    expect.pass_captures(&memory, captured);
    Ok(())
}

/// Judges the events of a reply that must be a stream.
fn judge_events(
    expect: &CompiledExpectation,
    exchange: &Exchange,
    reply: &Reply,
    captured: &CapturedValues,
) -> Result<(), Mismatch> {
    let is_messages = has_messages(exchange, reply);
    let format = if is_messages {
        Some(Format::Messages)
    } else {
        event_format(reply)
    };
    let (Some(events), Some(format)) = (expect.events(), format) else {
        return Ok(());
    };
    let value = |slot: usize, out: &mut Vec<u8>| out.extend_from_slice(captured.get(slot));
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

fn event_format(reply: &Reply) -> Option<Format> {
    reply.header("content-type").and_then(Format::of)
}

/// Whether a gRPC call must have exactly one message in reply. If an error is expected, the messages do not matter.
fn is_unary(exchange: &Exchange) -> bool {
    exchange.expect.events.is_none() && exchange.expect.grpc_status.unwrap_or(0) == 0
}

/// Whether a reply is a stream of gRPC messages.
pub(super) fn has_messages(exchange: &Exchange, reply: &Reply) -> bool {
    reply.grpc_status == Some(0) && !is_unary(exchange)
}

/// Checks the number of messages in a gRPC reply: a unary call has one. The messages of an error are dropped.
pub(super) fn check_message_count(exchange: &Exchange, reply: &mut Reply) -> Result<(), ClientError> {
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

/// The result of a gRPC call whose stream was cancelled at its deadline: not every service sends trailers then. A gRPC client
/// reports `DEADLINE_EXCEEDED` by its own clock too.
pub(super) fn reply_at_deadline(exchange: &Exchange, error: &ClientError, started: Instant) -> Option<Reply> {
    let mut headers = exchange.request.headers.iter();
    let deadline = headers.find_map(Header::deadline_ns).map(Duration::from_nanos)?;
    let is_late = *error == ClientError::Reset(CANCEL) && started.elapsed() + TIMER_RESOLUTION >= deadline;
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
