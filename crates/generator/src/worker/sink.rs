//! Receives replies from a protocol, judges them, and records the outcome of each request.

use super::channels::Sample;
use super::slots::{BodyCheck, Hop, Ledger, Redirection, Resend};
use crate::cookies::CookieJar;
use crate::partial_reply::{Budget, PartialReply, SHOWN};
use crate::recorder::{Epoch, StreamEnd};
use crate::redirect::{self, RedirectMethod};
use crate::workload::{CookieRequest, PreparedOperation, Redirects};
use prony_load::events::IdStep;
use prony_load::{CapturedValues, Memory, Mismatch, Reply};
use prony_protocols::grpc::percent_decoded;
use prony_protocols::protocol::{End, Failure, Head, HeaderList, Protocol, ReplySink, Token};
use prony_protocols::request_values::Parameters;
use prony_records::Outcome;
use std::time::SystemTime;

/// How often a request is sent again that the peer left unprocessed.
const MOST_REFUSALS: u8 = 8;

/// The gRPC status of a call whose deadline has passed.
const DEADLINE_EXCEEDED: u32 = 4;

/// How much earlier than its deadline a service may abort a call, ns: many timers count in milliseconds.
const EARLY: u64 = 1_000_000;

/// Receives the replies of one connection while it parses bytes.
pub(super) struct Sink<'a, P: Protocol> {
    pub(super) ledger: &'a mut Ledger,
    pub(super) operations: &'a [PreparedOperation<P>],
    pub(super) parameters: &'a Parameters,
    pub(super) sample: &'a mut Sample,
    /// The judging memory of each operation's expectation.
    pub(super) memories: &'a mut [Memory],
    /// The values captured by the sequence in each slot.
    pub(super) captured: &'a mut [CapturedValues],
    /// The cookies of each slot; empty if none are kept.
    pub(super) jars: &'a mut [CookieJar],
    pub(super) budget: &'a Budget,
    /// When the bytes were seen.
    pub(super) now: u64,
}

