//! What the ids of events tell: which are missing, doubled or late.
//!
//! Only ids that count from 0 or 1 do: they are decimal numbers, and the first one of the stream is 0 or 1. Others (times, keys of
//! a database, a feed that was joined in its middle) may leave numbers out, and tell nothing.

/// Ids below the highest one that are remembered.
const REMEMBERED: u64 = 64;

/// What one id tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing: there is none, or they do not count.
    Nothing,
    /// That it is the next one.
    Next,
    /// So many ids were left out before it.
    Skipped(u64),
    /// It was there before.
    Again,
    /// It was left out before and comes now.
    Late,
}

/// The ids of one stream so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ids {
    state: State,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// None came.
    #[default]
    New,
    /// They count: the highest one, and a bit for each of those below it that came, the nearest lowest.
    Counting { highest: u64, below: u64 },
    /// They do not count.
    Opaque,
}

impl Ids {
    /// Takes the next id.
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
                    // What would stand before the first one is not missing.
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
        // Of one that lies further back nobody knows whether it came.
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
        /// Whatever comes within the memory: left out − late = those that never came, and the doubled ones are all others.
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
