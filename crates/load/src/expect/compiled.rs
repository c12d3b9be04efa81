//! A compiled expectation: regular expressions and schemas are compiled once, and replies are judged many times.

use super::body::{CompiledRule, ExactBody};
use super::capture::{CapturedValues, CompiledTake};
use super::decode::{self, DecodedSize};
use super::events::{self, CompiledEvents};
use super::file_part::CompiledFilePart;
use super::header::CompiledValue;
use super::json_rules::{self, CompiledJsonRules, EventName, JsonWalk, Kind};
use super::{Expectation, ExpectationError, Memory, Mismatch, Reply, excerpt};

/// An [`Expectation`] with its regular expressions and schemas compiled.
#[derive(Debug, Clone)]
pub struct CompiledExpectation {
    status: Vec<u16>,
    grpc_status: u32,
    headers: Vec<(String, CompiledValue)>,
    body: Vec<CompiledRule>,
    json: Option<CompiledJsonRules>,
    single_event: bool,
    any: Vec<Self>,
    decode: bool,
    events: Option<CompiledEvents>,
    take: Vec<CompiledTake>,
}

impl Expectation {
    /// Compiles the regular expressions and schemas.
    pub fn compile(&self) -> Result<CompiledExpectation, ExpectationError> {
        let headers = self
            .headers
            .iter()
            .map(|rule| {
                Ok((
                    rule.name.to_ascii_lowercase(),
                    CompiledValue::compile(&rule.value)?,
                ))
            })
            .collect::<Result<_, _>>()?;
        let body = self
            .body
            .iter()
            .map(CompiledRule::compile)
            .collect::<Result<_, _>>()?;
        Ok(CompiledExpectation {
            status: self.status.clone(),
            grpc_status: self.grpc_status.unwrap_or(0),
            headers,
            body,
            json: CompiledJsonRules::compile(&self.json)?,
            single_event: self.single_event,
            any: self.any.iter().map(Self::compile).collect::<Result<_, _>>()?,
            decode: self.decode,
            events: self.events.as_ref().map(events::Events::compile).transpose()?,
            take: self
                .take
                .iter()
                .map(CompiledTake::compile)
                .collect::<Result<_, _>>()?,
        })
    }
}

impl CompiledExpectation {
    /// Whether a status code is accepted.
    #[inline]
    pub fn accepts_status(&self, status: u16) -> bool {
        if self.status.is_empty() {
            (200..300).contains(&status)
        } else {
            self.status.contains(&status)
        }
    }

    /// The expected `grpc-status`.
    #[inline]
    pub const fn grpc_status(&self) -> u32 {
        self.grpc_status
    }

    /// The rules for the messages, where the reply must be a stream.
    #[inline]
    pub const fn events(&self) -> Option<&CompiledEvents> {
        self.events.as_ref()
    }