impl<P: Protocol> Sink<'_, P> {
    /// Keeps an unexpected reply for display, if it belongs to the sample.
    pub(super) fn show(&mut self, operation: u16, mismatch: impl FnOnce() -> Mismatch) {
        if let Some(key) = self.sample.draw() {
            self.sample.keep(key, operation, mismatch());
        }
    }

    /// Keeps a piece of a body that is needed whole.
    fn keep(&mut self, number: u32, piece: &[u8]) {
        let slot = self.ledger.slots.get(number);
        let partial = slot.partial.get_or_insert_default();
        if let Err(excess) = partial.add(piece, self.budget) {
            slot.check = BodyCheck::Excess(excess);
            partial.clear(self.budget);
        }
    }

    /// Starts judging a reply by JSON rules while it arrives.
    fn begin_json(&mut self, number: u32) {
        let slot = self.ledger.slots.get(number);
        let expectation = &self.operations[usize::from(slot.operation)].expectation;
        let partial = slot.partial.get_or_insert_default();
        let headers: HeaderList<'_> = partial.headers.iter().collect();
        if !expectation.accepts_status(slot.status) {
            slot.check = BodyCheck::Wrong;
        } else if !expectation.begin_json(&headers, &mut partial.json) {
            slot.check = BodyCheck::Keep;
        }
    }

    /// Passes the next piece of the body to the JSON rules.
    fn push_json(&mut self, number: u32, piece: &[u8]) {
        let slot = self.ledger.slots.get(number);
        let values = self.parameters.values(slot.number);
        let values = values
            .at_step(slot.step)
            .with_captured(self.captured.get(number as usize));
        let memory = &mut self.memories[usize::from(slot.operation)];
        let expectation = &self.operations[usize::from(slot.operation)].expectation;
        let partial = slot.partial.get_or_insert_default();
        partial.add_begin(piece);
        expectation.push_json(&mut partial.json, piece, memory, |index, out| {
            values.append(index, out);
        });
        if let Err(excess) = partial.charge(partial.json.buffered_bytes(), self.budget) {
            slot.check = BodyCheck::Excess(excess);
            partial.clear(self.budget);
        }
    }

    /// Judges everything that was kept.
    pub(super) fn judge(&mut self, number: u32, grpc_status: Option<u32>) -> Result<(), Mismatch> {
        let slot = self.ledger.slots.get(number);
        let operation = &self.operations[usize::from(slot.operation)];
        let mut none = PartialReply::default();
        let PartialReply {
            body, json, headers, ..
        } = slot.partial.as_deref_mut().unwrap_or(&mut none);
        let headers: HeaderList<'_> = headers.iter().collect();
        // The bytes that were compared are equal, and were not kept.
        let whole;
        let body = match (operation.expectation.exact_body(), slot.check) {
            (Some(exact), BodyCheck::Compare { equal }) if body.is_empty() => &exact.begin()[..equal],
            (Some(exact), BodyCheck::Compare { equal }) => {
                whole = [&exact.begin()[..equal], body].concat();
                &whole
            }
            _ => body.as_slice(),
        };
        let reply = Reply {
            status: slot.status,
            grpc_status,
            headers: &headers,
            body,
        };
        let captures = self.captured.get(number as usize);
        let values = self.parameters.values(slot.number);
        let values = values.at_step(slot.step).with_captured(captures);
        let memory = &mut self.memories[usize::from(slot.operation)];
        let value = |index: usize, out: &mut Vec<u8>| values.append(index, out);
        if slot.check == BodyCheck::Walk {
            operation.expectation.end_json(json, &reply, memory, value)?;
        } else {
            operation.expectation.judge_with(memory, &reply, value)?;
        }
        if let Some(bag) = self.captured.get_mut(number as usize) {
            operation.expectation.pass_captures(memory, bag);
        }
        Ok(())
    }

    /// Adds the service's message to a mismatch of `grpc-status`.
    fn add_grpc_message(&mut self, number: u32, mismatch: &mut Mismatch) {
        let partial = self.ledger.slots.get(number).partial.as_deref();
        let text = partial.map_or(&[][..], |partial| partial.grpc_message.as_slice());
        if !text.is_empty() {
            let text = percent_decoded(text);
            mismatch.got = format!("{} ({})", mismatch.got, prony_load::excerpt(&text));
        }
    }

    /// Keeps the cookies that a reply sets.
    #[cold]
    fn keep_cookies(&mut self, number: u32, cookies: &CookieRequest<P>, head: &Head<'_>) {
        let slot = self.ledger.slots.get(number);
        let captured = self.captured.get(number as usize);
        let mut path = Vec::new();
        let redirects = &self.operations[usize::from(slot.operation)].redirects;
        if let (Some(redirects), Some(_), Some(captured)) = (redirects, slot.hop, captured) {
            path.extend_from_slice(captured.get(redirects.slot));
        } else {
            let values = self.parameters.values(slot.number).at_step(slot.step);
            let values = values.with_captured(captured);
            cookies
                .path
                .render(&mut path, |index, out| values.append(index, out));
        }
        for (name, value) in head.headers {
            if name.eq_ignore_ascii_case(b"set-cookie") {
                self.jars[number as usize].store(value, &path, cookies.is_secure, SystemTime::now());
            }
        }
    }

    /// Notes where a reply redirects its request. After as many redirects as allowed, it is a reply like any other.
    #[cold]
    fn redirect(&mut self, number: u32, redirects: &Redirects<P>, head: &Head<'_>) {
        let slot = self.ledger.slots.get(number);
        let count = slot.hop.map_or(0, |hop| hop.count);
        let method = match slot.hop {
            Some(Hop {
                method: RedirectMethod::Get,
                ..
            }) => "GET",
            _ => redirects.method.as_str(),
        };
        let (Some(next), true) = (RedirectMethod::after(head.status, method), count < redirects.most) else {
            return;
        };
        let mut headers = head.headers.iter();
        let Some((_, location)) = headers.find(|(name, _)| name.eq_ignore_ascii_case(b"location")) else {
            return;
        };
        // Once it is a GET, it stays one.
        let next = if method == "GET" && redirects.method != "GET" {
            RedirectMethod::Get
        } else {
            next
        };
        let operation = slot.operation;
        let captured = &mut self.captured[number as usize];
        let mut base = Vec::new();
        if count > 0 {
            base.extend_from_slice(captured.get(redirects.slot));
        } else {
            let values = self.parameters.values(slot.number).at_step(slot.step);
            let values = values.with_captured(Some(captured));
            redirects
                .path
                .render(&mut base, |index, out| values.append(index, out));
        }
        slot.check = BodyCheck::Ignore;
        match redirect::path_at(location, &redirects.origin, &base) {
            Ok(path) => {
                slot.redirect = Some(Redirection::Path(next));
                captured.replace(redirects.slot, path.as_bytes());
            }
            Err(elsewhere) => {
                slot.redirect = Some(Redirection::Elsewhere);
                self.show(operation, || {
                    Mismatch::new("redirect", "a location of the same origin (--follow)", elsewhere)
                });
            }
        }
    }

    /// Leaves a request to be sent again, unless that was done too often.
    fn try_again(&mut self, number: u32) -> bool {
        let slot = self.ledger.slots.get(number);
        if slot.refusals == MOST_REFUSALS {
            return false;
        }
        self.ledger.leave_to_resend(number, Resend::Unprocessed, self.now);
        true
    }

    /// Whether the deadline of a call has passed.
    fn is_late(&mut self, number: u32) -> bool {
        let slot = self.ledger.slots.get(number);
        let deadline = self.operations[usize::from(slot.operation)].deadline;
        deadline.is_some_and(|ns| self.now >= slot.sent.saturating_add(ns).saturating_sub(EARLY))
    }

    /// The outcome of a call that the service reset after its deadline. It may do that without a status: gRPC clients
    /// enforce the deadline by their own clock.
    fn late(&mut self, number: u32) -> Outcome {
        if self.ledger.slots.get(number).messages > 0 && self.ledger.streams_well(number) {
            self.ledger.note_ending(number, StreamEnd::Early);
        }
        let index = self.ledger.slots.get(number).operation;
        let expected = self.operations[usize::from(index)].expectation.grpc_status();
        if expected == DEADLINE_EXCEEDED {
            return Outcome::Valid;
        }
        self.show(index, || {
            let got = format!("{DEADLINE_EXCEEDED} (the call was reset at its deadline)");
            Mismatch::new("grpc-status", expected.to_string(), got)
        });
        Outcome::Status
    }

    /// Whether a gRPC reply has the expected number of messages.
    fn check_messages(&mut self, number: u32) -> bool {
        let slot = self.ledger.slots.get(number);
        let expectation = &self.operations[usize::from(slot.operation)].expectation;
        match expectation.judge_messages(slot.messages) {
            Ok(()) => true,
            Err(mismatch) => {
                let operation = slot.operation;
                self.show(operation, || mismatch);
                false
            }
        }
    }

    /// Whether a body is the expected one: all of its constant start was received and equal, and the kept bytes after
    /// it match.
    fn is_equal_to_the_end(&mut self, number: u32, equal: usize) -> bool {
        let slot = self.ledger.slots.get(number);
        let exact = self.operations[usize::from(slot.operation)].exact_body();
        if equal < exact.begin().len() || exact.is_constant() {
            return equal == exact.begin().len();
        }
        let end = slot
            .partial
            .as_deref()
            .map_or(&[][..], |partial| partial.body.as_slice());
        let values = self.parameters.values(slot.number).at_step(slot.step);
        let values = values.with_captured(self.captured.get(number as usize));
        let memory = &mut self.memories[usize::from(slot.operation)];
        exact.ends_with(end, memory, |index, out| values.append(index, out))
    }

    fn verdict(&mut self, number: u32, end: End) -> Outcome {
        let slot = self.ledger.slots.get(number);
        let (index, check, headers) = (slot.operation, slot.check, slot.wants_headers);
        let operation = &self.operations[usize::from(index)];
        let wrong_grpc = end
            .grpc_status
            .is_some_and(|code| code != operation.expectation.grpc_status());
        let wrong_status = !operation.expectation.accepts_status(slot.status);
        if wrong_grpc || wrong_status {
            if slot.messages > 0 && self.ledger.streams_well(number) {
                self.ledger.note_ending(number, StreamEnd::Early);
            }
            if let Some(key) = self.sample.draw()
                && let Err(mut mismatch) = self.judge(number, end.grpc_status)
            {
                if wrong_grpc {
                    self.add_grpc_message(number, &mut mismatch);
                }
                self.sample.keep(key, index, mismatch);
            }
            return Outcome::Status;
        }
        if end.grpc_status == Some(0) && !self.check_messages(number) {
            return Outcome::Unexpected;
        }
        let is_right = match check {
            BodyCheck::Ignore => true,
            BodyCheck::Compare { equal } => self.is_equal_to_the_end(number, equal),
            _ => false,
        };
        if is_right && !headers {
            return Outcome::Valid;
        }
        if let BodyCheck::Excess(excess) = check {
            self.show(index, || {
                Mismatch::new("body", "a body that can be judged", excess.reason())
            });
            return Outcome::Unexpected;
        }
        if operation.expectation.events().is_some() {
            return self.end_of_events(number);
        }
        match self.judge(number, end.grpc_status) {
            Ok(()) if check != BodyCheck::Wrong => Outcome::Valid,
            // Only its start was kept, and that is valid.
            Ok(()) => {
                let wrong = || {
                    Mismatch::new(
                        "body",
                        "the expected one",
                        "a body that continues differently, or is too long",
                    )
                };
                self.show(index, wrong);
                Outcome::Unexpected
            }
            Err(mismatch) => {
                self.show(index, || mismatch);
                Outcome::Unexpected
            }
        }
    }
}

