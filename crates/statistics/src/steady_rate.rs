//! When a service reached its steady rate.

use crate::interval::median;
use prony_records::{Interval, SteadyRate};

/// Share of the steady rate that counts as reaching it.
const SHARE: f64 = 0.95;
/// Intervals in a row that must reach it.
const IN_A_ROW: usize = 5;

/// When the rate of valid replies was first, for five intervals in a row, at least 95 % of its median in the last third of the load.
/// `None` without a rate to reach.
pub fn steady_rate(intervals: &[Interval]) -> Option<SteadyRate> {
    let rates: Vec<f64> = intervals
        .iter()
        .map(|interval| interval.valid as f64 / interval.length_s.max(1e-9))
        .collect();
    let limit_s: f64 = intervals.iter().map(|interval| interval.length_s).sum();
    let last = rates
        .get(rates.len() - rates.len() / 3..)
        .filter(|last| !last.is_empty())?;
    let steady = median(last);
    if steady <= 0.0 {
        return None;
    }
    let reaches = |window: &[f64]| window.iter().all(|rate| *rate >= SHARE * steady);
    let first = rates.windows(IN_A_ROW).position(reaches);
    // The service had reached it when the first of these intervals began.
    let after_s = first.map(|first| intervals[..first].iter().map(|interval| interval.length_s).sum());
    Some(SteadyRate { after_s, limit_s })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intervals(valid: &[u64]) -> Vec<Interval> {
        let interval = |&valid: &u64| Interval {
            start_s: 0.0,
            length_s: 0.1,
            completed: valid,
            valid,
            errors: 0,
            messages: None,
            response_time_ns_p50: None,
            response_time_ns_p99: None,
        };
        valid.iter().map(interval).collect()
    }

    fn after(valid: &[u64]) -> Option<f64> {
        steady_rate(&intervals(valid)).expect("a rate").after_s
    }

    #[test]
    fn a_service_that_is_fast_at_once_needs_no_time() {
        assert_eq!(after(&[100; 30]), Some(0.0));
    }

    #[test]
    fn five_intervals_in_a_row_must_reach_the_rate() {
        let mut valid = vec![100; 60];
        valid[..10].fill(50);
        // A single fast interval is chance.
        valid[4] = 120;
        let found = after(&valid).expect("reached");
        assert!((found - 1.0).abs() < 1e-9, "{found}");
        // So is a pause after four.
        valid[14] = 0;
        let found = after(&valid).expect("reached");
        assert!((found - 1.5).abs() < 1e-9, "{found}");
    }

    #[test]
    fn a_service_without_a_steady_rate_is_not_given_a_time() {
        let valid: Vec<u64> = (0..30)
            .map(|place| if place % 2 == 0 { 100 } else { 50 })
            .collect();
        let found = steady_rate(&intervals(&valid)).expect("a rate");
        assert_eq!(found.after_s, None);
        assert!((found.limit_s - 3.0).abs() < 1e-9, "{}", found.limit_s);
    }

    #[test]
    fn without_a_reply_there_is_no_rate() {
        assert_eq!(steady_rate(&intervals(&[0; 30])), None);
        assert_eq!(steady_rate(&intervals(&[10; 2])), None);
        assert_eq!(steady_rate(&[]), None);
    }
}
