//! The search of a service that may not be warm yet.

use super::search::{Plan, Search, Verdict};

/// The search, which forgets that a service that was not yet warm missed the first rates.
pub(super) struct Climb {
    plan: Plan,
    pub(super) search: Search,
    met: bool,
    missed: bool,
}

impl Climb {
    pub(super) fn new(plan: Plan) -> Self {
        Self {
            plan,
            search: Search::new(plan),
            met: false,
            missed: false,
        }
    }

    pub(super) fn take(&mut self, rate: f64, is_met: bool) {
        if is_met && self.missed && !self.met {
            self.search = Search::new(Plan {
                start: rate,
                ..self.plan
            });
        }
        self.met |= is_met;
        self.missed |= !is_met;
        let verdict = if is_met { Verdict::Met } else { Verdict::Missed };
        self.search.take(rate, verdict);
    }
}

#[cfg(test)]
mod tests {
    use super::super::search::Next;
    use super::*;

    /// Searches a service that carries nothing at first, and then so much; gives the rate and the tries.
    fn climb(cold: u32, capacity: f64) -> (f64, u32) {
        let mut climb = Climb::new(Plan {
            start: 1_000.0,
            limit: 1e6,
            precision: 0.1,
        });
        for tries in 0..100 {
            match climb.search.next() {
                Next::Try(rate) => climb.take(rate, tries >= cold && rate <= capacity),
                Next::Found(rate) => return (rate, tries),
                end => panic!("{end:?}"),
            }
        }
        panic!("no end")
    }

    #[test]
    fn what_a_cold_service_missed_is_no_bound() {
        for cold in 0..3 {
            let (rate, tries) = climb(cold, 20_000.0);
            assert!((18_000.0..=20_000.0).contains(&rate), "{cold}: {rate}");
            assert!(tries < 25, "{cold}: {tries} tries");
        }
        let (rate, _) = climb(0, 300.0);
        assert!((270.0..=300.0).contains(&rate), "{rate}");
    }
}
