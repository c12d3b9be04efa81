//! Which offered load to try next: steps up, then bisects, then confirms. Pure: rates and verdicts go in, the next rate or the end
//! comes out.

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
    /// Measure this rate for long: the search says that it meets the objective.
    Confirm(f64),
    /// The highest offered rate that met the objective, and again in the long measurement.
    Found(f64),
    /// Not even the lowest rate met it.
    None,
    /// At the highest rate that may be tried a minute has too few requests to judge it.
    TooFewRequests(f64),
    /// The highest rate that may be tried met it still, also in the long measurement.
    Beyond(f64),
}

/// How the search goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SearchPlan {
    /// First rate, per second.
    pub(super) start: f64,
    /// Highest rate, per second.
    pub(super) limit: f64,
    /// Lowest rate, per second: at lower ones a minute has too few requests to judge them.
    pub(super) lowest: f64,
    /// The search ends when the bounds are this close, as a share of the rate.
    pub(super) precision: f64,
}

/// A search under way.
#[derive(Debug, Clone)]
pub(crate) struct Search {
    plan: SearchPlan,
    /// Rates that met the objective, ascending.
    met: Vec<f64>,
    missed: Option<f64>,
    current: f64,
    confirmed: Option<f64>,
    /// Long measurements that missed.
    falls: u32,
    /// Whether lower rates cannot meet the objective either.
    is_over: bool,
}

impl Search {
    pub(crate) const fn new(plan: SearchPlan) -> Self {
        Self {
            plan,
            met: Vec::new(),
            missed: None,
            current: plan.start.max(plan.lowest).min(plan.limit),
            confirmed: None,
            falls: 0,
            is_over: false,
        }
    }

    /// What to do, given all verdicts so far.
    pub(crate) fn next(&self) -> SearchStep {
        if self.plan.limit < self.plan.lowest {
            return SearchStep::TooFewRequests(self.plan.limit);
        }
        if self.is_over && self.met.is_empty() {
            return SearchStep::None;
        }
        if let Some(rate) = self.confirmed {
            return if rate >= self.plan.limit {
                SearchStep::Beyond(rate)
            } else {
                SearchStep::Found(rate)
            };
        }
        if let Some(missed) = self.missed.filter(|_| self.falls > 0) {
            return self.below(missed);
        }
        match (self.met.last().copied(), self.missed) {
            (None, None) => SearchStep::Try(self.current),
            (Some(met), None) if met >= self.plan.limit => SearchStep::Confirm(met),
            (Some(met), None) => SearchStep::Try((met * 2.0).min(self.plan.limit)),
            (None, Some(missed)) if missed <= self.plan.lowest => SearchStep::None,
            (None, Some(missed)) => SearchStep::Try((missed / 4.0).max(self.plan.lowest)),
            (Some(met), Some(missed)) if missed - met <= met * self.plan.precision => {
                SearchStep::Confirm(met)
            }
            // Halfway on the scale of ratios: rates are compared by how many times one is the other.
            (Some(met), Some(missed)) => SearchStep::Try((met * missed).sqrt()),
        }
    }

    /// The rate to measure after long measurements have missed: what short steps say is too high then. Each fall is twice as far as
    /// the last one, since each measurement takes long.
    fn below(&self, missed: f64) -> SearchStep {
        let far = self.plan.precision * f64::from(1_u32 << (self.falls - 1).min(16));
        let rate = missed / (1.0 + far);
        if rate < self.plan.lowest {
            SearchStep::None
        } else {
            SearchStep::Confirm(rate)
        }
    }

    /// Takes the verdict on the rate that [`Search::next`] wanted to try.
    pub(crate) fn take(&mut self, rate: f64, verdict: Verdict) {
        self.current = rate;
        match verdict {
            Verdict::Met => self.met.push(rate),
            Verdict::Missed => self.miss(rate),
        }
    }

