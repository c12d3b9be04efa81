//! Open load: requests are due independently of replies; those without a free slot wait.

use super::SlotAction;
use crate::pacer::Pacer;
use crate::worker::backlog::Share;
use crate::worker::slots::DueRequest;
use crate::worker::source::Source;

/// An open load.
pub(in crate::worker) struct Open {
    pub(in crate::worker) pacer: Pacer,
    /// The queue shared by all threads, if there are several; then nothing waits in the pacer for long.
    pub(in crate::worker) shared: Option<Share>,
}

impl Open {
    pub(in crate::worker) const fn new(pacer: Pacer) -> Self {
        Self { pacer, shared: None }
    }

    pub(super) fn next_action(&mut self, source: &mut Source) -> SlotAction {
        self.take_waiting(source)
            .map_or(SlotAction::Idle, SlotAction::Send)
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.pacer.is_waiting() || self.shared.as_ref().is_some_and(Share::is_waiting)
    }

    /// Takes the oldest arrival.
    pub(super) fn take_waiting(&mut self, source: &mut Source) -> Option<DueRequest> {
        let shared = self.shared.as_ref().and_then(Share::take);
        shared.or_else(|| self.take_own(source))
    }

    /// Takes the oldest arrival, if it was due by `limit`.
    pub(in crate::worker) fn take_due_by(&mut self, limit: u64, source: &mut Source) -> Option<DueRequest> {
        let shared = self.shared.as_ref().and_then(|shared| shared.take_due_by(limit));
        shared.or_else(|| {
            let (intended, late) = self.pacer.take_due_by(limit)?;
            Some(source.arrival(intended, late))
        })
    }

    fn take_own(&mut self, source: &mut Source) -> Option<DueRequest> {
        let (intended, late) = self.pacer.take()?;
        Some(DueRequest {
            starts_arrival: true,
            ..source.arrival(intended, late)
        })
    }

    /// Passes an arrival without a free slot on this thread to all threads; returns it as an error if it is lost
    /// because the queue is full. `None`: there is no such arrival, or there are no other threads.
    pub(in crate::worker) fn pass_on(&mut self, source: &mut Source) -> Option<Result<(), DueRequest>> {
        self.shared.as_ref()?;
        let due = self.take_own(source)?;
        self.shared.as_ref().map(|shared| shared.put(due))
    }
}
