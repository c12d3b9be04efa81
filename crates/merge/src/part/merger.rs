//! Merges many parts with many intervals efficiently.

use super::{Part, PartError};
use prony_load::Job;
use prony_records::{CompactSum, IntervalPart};
use std::collections::BTreeMap;

/// Number of parts whose intervals are buffered before they are added to the sum. Rewriting the sum for each part would take most
/// of the time; buffering all parts would take most of the memory.
const KEPT: usize = 16;

/// Merges the parts of many workers as they arrive. The result equals that of [`Part::merge`].
#[derive(Debug)]
pub struct Merger {
    sum: Part,
    pending: Vec<BTreeMap<u64, IntervalPart>>,
    scratch: CompactSum,
}

impl Merger {
    pub fn new(job: &Job) -> Self {
        Self {
            sum: Part::new(job),
            pending: Vec::new(),
            scratch: CompactSum::new(),
        }
    }

    /// Adds a part. Fails without changing anything in the same cases as [`Part::merge`].
    pub fn add(&mut self, mut part: Part) -> Result<(), PartError> {
        self.sum.check(&part)?;
        self.pending.push(std::mem::take(&mut part.intervals));
        self.sum.merge_all_but_intervals(&part);
        if self.pending.len() == KEPT {
            self.merge_pending();
        }
        Ok(())
    }

    /// Returns the merged part.
    pub fn finish(mut self) -> Part {
        self.merge_pending();
        self.sum
    }

    fn merge_pending(&mut self) {
        let mut by_index: BTreeMap<u64, Vec<IntervalPart>> = BTreeMap::new();
        let sum = std::mem::take(&mut self.sum.intervals);
        for (index, one) in std::iter::once(sum).chain(self.pending.drain(..)).flatten() {
            by_index.entry(index).or_default().push(one);
        }
        let scratch = &mut self.scratch;
        self.sum.intervals = by_index
            .into_iter()
            .filter_map(|(index, all)| Some((index, merge_intervals(&all, scratch)?)))
            .collect();
    }
}

/// Merges intervals with the same index.
fn merge_intervals(all: &[IntervalPart], scratch: &mut CompactSum) -> Option<IntervalPart> {
    let (first, rest) = all.split_first()?;
    let mut sum = first.clone();
    for one in rest {
        sum.add_counts(one);
    }
    for one in all {
        scratch.add(&one.times);
    }
    sum.times = scratch.take();
    Some(sum)
}
