//! Replies that are streams: parsed, judged and recorded message by message, however long they last.

use super::sink::Sink;
use super::slots::{BodyCheck, Ledger, OpenStream, Slot, StreamDecision};
use crate::partial_reply::PartialReply;
use crate::recorder::{Epoch, Recorder, StreamEnd};
use crate::workload::PreparedOperation;
use prony_load::events::{CompiledEvents, EventStream, Format, IdStep};
use prony_load::{CompiledExpectation, Mismatch, Reply};
use prony_merge::LlmAnswer;
use prony_protocols::protocol::{Head, HeaderList, Protocol};
use prony_records::Outcome;

impl<P: Protocol> Sink<'_, P> {
    /// Handles the head of a reply that should be a stream.
    pub(super) fn begin_events(&mut self, number: u32, head: &Head<'_>) {
        let slot = self.ledger.slots.get(number);
        let expectation = &self.operations[usize::from(slot.operation)].expectation;
        let format = if P::DELIMITS_MESSAGES {
            Some(Format::Messages)
        } else {
            let mut headers = head.headers.iter();
            let content_type = headers.find(|(name, _)| name.eq_ignore_ascii_case(b"content-type"));
            content_type.and_then(|(_, value)| Format::of(value))
        };
        let (Some(events), Some(format)) = (expectation.events(), format) else {
            slot.check = BodyCheck::Keep;
            return;
        };
        if !expectation.accepts_status(head.status) {
            slot.check = BodyCheck::Keep;
            return;
        }
        slot.check = BodyCheck::Events;
        let values = self.parameters.values(slot.number).at_step(slot.step);
        let values = values.with_captured(self.captured.get(number as usize));
        let value = |index, out: &mut Vec<u8>| values.append(index, out);
        if let Some(live) = &mut slot.live {
            live.stream.begin(events, format, value);
            (live.decision, live.last_data) = (StreamDecision::Open, self.now);
        } else {
            slot.live = Some(Box::new(OpenStream {
                stream: EventStream::new(events, format, value),
                decision: StreamDecision::Open,
                last_data: self.now,
            }));
        }
    }

    /// Handles the next piece of a stream.
    pub(super) fn events(&mut self, number: u32, piece: &[u8]) {
        self.feed_stream(number, |stream, events, mut times| {
            if events.chat().is_some() {
                let read = stream.read_chat(events, piece, || times.token());
                return read.map(|()| false);
            }
            let after = times.after();
            stream.read(events, (piece, after), |id| times.message(id))
        });
    }

    /// Handles the end of a message that the protocol delimits.
    pub(super) fn message_of_stream(&mut self, number: u32) {
        self.feed_stream(number, |stream, events, mut times| {
            let after = times.after();
            stream.complete(events, after, |id| times.message(id))
        });
    }

    /// Passes received data to an open stream, and cancels it if `capture` returns that no more is needed.
    #[inline]
    fn feed_stream(
        &mut self,
        number: u32,
        take: impl FnOnce(&mut EventStream, &CompiledEvents, MessageTimes<'_>) -> Result<bool, Mismatch>,
    ) {
        let Ledger { slots, recorder, .. } = &mut *self.ledger;
        let slot = slots.get(number);
        let Some((live, events, times)) = parts(slot, self.operations, recorder, self.now) else {
            return;
        };
        if live.decision != StreamDecision::Open {
            return;
        }
        live.last_data = times.now;
        let read = take(&mut live.stream, events, times);
        self.stop_unless_open(number, read);
    }

    /// Stops a stream of which no more is needed: it is complete or invalid.
    #[inline]
    fn stop_unless_open(&mut self, number: u32, read: Result<bool, Mismatch>) {
        let decision = match &read {
            Ok(false) => return,
            Ok(true) => StreamDecision::AtBound,
            Err(_) => StreamDecision::Wrong,
        };
        let slot = self.ledger.slots.get(number);
        let operation = slot.operation;
        if let Some(live) = &mut slot.live {
            live.decision = decision;
        }
        self.ledger.stopped.push(number);
        if let Err(mismatch) = read {
            self.note_error(number);
            self.show(operation, || mismatch);
        }
    }

    /// Judges a complete reply with an accepted status.
    pub(super) fn end_of_events(&mut self, number: u32) -> Outcome {
        let slot = self.ledger.slots.get(number);
        if slot.check != BodyCheck::Events {
            return self.no_events(number);
        }
        let Ledger { slots, recorder, .. } = &mut *self.ledger;
        let slot = slots.get(number);
        let operation = slot.operation;
        let Some((live, events, mut times)) = parts(slot, self.operations, recorder, self.now) else {
            return Outcome::Unexpected;
        };
        let after = times.after();
        match live.decision {
            StreamDecision::Wrong => Outcome::Unexpected,
            StreamDecision::AtBound => self.judge_events(number, StreamEnd::AtBound),
            StreamDecision::Open => {
                let ended = if events.chat().is_some() {
                    live.stream.end_chat()
                } else {
                    live.stream.end(events, after, |id| times.message(id))
                };
                match ended {
                    Ok(()) => self.judge_events(number, StreamEnd::ByItself),
                    Err(mismatch) => {
                        self.ledger.note_ending(number, StreamEnd::Early);
                        self.show(operation, || mismatch);
                        Outcome::Unexpected
                    }
                }
            }
        }
    }

    /// Ends a stream that is still in progress: it met its end condition, it is invalid, or the load is over.
    pub(super) fn stop_events(&mut self, number: u32, ending: StreamEnd) {
        let slot = self.ledger.slots.get(number);
        let decision = slot
            .live
            .as_ref()
            .map_or(StreamDecision::Wrong, |live| live.decision);
        let (epoch, status) = (slot.epoch, slot.status);
        let outcome = match decision {
            StreamDecision::Wrong => Outcome::Unexpected,
            // The missing messages might still have arrived, so they are not held against the stream.
            StreamDecision::Open if ending == StreamEnd::Cut => {
                self.ledger.note_ending(number, StreamEnd::Cut);
                self.note_answer(number, true);
                Outcome::Valid
            }
            StreamDecision::Open | StreamDecision::AtBound => self.judge_events(number, StreamEnd::AtBound),
        };
        let complete = decision != StreamDecision::Wrong;
        if complete {
            self.ledger.recorder.status(epoch, status, None);
        }
        self.ledger.end(number, outcome, complete, self.now);
    }

    /// Judges a stream that has delivered everything needed.
    fn judge_events(&mut self, number: u32, ending: StreamEnd) -> Outcome {
        let slot = self.ledger.slots.get(number);
        let (operation, wants_headers) = (slot.operation, slot.wants_headers);
        let events = self.operations[usize::from(operation)].expectation.events();
        let result = match (&slot.live, events) {
            (Some(live), Some(events)) => live.stream.judge(events),
            _ => Ok(()),
        };
        let result = result.and_then(|()| {
            if wants_headers {
                self.judge(number, None)
            } else {
                Ok(())
            }
        });
        if let Err(mismatch) = result {
            self.show(operation, || mismatch);
            return Outcome::Unexpected;
        }
        self.ledger.note_ending(number, ending);
        self.note_answer(number, false);
        Outcome::Valid
    }

    /// Records the answer of a language model that ended successfully or was cut off, if the stream is one.
    fn note_answer(&mut self, number: u32, is_cut: bool) {
        let slot = self.ledger.slots.get(number);
        let events = self.operations[usize::from(slot.operation)].expectation.events();
        let (Some(chat), Some(live)) = (events.and_then(CompiledEvents::chat), &slot.live) else {
            return;
        };
        let first = if slot.messages > 0 {
            slot.first_message
        } else {
            self.now
        };
        let answer = LlmAnswer {
            first_ns: first.saturating_sub(slot.intended),
            lasted_ns: slot.last_message.saturating_sub(first),
            events: slot.messages,
            usage: live.stream.answer().usage,
            is_cut,
        };
        let epoch = slot.epoch;
        self.ledger.recorder.answer(epoch, &answer, chat);
    }

    /// Records an error in the answer of a language model, if that is why the stream is invalid.
    fn note_error(&mut self, number: u32) {
        let slot = self.ledger.slots.get(number);
        let epoch = slot.epoch;
        if slot
            .live
            .as_ref()
            .is_some_and(|live| live.stream.answer().is_error)
        {
            self.ledger.recorder.error_in_answer(epoch);
        }
    }

    /// Records a reply that is not a stream.
    fn no_events(&mut self, number: u32) -> Outcome {
        let slot = self.ledger.slots.get(number);
        let operation = slot.operation;
        let mismatch = {
            let none = PartialReply::default();
            let partial = slot.partial.as_deref().unwrap_or(&none);
            let headers: HeaderList<'_> = partial.headers.iter().collect();
            CompiledExpectation::no_stream(&Reply {
                status: slot.status,
                grpc_status: None,
                headers: &headers,
                body: &partial.body,
            })
        };
        self.show(operation, || mismatch);
        Outcome::Unexpected
    }
}

