//! The parts of replies that are kept for judging or display, and a limit for their memory.

use prony_load::JsonWalk;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Most bytes of one body that are kept for judging.
const LONGEST: usize = 64 << 20;

/// Most memory for all bodies of a load that are kept for judging.
const MOST_TOGETHER: usize = 1 << 30;

/// Bytes of a body that are kept for display where the verdict does not need them.
pub(crate) const SHOWN: usize = 512;

/// Parts of a reply that are judged when it is complete.
#[derive(Debug, Default)]
pub(crate) struct PartialReply {
    pub(crate) body: Vec<u8>,
    /// Parser state of JSON rules, for a body that is judged as it arrives.
    pub(crate) json: JsonWalk,
    /// Bytes charged to the budget for the two fields above.
    charged: usize,
    pub(crate) grpc_message: Vec<u8>,
    pub(crate) headers: KeptHeaders,
}

impl PartialReply {
    /// Forgets the last reply. Memory beyond a fair share is returned to the budget.
    pub(crate) fn clear(&mut self, budget: &Budget) {
        if self.charged > budget.share {
            budget.release(std::mem::take(&mut self.charged));
            self.body = Vec::new();
            self.json = JsonWalk::default();
        }
        self.body.clear();
        self.grpc_message.clear();
        self.headers.clear();
    }

    /// Appends a piece of a body that is needed whole. Fails if that exceeds a limit.
    pub(crate) fn add(&mut self, piece: &[u8], budget: &Budget) -> Result<(), BodyLimit> {
        let needed = self.body.len() + piece.len();
        if needed > LONGEST {
            return Err(BodyLimit::Body);
        }
        if self.charge(needed, budget)? {
            self.body.reserve_exact(self.charged - self.body.len());
        }
        self.body.extend_from_slice(piece);
        Ok(())
    }

    /// Charges the budget for a body of `needed` bytes. Returns whether the charge grew.
    pub(crate) fn charge(&mut self, needed: usize, budget: &Budget) -> Result<bool, BodyLimit> {
        if needed <= self.charged {
            return Ok(false);
        }
        let wanted = needed.max(2 * self.charged).min(LONGEST);
        if !budget.take(wanted - self.charged) {
            return Err(BodyLimit::Load);
        }
        self.charged = wanted;
        Ok(true)
    }

    /// Appends as much of a piece as fits into the first [`SHOWN`] bytes of the body.
    pub(crate) fn add_begin(&mut self, piece: &[u8]) {
        let room = SHOWN.saturating_sub(self.body.len()).min(piece.len());
        self.body.extend_from_slice(&piece[..room]);
    }
}

/// Why a body cannot be kept whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyLimit {
    /// It is longer than [`LONGEST`].
    Body,
    /// All bodies of the load together would exceed [`MOST_TOGETHER`].
    Load,
}

impl BodyLimit {
    /// The reason shown to the user.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::Body => "a body of more than 64 MiB, which is too long to be judged",
            Self::Load => {
                "not judged: the replies kept for judging exceed 1 GiB in total (use fewer connections, or \
                 check the status only)"
            }
        }
    }
}

/// The memory for bodies that are kept for judging, shared by all threads of a load: a service with endless replies
/// must not exhaust the memory, whatever the number of connections.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Budget {
    left: AtomicUsize,
    /// Memory that a slot may keep for its next reply, bytes.
    share: usize,
}

impl Budget {
    /// The budget of a load with this number of request slots.
    pub(crate) fn of(slots: usize) -> Self {
        Self {
            left: AtomicUsize::new(MOST_TOGETHER),
            share: (MOST_TOGETHER / 2 / slots.max(1)).min(LONGEST),
        }
    }

    fn take(&self, bytes: usize) -> bool {
        let less = |left: usize| left.checked_sub(bytes);
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_ok()
    }

    fn release(&self, bytes: usize) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// The headers of a reply in two buffers, which are reused.
#[derive(Debug, Default)]
pub(crate) struct KeptHeaders {
    /// Names and values, concatenated.
    text: Vec<u8>,
    /// The lengths of each name and its value.
    lengths: Vec<(usize, usize)>,
}

impl KeptHeaders {
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.lengths.clear();
    }

    pub(crate) fn push(&mut self, name: &[u8], value: &[u8]) {
        self.text.extend_from_slice(name);
        self.text.extend_from_slice(value);
        self.lengths.push((name.len(), value.len()));
    }

    /// Names and values, in the order received.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut rest = self.text.as_slice();
        self.lengths.iter().map(move |&(name, value)| {
            let (header, after) = rest.split_at(name + value);
            rest = after;
            header.split_at(name)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(all: usize, share: usize) -> Budget {
        Budget {
            left: AtomicUsize::new(all),
            share,
        }
    }

    #[test]
    fn all_bodies_together_hold_no_more_than_their_budget() {
        let budget = budget(1 << 20, 1 << 10);
        let mut all: Vec<PartialReply> = (0..256).map(|_| PartialReply::default()).collect();
        let piece = vec![0; 20 << 10];
        let results: Vec<_> = all
            .iter_mut()
            .map(|partial| partial.add(&piece, &budget))
            .collect();
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 51);
        assert!(results[51..].iter().all(|result| *result == Err(BodyLimit::Load)));
        let held = |all: &[PartialReply]| all.iter().map(|partial| partial.body.capacity()).sum::<usize>();
        assert!(held(&all) <= 1 << 20);
        for partial in &mut all {
            partial.clear(&budget);
        }
        assert_eq!(held(&all), 0);
        assert_eq!(all[255].add(&piece, &budget), Ok(()));
    }

    #[test]
    fn a_usual_body_keeps_its_memory_for_the_next_one() {
        let budget = budget(1 << 20, 1 << 18);
        let mut partial = PartialReply::default();
        for _ in 0..1_000 {
            partial.add_begin(&[0; 100]);
            partial.add(&[1; 6_000], &budget).expect("room");
            partial.add(&[2; 6_000], &budget).expect("room");
            partial.clear(&budget);
        }
        assert_eq!(partial.body.capacity(), partial.charged);
        assert_eq!(budget.left.load(Ordering::Relaxed), (1 << 20) - partial.charged);
    }

    #[test]
    fn a_body_has_a_limit_of_its_own() {
        let budget = budget(usize::MAX, 0);
        let mut partial = PartialReply::default();
        assert_eq!(partial.add(&vec![0; LONGEST], &budget), Ok(()));
        assert_eq!(partial.add(&[0], &budget), Err(BodyLimit::Body));
    }
}
