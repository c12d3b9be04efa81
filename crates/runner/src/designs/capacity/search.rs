//! Which offered load to try next: steps up, then bisects, then confirms twice. Pure: rates and verdicts go in, the next
//! rate or the end comes out.

/// What a rate turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The objective was met.
    Met,
    /// It was not.
    Missed,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SearchStep {
    /// Try this offered rate, per second.
    Try(f64),
    /// The highest offered rate that met the objective, and again when confirmed.
    Found(f64),
    /// Not even the lowest rate met it.
    None,
    /// The highest rate that may be tried met it still.
    Beyond(f64),
}

/// How the search goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SearchPlan {
    /// First rate, per second.
    pub(super) start: f64,
    /// Highest rate, per second.
    pub(super) limit: f64,
    /// The search ends when the bounds are this close, as a share of the rate.
    pub(super) precision: f64,
}

/// How often the result must be met again.
const CONFIRMATIONS: u32 = 2;
/// The lowest rate that is tried when the first one misses, per second.
const LOWEST: f64 = 1.0;

/// A search under way.
#[derive(Debug, Clone)]
pub(crate) struct Search {
    plan: SearchPlan,
    met: Option<f64>,
    missed: Option<f64>,
    current: f64,
    confirmed: u32,
}

impl Search {
    pub(crate) fn new(plan: SearchPlan) -> Self {
        let current = plan.start.min(plan.limit);
        Self {
            plan,
            met: None,
            missed: None,
            current,
            confirmed: 0,
        }
    }

    /// What to do, given all verdicts so far.
    pub(crate) fn next(&self) -> SearchStep {
        match (self.met, self.missed) {
            (None, None) => SearchStep::Try(self.current),
            (Some(met), None) if met >= self.plan.limit => self.confirm(met, SearchStep::Beyond(met)),
            (Some(met), None) => SearchStep::Try((met * 2.0).min(self.plan.limit)),
            (None, Some(missed)) if missed <= LOWEST => SearchStep::None,
            (None, Some(missed)) => SearchStep::Try((missed / 4.0).max(LOWEST)),
            (Some(met), Some(missed)) if missed - met <= met * self.plan.precision => {
                self.confirm(met, SearchStep::Found(met))
            }
            // Halfway on the scale of ratios: rates are compared by how many times one is the other.
            (Some(met), Some(missed)) => SearchStep::Try((met * missed).sqrt()),
        }
    }

    fn confirm(&self, met: f64, done: SearchStep) -> SearchStep {
        if self.confirmed < CONFIRMATIONS {
            SearchStep::Try(met)
        } else {
            done
        }
    }

    /// Takes the verdict on the rate that [`Search::next`] asked for.
    pub(crate) fn take(&mut self, rate: f64, verdict: Verdict) {
        let again = self.met == Some(rate);
        self.current = rate;
        match verdict {
            Verdict::Met if again => self.confirmed += 1,
            Verdict::Met => {
                self.met = Some(rate);
                self.confirmed = 0;
            }
            // What met it once and not again is not held: the search goes on below.
            Verdict::Missed => {
                self.missed = Some(rate);
                if again {
                    self.met = None;
                    self.confirmed = 0;
                }
            }
        }
    }
}

/// The search, which forgets that a service that was not yet warm missed the first rates.
pub(super) struct CapacitySearch {
    plan: SearchPlan,
    search: Search,
    met: bool,
    missed: bool,
}

impl CapacitySearch {
    pub(super) fn new(plan: SearchPlan) -> Self {
        Self {
            plan,
            search: Search::new(plan),
            met: false,
            missed: false,
        }
    }

    /// What to do, given all verdicts so far.
    pub(super) fn next(&self) -> SearchStep {
        self.search.next()
    }

    pub(super) fn take(&mut self, rate: f64, is_met: bool) {
        if is_met && self.missed && !self.met {
            self.search = Search::new(SearchPlan {
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
    use super::*;

    /// Searches a service that holds up to `capacity`; gives the end and the tries.
    fn search(capacity: f64, limit: f64) -> (SearchStep, u32) {
        let plan = SearchPlan {
            start: 1_000.0,
            limit,
            precision: 0.02,
        };
        let mut search = Search::new(plan);
        for tries in 0..200 {
            match search.next() {
                SearchStep::Try(rate) => {
                    assert!(rate <= limit);
                    search.take(
                        rate,
                        if rate <= capacity {
                            Verdict::Met
                        } else {
                            Verdict::Missed
                        },
                    );
                }
                end => return (end, tries),
            }
        }
        panic!("no end")
    }

    #[test]
    fn the_capacity_is_found_from_below_and_above() {
        for capacity in [1.5, 37.0, 999.0, 1_000.0, 12_345.0, 800_000.0] {
            let (end, tries) = search(capacity, 1e6);
            let SearchStep::Found(rate) = end else {
                panic!("{end:?}")
            };
            assert!(
                rate <= capacity && rate >= capacity * 0.97,
                "{rate} of {capacity}"
            );
            assert!(tries < 40, "{tries} tries");
        }
    }

    #[test]
    fn a_search_may_end_without_a_rate_or_at_its_limit() {
        assert_eq!(search(0.5, 1e6).0, SearchStep::None);
        assert_eq!(search(1e9, 50_000.0).0, SearchStep::Beyond(50_000.0));
    }

    #[test]
    fn what_is_not_met_again_is_given_up() {
        let plan = SearchPlan {
            start: 100.0,
            limit: 100.0,
            precision: 0.02,
        };
        let mut search = Search::new(plan);
        search.take(100.0, Verdict::Met);
        assert_eq!(search.next(), SearchStep::Try(100.0));
        search.take(100.0, Verdict::Missed);
        assert_eq!(search.next(), SearchStep::Try(25.0));
    }

    /// Searches a service that sustains no rate in its first `cold` tries and `capacity` afterwards. Returns the rate and the number
    /// of tries.
    fn climb(cold: u32, capacity: f64) -> (f64, u32) {
        let mut climb = CapacitySearch::new(SearchPlan {
            start: 1_000.0,
            limit: 1e6,
            precision: 0.1,
        });
        for tries in 0..100 {
            match climb.next() {
                SearchStep::Try(rate) => climb.take(rate, tries >= cold && rate <= capacity),
                SearchStep::Found(rate) => return (rate, tries),
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
