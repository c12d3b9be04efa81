//! Requests are due whatever comes back; those that find no free place wait.

use super::Next;
use crate::pacer::Pacer;
use crate::worker::source::Source;

/// An open load.
pub(in crate::worker) struct Open {
    pub(super) pacer: Pacer,
}

impl Open {
    pub(in crate::worker) const fn new(pacer: Pacer) -> Self {
        Self { pacer }
    }

    pub(super) fn place_free(&mut self, source: &mut Source) -> Next {
        match self.pacer.take() {
            Some((intended, late)) => {
                let mut due = source.arrival(intended, late);
                due.opens = true;
                Next::Send(due)
            }
            None => Next::Idle,
        }
    }
}