/// Records the arrival times of a stream's messages.
struct MessageTimes<'a> {
    recorder: &'a mut Recorder,
    messages: &'a mut u32,
    first: &'a mut u64,
    last: &'a mut u64,
    epoch: Epoch,
    due: u64,
    sent: u64,
    now: u64,
}

impl MessageTimes<'_> {
    /// Time since the request was sent, ns.
    const fn after(&self) -> u64 {
        self.now.saturating_sub(self.sent)
    }

    /// Handles a message with one or more tokens.
    fn token(&mut self) {
        if *self.messages == 0 {
            let waited = self.now.saturating_sub(self.due);
            self.recorder.first_token(self.epoch, waited);
        }
        self.message(IdStep::Nothing);
    }

    fn message(&mut self, id: IdStep) {
        let times = if *self.messages == 0 {
            *self.first = self.now;
            (Some(self.now.saturating_sub(self.sent)), None)
        } else {
            (None, Some(self.now.saturating_sub(*self.last)))
        };
        *self.messages = self.messages.saturating_add(1);
        *self.last = self.now;
        self.recorder.message(self.epoch, times, id);
    }
}

/// The stream in a slot, its rules, and the recorder of its messages.
fn parts<'a, P: Protocol>(
    slot: &'a mut Slot,
    operations: &'a [PreparedOperation<P>],
    recorder: &'a mut Recorder,
    now: u64,
) -> Option<(&'a mut OpenStream, &'a CompiledEvents, MessageTimes<'a>)> {
    let events = operations[usize::from(slot.operation)].expectation.events()?;
    let times = MessageTimes {
        recorder,
        messages: &mut slot.messages,
        first: &mut slot.first_message,
        last: &mut slot.last_message,
        epoch: slot.epoch,
        due: slot.intended,
        sent: slot.sent,
        now,
    };
    Some((slot.live.as_deref_mut()?, events, times))
}