    /// Takes the verdict of the long measurement. If it missed, the search goes on below.
    pub(crate) fn take_confirmation(&mut self, rate: f64, verdict: Verdict) {
        match verdict {
            Verdict::Met => self.confirmed = Some(rate),
            Verdict::Missed => {
                self.falls += 1;
                self.miss(rate);
            }
        }
    }

    fn miss(&mut self, rate: f64) {
        self.missed = Some(rate);
        self.met.retain(|met| *met < rate);
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
        self.search.take(rate, verdict(is_met));
    }

    /// Lower rates cannot meet the objective.
    pub(super) const fn end(&mut self) {
        self.search.is_over = true;
    }

    pub(super) fn take_confirmation(&mut self, rate: f64, is_met: bool) {
        self.search.take_confirmation(rate, verdict(is_met));
    }
}

const fn verdict(is_met: bool) -> Verdict {
    if is_met { Verdict::Met } else { Verdict::Missed }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches a service that holds up to `capacity` in short steps and up to `long` in long measurements. Returns the end, and the
    /// numbers of steps and of long measurements.
    fn search(capacity: f64, long: f64, limit: f64) -> (SearchStep, u32, u32) {
        let plan = SearchPlan {
            start: 1_000.0,
            limit,
            lowest: 1.0,
            precision: 0.02,
        };
        let mut search = Search::new(plan);
        let (mut tries, mut confirmations) = (0, 0);
        while tries < 200 {
            match search.next() {
                SearchStep::Try(rate) => {
                    assert!(rate <= limit);
                    tries += 1;
                    search.take(rate, verdict(rate <= capacity));
                }
                SearchStep::Confirm(rate) => {
                    confirmations += 1;
                    search.take_confirmation(rate, verdict(rate <= long));
                }
                end => return (end, tries, confirmations),
            }
        }
        panic!("no end")
    }

    #[test]
    fn the_capacity_is_found_from_below_and_above() {
        for capacity in [1.5, 37.0, 999.0, 1_000.0, 12_345.0, 800_000.0] {
            let (end, tries, confirmations) = search(capacity, capacity, 1e6);
            let SearchStep::Found(rate) = end else {
                panic!("{end:?}")
            };
            assert!(
                rate <= capacity && rate >= capacity * 0.97,
                "{rate} of {capacity}"
            );
            assert!(tries < 40 && confirmations == 1, "{tries} tries");
        }
    }

    #[test]
    fn a_search_may_end_without_a_rate_or_at_its_limit() {
        assert_eq!(search(0.5, 0.5, 1e6).0, SearchStep::None);
        assert_eq!(search(1e9, 1e9, 50_000.0).0, SearchStep::Beyond(50_000.0));
        assert_eq!(search(1e9, 1e9, 0.5).0, SearchStep::TooFewRequests(0.5));
    }

    #[test]
    fn what_the_long_measurement_misses_is_searched_below() {
        // Short steps do not see an overload of a tenth.
        let (end, _, confirmations) = search(10_000.0, 9_000.0, 1e6);
        let SearchStep::Found(rate) = end else {
            panic!("{end:?}")
        };
        assert!((8_300.0..=9_000.0).contains(&rate), "{rate}");
        assert!(confirmations <= 5, "{confirmations}");
    }

    /// Searches a service that sustains no rate in its first `cold` tries and `capacity` afterwards. Returns the rate and the number
    /// of tries.
    fn climb(cold: u32, capacity: f64) -> (f64, u32) {
        let mut climb = CapacitySearch::new(SearchPlan {
            start: 1_000.0,
            limit: 1e6,
            lowest: 1.0,
            precision: 0.1,
        });
        for tries in 0..100 {
            match climb.next() {
                SearchStep::Try(rate) => climb.take(rate, tries >= cold && rate <= capacity),
                SearchStep::Confirm(rate) => climb.take_confirmation(rate, rate <= capacity),
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
