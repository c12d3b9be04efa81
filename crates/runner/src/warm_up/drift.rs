//! Whether a service became faster or slower while it was measured.

use super::Pace;
use prony_records::Interval;
use prony_statistics::slope_interval;

/// A smaller change does not count.
const CHANGE: f64 = 0.05;
const CONFIDENCE: f64 = 0.99;
/// Fewer intervals say nothing.
const FEWEST: usize = 10;

/// The share by which the throughput changed from the first third of a measurement to the last one, positive if it rose. `None` if a
/// straight line through it may be level, or if the load determines it.
pub(crate) fn drift(intervals: &[Interval], pace: Pace) -> Option<f64> {
    if pace == Pace::OfLoad || intervals.len() < FEWEST {
        return None;
    }
    let full = intervals.iter().filter(|interval| interval.length_s > 0.0);
    let points: Vec<(f64, f64)> = full
        .map(|interval| (interval.start_s, interval.completed as f64 / interval.length_s))
        .collect();
    let (low, high) = slope_interval(&points, CONFIDENCE)?;
    // Equal values have slopes of exactly 0.
    let is_changed = low >= 0.0 || high <= 0.0;
    let mean = |points: &[(f64, f64)]| points.iter().map(|point| point.1).sum::<f64>() / points.len() as f64;
    let third = points.len() / 3;
    let change = mean(&points[points.len() - third..]) / mean(&points[..third]) - 1.0;
    (is_changed && change.abs() >= CHANGE).then_some(change)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(throughput: impl Fn(usize) -> f64) -> Vec<Interval> {
        (0..50)
            .map(|index| {
                // Noise of 2 % without a trend.
                let noise = 1.0 + 0.02 * ((index * 7919 % 13) as f64 / 6.0 - 1.0);
                let completed = (throughput(index) / 10.0 * noise) as u64;
                Interval {
                    start_s: index as f64 / 10.0,
                    length_s: 0.1,
                    completed,
                    valid: completed,
                    errors: 0,
                    messages: None,
                    response_time_ns_p50: None,
                    response_time_ns_p99: None,
                }
            })
            .collect()
    }

    #[test]
    fn a_measurement_that_speeds_up_or_slows_down_is_noticed() {
        assert_eq!(drift(&series(|_| 50_000.0), Pace::OfService), None);
        let fall = drift(&series(|index| 50_000.0 - 200.0 * index as f64), Pace::OfService);
        assert!(
            fall.is_some_and(|change| (-0.17..-0.11).contains(&change)),
            "{fall:?}"
        );
        let rise = drift(&series(|index| 40_000.0 + 200.0 * index as f64), Pace::OfService);
        assert!(
            rise.is_some_and(|change| (0.11..0.19).contains(&change)),
            "{rise:?}"
        );
        let step = drift(
            &series(|index| if index < 30 { 50_000.0 } else { 40_000.0 }),
            Pace::OfService,
        );
        assert!(step.is_some_and(|change| change < -0.15), "{step:?}");
        assert_eq!(
            drift(&series(|index| 50_000.0 - 200.0 * index as f64), Pace::OfLoad),
            None
        );
        assert_eq!(drift(&[], Pace::OfService), None);
    }
}
