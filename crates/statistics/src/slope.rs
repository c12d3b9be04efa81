//! The slope of a straight line through values, by least squares.

use crate::distribution::student_two_sided;

/// The interval of the slope at this confidence, in units of y per unit of x, from points (x, y) whose residuals are independent and
/// alike. `None` if there are fewer than three points, or all at the same x.
pub fn slope_interval(points: &[(f64, f64)], confidence: f64) -> Option<(f64, f64)> {
    let count = points.len() as f64;
    if points.len() < 3 {
        return None;
    }
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    if spread <= 0.0 {
        return None;
    }
    let slope = points
        .iter()
        .map(|(x, y)| (x - mean_x) * (y - mean_y))
        .sum::<f64>()
        / spread;
    let residual = |(x, y): &(f64, f64)| (y - mean_y - slope * (x - mean_x)).powi(2);
    let variance = points.iter().map(residual).sum::<f64>() / (count - 2.0);
    let reach = student_two_sided(confidence, count - 2.0) * (variance / spread).sqrt();
    Some((slope - reach, slope + reach))
}

#[cfg(test)]
mod tests {
    use super::slope_interval;

    #[test]
    fn the_slope_of_a_line_is_exact() {
        let points: Vec<(f64, f64)> = (0..5).map(|x| (f64::from(x), 3.0 - 2.0 * f64::from(x))).collect();
        let (low, high) = slope_interval(&points, 0.95).expect("five points");
        assert!(
            (low + 2.0).abs() < 1e-9 && (high + 2.0).abs() < 1e-9,
            "{low} {high}"
        );
    }

    #[test]
    fn the_interval_is_that_of_the_textbook() {
        let points = [(0.0, 0.0), (1.0, 1.1), (2.0, 1.9), (3.0, 2.8)];
        let (low, high) = slope_interval(&points, 0.95).expect("four points");
        // By hand: the sum of squared residuals is 0.018, that of x around its mean 5, and t(2) = 4.302653.
        let slope = 0.92;
        let reach = 4.302_653 * (0.018_f64 / 2.0 / 5.0).sqrt();
        assert!((low - (slope - reach)).abs() < 1e-5, "{low}");
        assert!((high - (slope + reach)).abs() < 1e-5, "{high}");
    }

    #[test]
    fn two_points_have_no_interval() {
        assert_eq!(slope_interval(&[(0.0, 1.0), (1.0, 2.0)], 0.95), None);
        assert_eq!(slope_interval(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)], 0.95), None);
    }
}
