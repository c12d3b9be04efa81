//! gRPC on HTTP/2: the messages of a call, both ways, and how it ended.

use super::exchange::{Answer, Fault, Headers, body};
use bytes::Bytes;
use h2::{Reason, SendStream};
use prony_config::contract::Exchange;
use prony_load::grpc::{PREFIX, frame};
use prony_load::{Bag, Body, Header};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// `DEADLINE_EXCEEDED` of gRPC.
const DEADLINE_EXCEEDED: u32 = 4;
/// How much sooner a service may give up than the deadline is: many timers count in milliseconds.
const EARLY: Duration = Duration::from_millis(1);

/// The body of a request, of which a part may wait for replies.
pub(super) struct Outgoing {
    stream: Option<SendStream<Bytes>>,
    /// What is still to be sent; of a call message by message.
    waiting: VecDeque<Vec<u8>>,
    at_once: usize,
    /// Bytes of the reply whose messages were counted.
    counted: usize,
}

impl Outgoing {
    /// A body that is sent as it is.
    pub(super) fn of_body(body: Option<Vec<u8>>) -> Self {
        Self {
            stream: None,
            waiting: body.into_iter().collect(),
            at_once: usize::MAX,
            counted: 0,
        }
    }

    pub(super) fn of_call(exchange: &Exchange, bag: &Bag) -> Self {
        let framed = |message: &[u8]| {
            let mut out = Vec::new();
            frame(message, &mut out);
            out
        };
        let (waiting, unanswered): (VecDeque<_>, _) = if let Body::Messages(messages) = &exchange.request.body
        {
            let all = messages.each.iter();
            let all = all.map(|message| framed(message.as_slice())).collect();
            (all, messages.unanswered)
        } else {
            let message = body(exchange, bag).unwrap_or_default();
            (VecDeque::from([framed(&message)]), None)
        };
        Self {
            stream: None,
            at_once: unanswered.map_or(usize::MAX, |most| most as usize),
            waiting,
            counted: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Sends the first messages.
    pub(super) fn begin(&mut self, stream: SendStream<Bytes>) {
        self.stream = Some(stream);
        self.send(self.at_once);
    }

    fn send(&mut self, count: usize) {
        let Some(stream) = &mut self.stream else { return };
        let count = count.min(self.waiting.len());
        if count > 0 {
            let together: Vec<u8> = self.waiting.drain(..count).flatten().collect();
            // A refused stream says so in its reply.
            let _ = stream.send_data(together.into(), self.waiting.is_empty());
        }
    }

    /// The reply is so long by now: for each message of it another one may go.
    pub(super) fn answered(&mut self, reply: &[u8]) {
        while !self.waiting.is_empty()
            && let Some(message) = first_message(&reply[self.counted..])
        {
            self.counted += PREFIX + message.len();
            self.send(1);
        }
    }
}

/// The first message, where all of it is there.
fn first_message(bytes: &[u8]) -> Option<&[u8]> {
    let (&[_, a, b, c, d], rest) = bytes.split_first_chunk::<PREFIX>()?;
    rest.get(..u32::from_be_bytes([a, b, c, d]) as usize)
}

/// Whether a stream was given up because the deadline of its call has passed. Not every service sends trailers then, and a client of
/// gRPC has the deadline on its own clock, too.
pub(super) fn is_late(exchange: &Exchange, error: &h2::Error, sent: Instant) -> bool {
    let mut headers = exchange.request.headers.iter();
    let deadline = headers.find_map(Header::deadline_ns).map(Duration::from_nanos);
    error.reason() == Some(Reason::CANCEL)
        && deadline.is_some_and(|deadline| sent.elapsed() + EARLY >= deadline)
}

/// What a call came to whose deadline has passed.
pub(super) fn late(answer: Answer) -> Answer {
    Answer {
        status: 200,
        grpc_status: Some(DEADLINE_EXCEEDED),
        body: Vec::new(),
        pieces: Vec::new(),
        ..answer
    }
}

/// Reads the reply to a call: its status from the trailers, or from the headers where there is nothing else; its messages.
pub(super) fn read(
    answer: &mut Answer,
    trailers: Option<&Headers>,
    exchange: &Exchange,
) -> Result<(), Fault> {
    if answer.status != 200 {
        return Ok(());
    }
    let kind = answer.header("content-type").unwrap_or_default();
    if !kind.starts_with(b"application/grpc") {
        return Err(Fault::malformed(format!(
            "content-type `{}` is not application/grpc",
            kind.escape_ascii()
        )));
    }
    let trailers = trailers.unwrap_or(&answer.headers);
    let status = trailers
        .iter()
        .find(|(name, _)| name == b"grpc-status")
        .map(|(_, value)| value.as_slice());
    let number = status
        .and_then(|value| std::str::from_utf8(value).ok())
        .and_then(|text| text.parse().ok());
    answer.grpc_status = number;
    let Some(number) = number else {
        return Err(Fault::malformed("no grpc-status in the trailers"));
    };
    if number != 0 {
        answer.body.clear();
        answer.pieces.clear();
        return Ok(());
    }
    // Where an error should have come, nobody looks at what came.
    let is_unary = exchange.expect.events.is_none() && exchange.expect.grpc_status.unwrap_or(0) == 0;
    if is_unary { unary(answer) } else { stream(answer) }
}

/// Takes the one message of a unary reply.
fn unary(answer: &mut Answer) -> Result<(), Fault> {
    let [compressed, a, b, c, d, ..] = *answer.body.as_slice() else {
        return Err(Fault::malformed(format!(
            "no message: {} bytes",
            answer.body.len()
        )));
    };
    uncompressed(compressed)?;
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if answer.body.len() != PREFIX + length {
        let got = answer.body.len() - PREFIX;
        return Err(Fault::malformed(format!(
            "a message of {length} bytes as its prefix says, and {got} bytes came"
        )));
    }
    answer.body.drain(..PREFIX);
    Ok(())
}

/// Takes the messages of a stream: the pieces of the body become them.
fn stream(answer: &mut Answer) -> Result<(), Fault> {
    let body = std::mem::take(&mut answer.body);
    let came = std::mem::take(&mut answer.pieces);
    let mut came = came.iter().peekable();
    let mut at = 0;
    while at < body.len() {
        uncompressed(body[at])?;
        let Some(message) = first_message(&body[at..]) else {
            return Err(Fault::malformed("the stream ends in the middle of a message"));
        };
        at += PREFIX + message.len();
        // The piece that has its last byte.
        while came.next_if(|(end, _)| *end < at).is_some() {}
        let (_, when) = came.peek().expect("invariant: the whole body came in pieces");
        answer.body.extend_from_slice(message);
        answer.pieces.push((answer.body.len(), *when));
    }
    answer.is_messages = true;
    Ok(())
}

fn uncompressed(flag: u8) -> Result<(), Fault> {
    match flag {
        0 => Ok(()),
        _ => Err(Fault::malformed("a compressed message, which was not asked for")),
    }
}