impl<P: Protocol> ReplySink for Sink<'_, P> {
    #[inline]
    fn first_byte(&mut self, token: Token) {
        self.ledger.slots.get(token.0).first_byte = self.now;
    }

    #[inline]
    fn head(&mut self, token: Token, head: Head<'_>) {
        let slot = self.ledger.slots.get(token.0);
        slot.status = head.status;
        if slot.wants_headers {
            let partial = slot.partial.get_or_insert_default();
            for (name, value) in head.headers {
                partial.headers.push(name, value);
            }
        }
        let operation = &self.operations[usize::from(slot.operation)];
        if let Some(cookies) = &operation.cookies {
            self.keep_cookies(token.0, cookies, &head);
        }
        if let Some(redirects) = &operation.redirects
            && !operation.expectation.accepts_status(head.status)
        {
            self.redirect(token.0, redirects, &head);
        }
        let slot = self.ledger.slots.get(token.0);
        if slot.redirect.is_some() {
            return;
        }
        match slot.check {
            BodyCheck::Ignore if !operation.expectation.accepts_status(head.status) => {
                slot.check = BodyCheck::Keep;
            }
            BodyCheck::AwaitsEvents => self.begin_events(token.0, &head),
            BodyCheck::Walk => self.begin_json(token.0),
            _ => {}
        }
    }

    #[inline]
    fn data(&mut self, token: Token, piece: &[u8]) {
        let slot = self.ledger.slots.get(token.0);
        slot.bytes += piece.len() as u64;
        match slot.check {
            BodyCheck::Ignore | BodyCheck::AwaitsEvents | BodyCheck::Excess(_) => {}
            BodyCheck::Events => self.events(token.0, piece),
            BodyCheck::Compare { equal } => {
                let exact = self.operations[usize::from(slot.operation)].exact_body();
                let begin = &exact.begin()[equal..];
                let (front, end) = piece.split_at(piece.len().min(begin.len()));
                if !begin.starts_with(front) || (exact.is_constant() && !end.is_empty()) {
                    slot.check = BodyCheck::Wrong;
                    let partial = slot.partial.get_or_insert_default();
                    partial.add_begin(&exact.begin()[..equal]);
                    partial.add_begin(piece);
                    return;
                }
                slot.check = BodyCheck::Compare {
                    equal: equal + front.len(),
                };
                if !end.is_empty() {
                    self.keep(token.0, end);
                }
            }
            BodyCheck::Walk => self.push_json(token.0, piece),
            BodyCheck::Wrong => slot.partial.get_or_insert_default().add_begin(piece),
            BodyCheck::Keep => {
                let operation = &self.operations[usize::from(slot.operation)];
                if operation.judges_body {
                    self.keep(token.0, piece);
                } else {
                    slot.partial.get_or_insert_default().add_begin(piece);
                }
            }
        }
    }

    #[inline]
    fn message(&mut self, token: Token) {
        let slot = self.ledger.slots.get(token.0);
        if slot.check == BodyCheck::Events {
            return self.message_of_stream(token.0);
        }
        slot.messages += 1;
    }

    fn delivery(&mut self, token: Option<Token>, step: IdStep) {
        let Ledger { slots, recorder, .. } = &mut *self.ledger;
        let Some(Token(place)) = token else {
            return recorder.message(Epoch::default(), (None, None), step);
        };
        let slot = slots.get(place);
        let after = self.now.saturating_sub(slot.sent);
        let first = (slot.messages == 0).then_some(after);
        slot.messages = slot.messages.saturating_add(1);
        slot.last_message = self.now;
        recorder.message(slot.epoch, (first, None), step);
        recorder.delivery(slot.epoch, after);
    }

    fn coverage(&mut self, Token(place): Token, expected: u32, reached: u32) {
        let Ledger { slots, recorder, .. } = &mut *self.ledger;
        let slot = slots.get(place);
        let last = slot.last_message.saturating_sub(slot.sent);
        let last = (expected == reached).then_some(last);
        recorder.coverage(slot.epoch, (expected, reached), last);
    }

    fn grpc_message(&mut self, token: Token, text: &[u8]) {
        let slot = self.ledger.slots.get(token.0);
        let partial = slot.partial.get_or_insert_default();
        partial.grpc_message.clear();
        partial
            .grpc_message
            .extend_from_slice(&text[..text.len().min(SHOWN)]);
    }

    #[inline]
    fn end(&mut self, token: Token, end: End) {
        let slot = self.ledger.slots.get(token.0);
        let (epoch, status, redirect) = (slot.epoch, slot.status, slot.redirect);
        if let Some(Redirection::Path(method)) = redirect {
            return self.ledger.leave_to_redirect(token.0, method, self.now);
        }
        self.ledger.recorder.status(epoch, status, end.grpc_status);
        let outcome = match redirect {
            None => self.verdict(token.0, end),
            Some(_) => Outcome::Unexpected,
        };
        self.ledger.end(token.0, outcome, true, self.now);
    }

    fn failed(&mut self, token: Token, failure: Failure) {
        let outcome = match failure {
            Failure::Unprocessed if self.try_again(token.0) => return,
            Failure::Reset(_) if self.is_late(token.0) => self.late(token.0),
            Failure::Reset(_) | Failure::Unprocessed => Outcome::Reset,
            Failure::Malformed(reason) => {
                let operation = self.ledger.slots.get(token.0).operation;
                self.show(operation, || {
                    Mismatch::new("reply", "a well-formed reply", reason)
                });
                Outcome::Unexpected
            }
        };
        self.ledger
            .end(token.0, outcome, outcome == Outcome::Valid, self.now);
    }
}
