//! The slope of a straight line through values, by the median of the slopes of all pairs (Theil 1950; Sen 1968).
//!
//! A stalled or a stolen slice of time is far off the line. By least squares a few of them make the interval several times wider.

use crate::distribution::normal_two_sided;

/// The interval of the slope at this confidence, in units of y per unit of x, from points (x, y) whose residuals are independent and
/// alike: the slopes of pairs whose ranks are as far from the middle as Kendall's S may be from zero (Sen 1968, section 4). `None` if
/// there are too few points for this confidence, or all are at the same x.
pub fn slope_interval(points: &[(f64, f64)], confidence: f64) -> Option<(f64, f64)> {
    let count = points.len() as f64;
    let slope = |one: &(f64, f64), other: &(f64, f64)| (other.1 - one.1) / (other.0 - one.0);
    let mut slopes: Vec<f64> = (points.iter().enumerate())
        .flat_map(|(place, one)| points[place + 1..].iter().map(move |other| slope(one, other)))
        // Points at the same x have no slope.
        .filter(|slope| slope.is_finite())
        .collect();
    let deviation = (count * (count - 1.0) * (2.0 * count + 5.0) / 18.0).sqrt();
    let reach = normal_two_sided(confidence) * deviation;
    let below = ((slopes.len() as f64 - reach) / 2.0).floor();
    if below < 1.0 {
        return None;
    }
    let below = below as usize;
    let above = slopes.len() - below;
    let low = *slopes.select_nth_unstable_by(below - 1, f64::total_cmp).1;
    let high = *slopes.select_nth_unstable_by(above, f64::total_cmp).1;
    Some((low, high))
}

#[cfg(test)]
mod tests {
    use super::slope_interval;
    use rand::rngs::SmallRng;
    use rand::{RngExt as _, SeedableRng as _};

    #[test]
    fn the_slope_of_a_line_is_exact() {
        let points: Vec<(f64, f64)> = (0..6).map(|x| (f64::from(x), 3.0 - 2.0 * f64::from(x))).collect();
        let (low, high) = slope_interval(&points, 0.95).expect("six points");
        assert!(
            (low + 2.0).abs() < 1e-9 && (high + 2.0).abs() < 1e-9,
            "{low} {high}"
        );
    }

    #[test]
    fn the_interval_is_that_between_two_ranks() {
        let points = [(1.0, 1.26), (2.0, 1.27), (3.0, 1.12), (4.0, 1.16), (5.0, 1.03)];
        // By hand: the ten slopes are -0.15, -0.13, -0.08, -0.07, -0.0575, -0.055, -0.045, -0.0333, 0.01, 0.04, and 60 % reach
        // 0.8416 · √(5·4·15/18) = 3.4 ranks around the middle: from the third slope to the eighth.
        let (low, high) = slope_interval(&points, 0.6).expect("five points");
        assert!(
            (low + 0.08).abs() < 1e-9 && (high + 0.1 / 3.0).abs() < 1e-9,
            "{low} {high}"
        );
    }

    #[test]
    fn few_points_have_no_interval() {
        assert_eq!(slope_interval(&[(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)], 0.95), None);
        assert_eq!(slope_interval(&[(1.0, 1.0); 8], 0.95), None);
    }

    /// Coverage, and the median width.
    fn simulated(count: usize, outliers: f64) -> (f64, f64) {
        let mut random = SmallRng::seed_from_u64(17);
        let (mut held, mut widths) = (0, Vec::new());
        for _ in 0..1_000 {
            let points: Vec<(f64, f64)> = (0..count)
                .map(|x| {
                    let noise: f64 = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
                    let stalls = f64::from(u8::from(random.random::<f64>() < outliers));
                    (x as f64, 0.5 * x as f64 + noise + 10.0 * stalls)
                })
                .collect();
            let (low, high) = slope_interval(&points, 0.95).expect("enough points");
            held += u32::from(low <= 0.5 && 0.5 <= high);
            widths.push(high - low);
        }
        (f64::from(held) / 1_000.0, crate::interval::median(&widths))
    }

    #[test]
    fn the_interval_covers_the_slope_and_outliers_hardly_widen_it() {
        for count in [8, 20, 40] {
            let (plain, width) = simulated(count, 0.0);
            let (stalled, wider) = simulated(count, 0.1);
            println!(
                "{count} points: {plain:.3}, with outliers {stalled:.3}, {:.2} as wide",
                wider / width
            );
            assert!(plain >= 0.93 && stalled >= 0.93, "{plain} {stalled}");
        }
        assert!(simulated(40, 0.1).1 < 1.5 * simulated(40, 0.0).1);
    }
}
