//! Timers, one for each connection and each slot: a heap whose entries can be moved.

/// Due times by timer number. All memory is allocated up front.
#[derive(Debug)]
pub(super) struct Timers {
    /// When each timer is due.
    at: Vec<u64>,
    /// The timers that are set, the earliest first.
    heap: Vec<u32>,
    /// The position of each timer in the heap.
    stands: Vec<u32>,
}

const NOWHERE: u32 = u32::MAX;

impl Timers {
    /// Timers with numbers below `count`, none of which is set.
    pub(super) fn new(count: usize) -> Self {
        Self {
            at: vec![u64::MAX; count],
            heap: Vec::with_capacity(count),
            stands: vec![NOWHERE; count],
        }
    }

    pub(super) fn is_set(&self, number: u32) -> bool {
        self.stands[number as usize] != NOWHERE
    }

    /// Sets or moves a timer.
    pub(super) fn set(&mut self, number: u32, when: u64) {
        self.at[number as usize] = when;
        if !self.is_set(number) {
            self.stands[number as usize] = self.heap.len() as u32;
            self.heap.push(number);
        }
        let stands = self.stands[number as usize] as usize;
        let stands = self.rise(stands);
        self.sink(stands);
    }

    /// Clears a timer; returns when it was due, if it was set.
    pub(super) fn clear(&mut self, number: u32) -> Option<u64> {
        let was_set = self.is_set(number);
        if was_set {
            self.remove(self.stands[number as usize] as usize);
        }
        was_set.then(|| self.at[number as usize])
    }

    /// When the earliest is due; `u64::MAX`: none is set.
    pub(super) fn next_due(&self) -> u64 {
        self.heap
            .first()
            .map_or(u64::MAX, |&number| self.at[number as usize])
    }

    /// Takes the earliest timer that is due by `now`, with its due time.
    pub(super) fn pop(&mut self, now: u64) -> Option<(u32, u64)> {
        let number = *self.heap.first()?;
        let due = self.at[number as usize];
        if due > now {
            return None;
        }
        self.remove(0);
        Some((number, due))
    }

    fn remove(&mut self, stands: usize) {
        let number = self.heap.swap_remove(stands);
        self.stands[number as usize] = NOWHERE;
        if let Some(&moved) = self.heap.get(stands) {
            self.stands[moved as usize] = stands as u32;
            let stands = self.rise(stands);
            self.sink(stands);
        }
    }

    fn when(&self, stands: usize) -> u64 {
        self.at[self.heap[stands] as usize]
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.heap.swap(one, other);
        self.stands[self.heap[one] as usize] = one as u32;
        self.stands[self.heap[other] as usize] = other as u32;
    }

    fn rise(&mut self, mut stands: usize) -> usize {
        while stands > 0 && self.when(stands) < self.when((stands - 1) / 2) {
            self.swap(stands, (stands - 1) / 2);
            stands = (stands - 1) / 2;
        }
        stands
    }

    fn sink(&mut self, mut stands: usize) {
        loop {
            let mut least = stands;
            for child in [2 * stands + 1, 2 * stands + 2] {
                if child < self.heap.len() && self.when(child) < self.when(least) {
                    least = child;
                }
            }
            if least == stands {
                return;
            }
            self.swap(stands, least);
            stands = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn they_come_in_their_order(steps in proptest::collection::vec((0..20u32, 0..4u8, 0..1000u64), 0..300)) {
            let (mut timers, mut model) = (Timers::new(20), BTreeMap::new());
            for (number, kind, when) in steps {
                match kind {
                    0 => {
                        timers.clear(number);
                        model.remove(&number);
                    }
                    1 => {
                        let due = timers.pop(when);
                        let least = model.values().min().copied();
                        match due {
                            Some((number, due)) => {
                                prop_assert_eq!(least, Some(due));
                                prop_assert!(due <= when);
                                prop_assert_eq!(model.remove(&number), Some(due));
                            }
                            None => prop_assert!(least.is_none_or(|at| at > when)),
                        }
                    }
                    _ => {
                        timers.set(number, when);
                        model.insert(number, when);
                    }
                }
                prop_assert_eq!(timers.next_due(), model.values().min().copied().unwrap_or(u64::MAX));
                prop_assert_eq!(timers.is_set(number), model.contains_key(&number));
            }
        }
    }
}