    /// The mismatch for a reply that should have been a stream of events.
    pub fn no_stream(reply: &Reply<'_>) -> Mismatch {
        let content_type = reply
            .headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(b"content-type"));
        events::no_stream(content_type.map(|(_, value)| *value), reply.body)
    }

    /// Judges the number of messages of a gRPC reply with status 0: exactly one, unless the reply is a stream.
    #[inline]
    pub fn judge_messages(&self, count: u32) -> Result<(), Mismatch> {
        if count == 1 || self.events.is_some() {
            return Ok(());
        }
        Err(Mismatch::new("number of messages", "1", count.to_string()))
    }

    /// The only valid body, where the rules determine each of its bytes and nothing else reads it.
    #[inline]
    pub fn exact_body(&self) -> Option<&ExactBody> {
        match self.body.as_slice() {
            [CompiledRule::Exact(exact)]
                if !self.decode
                    && !self.single_event
                    && self.any.is_empty()
                    && self.json.is_none()
                    && !self.takes_of_body() =>
            {
                Some(exact)
            }
            _ => None,
        }
    }

    /// The file of known bytes that is the only rule for the body.
    fn known_file(&self) -> Option<&CompiledFilePart> {
        match self.body.as_slice() {
            [CompiledRule::FilePart(part)]
                if self.json.is_none() && self.any.is_empty() && !self.single_event =>
            {
                Some(part)
            }
            _ => None,
        }
    }

    /// Whether the whole body is needed, either for rules or for decoding.
    pub fn judges_body(&self) -> bool {
        self.decode
            || self.single_event
            || !self.body.is_empty()
            || self.json.is_some()
            || self.takes_of_body()
            || self.any.iter().any(Self::judges_body)
    }

    /// Whether every reply is judged completely under load, not only a share of them: files of known bytes are, and, unless the
    /// body has to be decoded first, JSON and alternatives.
    pub fn judges_every_reply(&self) -> bool {
        let is_json = self.json.is_some() || self.body.iter().any(CompiledRule::judges_every_reply);
        self.known_file().is_some() || !self.decode && (is_json || self.single_event || !self.any.is_empty())
    }

    /// Whether the body can be judged while it arrives and need not be kept: JSON rules are the only rules for it.
    pub fn judges_json_alone(&self) -> bool {
        self.json.is_some()
            && !self.decode
            && !self.single_event
            && self.any.is_empty()
            && self.body.is_empty()
            && !self.takes_of_body()
            && self.events.is_none()
    }

    /// Starts judging the body of a reply with these headers while it arrives. `false`: the whole body is needed.
    pub fn begin_json(&self, headers: &[(&[u8], &[u8])], walk: &mut JsonWalk) -> bool {
        let rules = self
            .json
            .as_ref()
            .filter(|_| CompiledJsonRules::can_walk(headers));
        if let Some(rules) = rules {
            rules.begin(walk);
        }
        rules.is_some()
    }

    /// Takes the next piece of the body.
    #[inline]
    pub fn push_json(
        &self,
        walk: &mut JsonWalk,
        piece: &[u8],
        memory: &mut Memory,
        mut value: impl FnMut(usize, &mut Vec<u8>),
    ) {
        if let Some(rules) = &self.json {
            rules.push(walk, piece, memory, &mut value);
        }
    }

    /// Judges the reply at its end, as [`CompiledExpectation::judge_with`] judges a whole one. `reply.body` may be
    /// only the start of the body, for display.
    pub fn end_json(
        &self,
        walk: &mut JsonWalk,
        reply: &Reply<'_>,
        memory: &mut Memory,
        mut value: impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<(), Mismatch> {
        self.judge_head(reply, memory, &mut value)?;
        if let Some(rules) = &self.json {
            json_rules::kind(reply.headers)?;
            rules.end(walk, reply.body, memory, &mut value)?;
        }
        memory.captured.clear();
        self.take
            .iter()
            .try_for_each(|take| take.take(reply, reply.body, &mut memory.captured))
    }

    /// Whether any rule or capture reads headers.
    #[inline]
    pub fn checks_headers(&self) -> bool {
        self.decode
            || self.single_event
            || self.json.is_some()
            || !self.headers.is_empty()
            || self.takes_of_head()
            || self.any.iter().any(Self::checks_headers)
    }

    /// Whether later requests use a value captured from the body.
    pub fn takes_of_body(&self) -> bool {
        self.take.iter().any(CompiledTake::reads_body)
    }

    /// Whether later requests use a value captured from the headers.
    pub fn takes_of_head(&self) -> bool {
        self.take.iter().any(|take| !take.reads_body())
            // The headers name the coding of the body.
            || (self.decode && self.takes_of_body())
    }

    /// Whether later requests use any value of the reply.
    pub const fn takes(&self) -> bool {
        !self.take.is_empty()
    }

    /// Hands the values captured from the reply that was last accepted with this memory to its sequence.
    pub fn pass_captures(&self, memory: &Memory, bag: &mut CapturedValues) {
        if self.takes() {
            memory.captured.pass_captures(bag);
        }
    }

    /// Judges a whole reply. `value(i, out)` appends the value that parameter `i` had in the request.
    pub fn judge(&self, reply: &Reply<'_>, value: impl FnMut(usize, &mut Vec<u8>)) -> Result<(), Mismatch> {
        self.judge_with(&mut Memory::default(), reply, value)
    }

    /// Judges a whole reply like [`CompiledExpectation::judge`], but reuses memory across replies: once it has grown,
    /// a valid reply costs no allocation. JSON and Protocol Buffers messages are parsed, which does allocate, only
    /// where their bytes differ from those recently accepted.
    ///
    /// Use a separate `memory` for each expectation.
    pub fn judge_with(
        &self,
        memory: &mut Memory,
        reply: &Reply<'_>,
        mut value: impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<(), Mismatch> {
        self.judge_all(memory, reply, &mut value)
    }

    fn judge_all<F: FnMut(usize, &mut Vec<u8>)>(
        &self,
        memory: &mut Memory,
        reply: &Reply<'_>,
        value: &mut F,
    ) -> Result<(), Mismatch> {
        self.judge_head(reply, memory, value)?;
        self.judge_any(memory, reply, value)?;
        if !self.decode {
            return self.judge_body(reply, reply.body, memory, value);
        }
        let coding = decode::coding(reply.headers);
        let known = match self.known_file() {
            Some(part) => Some(part.wanted(reply.status, memory, value)?),
            None => None,
        };
        if let Some((place, wanted)) = known
            && (memory.encoded_files.contains(place, (coding, reply.body))
                || (coding.is_empty() && reply.body == wanted))
        {
            memory.sizes.merge(&DecodedSize {
                replies: 1,
                encoded_bytes: reply.body.len() as u64,
                decoded_bytes: wanted.len() as u64,
            });
            return self.capture(reply, wanted, memory);
        }
        let mut decoded = std::mem::take(&mut memory.decoded);
        let result = decode::decode(reply.headers, reply.body, &mut decoded).and_then(|()| {
            memory.sizes.merge(&DecodedSize {
                replies: 1,
                encoded_bytes: reply.body.len() as u64,
                decoded_bytes: decoded.len() as u64,
            });
            self.judge_body(reply, &decoded, memory, value)
        });
        memory.decoded = decoded;
        if let (Some((place, _)), Ok(())) = (known, &result) {
            memory.encoded_files.insert(place, (coding, reply.body));
        }
        result
    }

    /// Whether one of the alternatives holds. The mismatch is that of the one whose status fits.
    fn judge_any<F: FnMut(usize, &mut Vec<u8>)>(
        &self,
        memory: &mut Memory,
        reply: &Reply<'_>,
        value: &mut F,
    ) -> Result<(), Mismatch> {
        if self.any.is_empty() {
            return Ok(());
        }
        memory.alternatives.resize_with(self.any.len(), Memory::default);
        let mut shown = None;
        // A service usually replies as it did before.
        let last = memory.last_alternative.min(self.any.len() - 1);
        for index in std::iter::once(last).chain((0..self.any.len()).filter(|&index| index != last)) {
            let one = &self.any[index];
            match one.judge_all(&mut memory.alternatives[index], reply, value) {
                Ok(()) => {
                    memory.last_alternative = index;
                    return Ok(());
                }
                Err(mismatch) => {
                    // The first one that fits in the order of the contract.
                    let rank = (!one.accepts_status(reply.status), index);
                    if shown.as_ref().is_none_or(|(best, _)| rank < *best) {
                        shown = Some((rank, mismatch));
                    }
                }
            }
        }
        shown.map_or(Ok(()), |(_, mismatch)| Err(mismatch))
    }

    fn judge_head(
        &self,
        reply: &Reply<'_>,
        memory: &mut Memory,
        value: &mut impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<(), Mismatch> {
        self.judge_status(reply)?;
        self.headers
            .iter()
            .try_for_each(|(name, rule)| rule.judge(name, reply, memory, value))
    }

    fn judge_body(
        &self,
        reply: &Reply<'_>,
        body: &[u8],
        memory: &mut Memory,
        value: &mut impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<(), Mismatch> {
        let mut message = std::mem::take(&mut memory.message);
        let result = self.data(reply.headers, body, &mut message).and_then(|data| {
            memory.documents.is_read = None;
            for (place, rule) in self.body.iter().enumerate() {
                rule.judge((place, reply.status, data), memory, value)?;
            }
            if let Some(json) = &self.json {
                json.judge((reply.headers, body), memory, value)?;
            }
            self.capture(reply, data, memory)
        });
        memory.message = message;
        result
    }

    /// Captures values for later requests from a valid reply.
    fn capture(&self, reply: &Reply<'_>, body: &[u8], memory: &mut Memory) -> Result<(), Mismatch> {
        memory.captured.clear();
        self.take
            .iter()
            .try_for_each(|take| take.take(reply, body, &mut memory.captured))
    }

    /// The bytes that the rules for the body judge: those of the only event, where the reply has events.
    fn data<'a>(
        &self,
        headers: &[(&[u8], &[u8])],
        body: &'a [u8],
        message: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], Mismatch> {
        if !self.single_event {
            return Ok(body);
        }
        Ok(match json_rules::kind(headers)? {
            Kind::Json => body,
            Kind::Events => {
                json_rules::only_message(body, EventName::Message, message)?;
                message
            }
        })
    }

    fn judge_status(&self, reply: &Reply<'_>) -> Result<(), Mismatch> {
        if !self.accepts_status(reply.status) {
            let expected = match self.status.as_slice() {
                [] => "200 to 299".to_owned(),
                codes => codes.iter().map(u16::to_string).collect::<Vec<_>>().join(" or "),
            };
            return Err(Mismatch::new("status", expected, received(reply)));
        }
        match reply.grpc_status {
            Some(status) if status != self.grpc_status => Err(Mismatch::new(
                "grpc-status",
                self.grpc_status.to_string(),
                status.to_string(),
            )),
            _ => Ok(()),
        }
    }
}

/// A reply whose status is wrong: `404, text/html, 153 bytes: <html>…`.
fn received(reply: &Reply<'_>) -> String {
    let status = reply.status.to_string();
    if reply.body.is_empty() {
        return status;
    }
    let mut headers = reply.headers.iter();
    let media_type = headers
        .find(|(name, _)| name.eq_ignore_ascii_case(b"content-type"))
        .and_then(|(_, value)| value.split(|letter| *letter == b';').next())
        .map(excerpt);
    let size = format!("{} bytes", reply.body.len());
    let body = excerpt(reply.body);
    // The size of a long body comes first.
    let body = body.strip_suffix(&format!(" ({size})")).unwrap_or(&body);
    let head = [Some(status), media_type, Some(size.clone())];
    let head: Vec<String> = head.into_iter().flatten().collect();
    format!("{}: {body}", head.join(", "))
}
