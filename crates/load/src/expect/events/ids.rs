//! Detects missing, duplicate and late events by their ids.
//!
//! Only ids that count from 0 or 1 are checked: decimal numbers, the first of which is 0 or 1. Other ids (times,
//! database keys, a feed joined in the middle) may skip numbers, so nothing follows from a gap.

/// How many ids below the highest one are remembered.
const REMEMBERED: u64 = 64;

/// The result for one id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing to check: there is no id, or the ids do not count.
    Nothing,
    /// It is the next one.
    Next,
    /// This number of ids before it was skipped.
    Skipped(u64),
    /// A duplicate.
    Again,
    /// It was skipped before and arrives now.
    Late,
}

/// The ids of one stream so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ids {
    state: State,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// No id so far.
    #[default]
    New,
    /// Counting: the highest id, and a bit for each lower one that has arrived, the nearest in the lowest bit.
    Counting { highest: u64, below: u64 },
    /// The ids do not count.
    Opaque,
}

impl Ids {
    pub(super) fn take(&mut self, id: &[u8]) -> Step {
        let (State::Counting { .. } | State::New) = self.state else {
            return Step::Nothing;
        };
        let Some(number) = decimal(id) else {
            self.state = State::Opaque;
            return Step::Nothing;
        };
        match self.state {
            State::New if number <= 1 => {
                self.state = State::Counting {
                    highest: number,
                    // Ids before the first one are not missing.
                    below: u64::MAX,
                };
                Step::Next
            }
            State::Counting { highest, below } => {
                let (state, step) = next(highest, below, number);
                self.state = state;
                step
            }
            State::New | State::Opaque => {
                self.state = State::Opaque;
                Step::Nothing
            }
        }
    }
}

fn next(highest: u64, below: u64, number: u64) -> (State, Step) {
    if number > highest {
        let ahead = number - highest;
        let state = State::Counting {
            highest: number,
            below: match ahead {
                ..REMEMBERED => below << ahead | 1 << (ahead - 1),
                REMEMBERED => 1 << (REMEMBERED - 1),
                _ => 0,
            },
        };
        let step = if ahead == 1 {
            Step::Next
        } else {
            Step::Skipped(ahead - 1)
        };
        return (state, step);
    }
    let behind = highest - number;
    let mut below = below;
    let step = match behind.checked_sub(1) {
        // An id further back has been forgotten, so it may be a duplicate or late.
        None | Some(REMEMBERED..) => Step::Again,
        Some(bit) if below >> bit & 1 == 1 => Step::Again,
        Some(bit) => {
            below |= 1 << bit;
            Step::Late
        }
    };
    (State::Counting { highest, below }, step)
}

fn decimal(id: &[u8]) -> Option<u64> {
    if id.is_empty() || id.len() > 18 || !id.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(id.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn steps(ids: &[&str]) -> Vec<Step> {
        let mut all = Ids::default();
        ids.iter().map(|id| all.take(id.as_bytes())).collect()
    }

    #[test]
    fn ids_that_count_tell_what_is_missing_doubled_and_late() {
        use Step::{Again, Late, Next, Skipped};
        assert_eq!(
            steps(&["1", "2", "5", "3", "3", "5", "6", "0"]),
            [Next, Next, Skipped(2), Late, Again, Again, Next, Again]
        );
        assert_eq!(
            steps(&["0", "200", "199", "100"]),
            [Next, Skipped(199), Late, Again]
        );
    }

    #[test]
    fn other_ids_tell_nothing() {
        use Step::{Next, Nothing};
        assert_eq!(steps(&["17", "19", "17"]), [Nothing; 3]);
        assert_eq!(steps(&["a", "a"]), [Nothing; 2]);
        assert_eq!(steps(&["1", "2", "x", "9"]), [Next, Next, Nothing, Nothing]);
        assert_eq!(steps(&["1", "", "9"]), [Next, Nothing, Nothing]);
    }

    proptest! {
        /// For ids within the remembered window: skipped − late = ids that never arrived, and all others are
        /// duplicates.
        #[test]
        fn sums_are_those_of_a_set(mut numbers in proptest::collection::vec(1..60_u64, 1..200)) {
            numbers.insert(0, 1);
            let mut ids = Ids::default();
            let (mut skipped, mut late, mut again) = (0, 0, 0);
            for number in &numbers {
                match ids.take(number.to_string().as_bytes()) {
                    Step::Next | Step::Nothing => {}
                    Step::Skipped(count) => skipped += count,
                    Step::Late => late += 1,
                    Step::Again => again += 1,
                }
            }
            let came: BTreeSet<u64> = numbers.iter().copied().collect();
            let highest = *came.last().expect("one");
            prop_assert_eq!(skipped - late, highest - came.len() as u64);
            prop_assert_eq!(again, (numbers.len() - came.len()) as u64);
        }
    }
}
