//! Takes replies from a protocol, judges them, and records what became of each request.

use super::sample::Sample;
use super::slots::{BodyCheck, Kept, Slot, Slots};
use crate::parameters::Parameters;
use crate::protocol::{End, Failure, Head, Protocol, ReplySink, Token};
use crate::recorder::{Finished, Recorder};
use crate::workload::PreparedOperation;
use prony_load::{Mismatch, Reply};
use prony_measurement::Outcome;

/// Bytes of a body that are kept to be shown where they are not needed for the verdict.
const SHOWN: usize = 512;

/// Takes the replies of one connection while it reads.
pub(super) struct Sink<'a, P: Protocol> {
    pub(super) slots: &'a mut Slots,
    pub(super) operations: &'a [PreparedOperation<P>],
    pub(super) parameters: &'a Parameters,
    pub(super) recorder: &'a mut Recorder,
    pub(super) sample: &'a mut Sample,
    /// Places whose request has its outcome, for the worker to use again.
    pub(super) finished: &'a mut Vec<u32>,
    /// When the bytes were seen.
    pub(super) seen: u64,
}

impl<P: Protocol> Sink<'_, P> {
    fn finish(&mut self, number: u32, outcome: Outcome, complete: bool) {
        let slot = self.slots.get(number);
        slot.went_well = outcome == Outcome::Valid;
        let request = Finished {
            epoch: slot.epoch,
            operation: slot.operation,
            intended: slot.intended,
            sent: slot.sent,
            first_byte: slot.first_byte,
            end: self.seen,
            outcome,
        };
        self.slots.deactivate(number);
        self.recorder.finished(&request, complete);
        self.finished.push(number);
    }

    /// Keeps a wrong reply for the user, if the sample wants it.
    fn show(&mut self, operation: u16, mismatch: impl FnOnce() -> Mismatch) {
        if let Some(key) = self.sample.draw() {
            self.sample.keep(key, operation, mismatch());
        }
    }

    /// Judges the whole of what was kept.
    fn judge(&mut self, number: u32, grpc_status: Option<u32>) -> Result<(), Mismatch> {
        let slot = self.slots.get(number);
        let operation = &self.operations[usize::from(slot.operation)];
        let none = Kept::default();
        let kept = slot.kept.as_deref().unwrap_or(&none);
        let headers: Vec<(&[u8], &[u8])> = kept
            .headers
            .iter()
            .map(|(name, value)| (name.as_slice(), value.as_slice()))
            .collect();
        // A body that was compared to its end is the right one, and was not kept.
        let body = match (&operation.constant_body, slot.check) {
            (Some(constant), BodyCheck::Compare { equal }) => &constant[..equal],
            _ => kept.body.as_slice(),
        };
        let reply = Reply {
            status: slot.status,
            grpc_status,
            headers: &headers,
            body,
        };
        let values = self.parameters.values(slot.number);
        operation
            .expectation
            .judge(&reply, |index, out| values.append(index, out))
    }

    fn verdict(&mut self, number: u32, end: End) -> Outcome {
        let slot = self.slots.get(number);
        let (index, check, headers) = (slot.operation, slot.check, slot.wants_headers);
        let operation = &self.operations[usize::from(index)];
        let wrong_grpc = end
            .grpc_status
            .is_some_and(|code| code != operation.expectation.grpc_status());
        let wrong_status = !operation.expectation.accepts_status(slot.status);
        if wrong_grpc || wrong_status {
            if let Some(key) = self.sample.draw()
                && let Err(mismatch) = self.judge(number, end.grpc_status)
            {
                self.sample.keep(key, index, mismatch);
            }
            return Outcome::Status;
        }
        let equal_to_the_end = match (check, &operation.constant_body) {
            (BodyCheck::Ignore, _) => true,
            (BodyCheck::Compare { equal }, Some(constant)) => equal == constant.len(),
            _ => false,
        };
        if equal_to_the_end && !headers {
            return Outcome::Valid;
        }
        match self.judge(number, end.grpc_status) {
            Ok(()) => Outcome::Valid,
            Err(mismatch) => {
                self.show(index, || mismatch);
                Outcome::WrongReply
            }
        }
    }
}

impl<P: Protocol> ReplySink for Sink<'_, P> {
    #[inline]
    fn first_byte(&mut self, token: Token) {
        self.slots.get(token.0).first_byte = self.seen;
    }

    #[inline]
    fn head(&mut self, token: Token, head: Head<'_>) {
        let slot = self.slots.get(token.0);
        slot.status = head.status;
        if slot.wants_headers {
            let kept = slot.kept.get_or_insert_default();
            kept.headers.extend(
                head.headers
                    .iter()
                    .map(|(name, value)| (name.to_vec(), value.to_vec())),
            );
        }
        let operation = &self.operations[usize::from(slot.operation)];
        if slot.check == BodyCheck::Ignore && !operation.expectation.accepts_status(head.status) {
            slot.check = BodyCheck::Keep;
        }
    }

    #[inline]
    fn data(&mut self, token: Token, piece: &[u8]) {
        let slot = self.slots.get(token.0);
        match slot.check {
            BodyCheck::Ignore => {}
            BodyCheck::Compare { equal } => {
                let constant = self.operations[usize::from(slot.operation)]
                    .constant_body
                    .as_deref();
                let constant = constant.expect("invariant: a body is compared only with a constant one");
                if constant[equal..].starts_with(piece) {
                    slot.check = BodyCheck::Compare {
                        equal: equal + piece.len(),
                    };
                } else {
                    slot.check = BodyCheck::Keep;
                    let kept = slot.kept.get_or_insert_default();
                    kept.body.extend_from_slice(&constant[..equal]);
                    kept.body.extend_from_slice(piece);
                }
            }
            BodyCheck::Keep => keep(slot, &self.operations[usize::from(slot.operation)], piece),
        }
    }

    #[inline]
    fn end(&mut self, token: Token, end: End) {
        let slot = self.slots.get(token.0);
        let (epoch, status) = (slot.epoch, slot.status);
        self.recorder.status(epoch, status, end.grpc_status);
        let outcome = self.verdict(token.0, end);
        self.finish(token.0, outcome, true);
    }

    fn failed(&mut self, token: Token, failure: Failure) {
        let outcome = match failure {
            Failure::Reset => Outcome::Reset,
            Failure::Malformed(reason) => {
                let operation = self.slots.get(token.0).operation;
                self.show(operation, || {
                    Mismatch::new("reply", "a well-formed reply", reason)
                });
                Outcome::WrongReply
            }
        };
        self.finish(token.0, outcome, false);
    }
}

fn keep<P: Protocol>(slot: &mut Slot, operation: &PreparedOperation<P>, piece: &[u8]) {
    let needed = operation.judges_body || operation.constant_body.is_some();
    let kept = slot.kept.get_or_insert_default();
    let room = if needed {
        piece.len()
    } else {
        SHOWN.saturating_sub(kept.body.len()).min(piece.len())
    };
    kept.body.extend_from_slice(&piece[..room]);
}
