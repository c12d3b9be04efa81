//! Streams of events that are cancelled: by their end condition, because they are invalid, or at the end of the load.

use super::Core;
use super::ending::Reason;
use crate::recorder::StreamEnd;
use crate::worker::sink::Sink;
use prony_load::CompiledExpectation;
use prony_load::events::CompiledEvents;
use prony_protocols::layer::Layer;
use prony_protocols::protocol::{Protocol, Token};

impl<P: Protocol, L: Layer> Core<P, L> {
    /// Cancels the streams that have just met their end condition or are invalid. Returns whether their connection
    /// stays open.
    pub(super) fn stop_streams(&mut self, now: u64) -> bool {
        let mut stays_open = true;
        while let Some(place) = self.ledger.stopped.pop() {
            // It may have ended by itself in the same bytes.
            if self.ledger.slots.get(place).active {
                stays_open &= self.stop_stream(place, StreamEnd::AtBound, now);
            }
        }
        stays_open
    }

    fn stop_stream(&mut self, place: u32, ending: StreamEnd, now: u64) -> bool {
        let number = self.ledger.slots.connection_of(place);
        let connection = &mut self.connections[number as usize];
        // A stream counts as a reply, whether its connection stays open or not.
        connection.answered = true;
        let out = self.output.of_protocol(!L::IDENTITY);
        let session = connection.session.as_mut();
        let stays_open = session.is_none_or(|session| session.protocol.cancel(Token(place), out));
        let mut sink = sink!(self, now);
        sink.stop_events(place, ending);
        stays_open
    }

    /// When the timer of a request that may be a stream is checked first.
    pub(super) fn first_check(expectation: &CompiledExpectation, sent: u64, times_out: u64) -> u64 {
        let for_ns = expectation.events().and_then(CompiledEvents::for_ns);
        sent.saturating_add(for_ns.unwrap_or(u64::MAX)).min(times_out)
    }

    /// Handles the timer of a request in a load with streams: ends the stream at its end condition or after a period
    /// of silence, or else sets the timer again.
    pub(super) fn handle_stream_timer(&mut self, place: u32, now: u64) {
        let streams_well = self.ledger.streams_well(place);
        let slot = self.ledger.slots.get(place);
        let operation = &self.workload.operations[usize::from(slot.operation)];
        let events = operation.expectation.events().filter(|_| streams_well);
        // A stream with an end condition may go on until then while it is not silent.
        let last_data = match events {
            Some(events) if events.is_bounded() => {
                slot.live.as_ref().map_or(slot.intended, |live| live.last_data)
            }
            _ => slot.intended,
        };
        let silent = last_data.saturating_add(self.settings.timeout);
        let bound = events
            .and_then(CompiledEvents::for_ns)
            .map_or(u64::MAX, |ns| slot.sent.saturating_add(ns));
        if bound <= now {
            let number = self.ledger.slots.connection_of(place);
            let stays_open = self.stop_stream(place, StreamEnd::AtBound, now);
            self.settle(now);
            if stays_open {
                self.use_connection(number, now);
            } else {
                self.flush(number, now);
                self.end(number, Reason::Lost, now);
            }
        } else if silent <= now {
            self.time_out(place, now);
        } else {
            self.timers.set(place, silent.min(bound));
        }
    }

    /// The load is over: streams with an end condition that have not been silent so far count as successful.
    pub(super) fn cut_streams(&mut self, now: u64) {
        if !self.settings.streams {
            return;
        }
        for place in 0..self.ledger.slots.len() as u32 {
            if !self.ledger.streams_well(place) {
                continue;
            }
            let operation = self.ledger.slots.get(place).operation;
            let expectation = &self.workload.operations[usize::from(operation)].expectation;
            if expectation.events().is_some_and(CompiledEvents::is_bounded) {
                let number = self.ledger.slots.connection_of(place);
                self.stop_stream(place, StreamEnd::Cut, now);
                self.flush(number, now);
            } else {
                self.note_unended(place);
            }
        }
    }

    /// Records that a reply had started and did not end in time: it may be a stream without a configured end
    /// condition.
    pub(super) fn note_unended(&mut self, place: u32) {
        let slot = self.ledger.slots.get(place);
        let operation = &self.workload.operations[usize::from(slot.operation)];
        let is_bounded = operation
            .expectation
            .events()
            .is_some_and(CompiledEvents::is_bounded);
        if slot.bytes > 0 && !is_bounded {
            self.totals.unended.get_or_insert(slot.operation);
        }
    }
}
