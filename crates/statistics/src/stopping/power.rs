//! The smallest difference that a plan can find.

use crate::distribution::student_two_sided;

/// Maximum number of rounds that [`rounds_for_difference`] considers.
const MOST_ROUNDS: u32 = 10_000;

/// The smallest relative difference between two services that `rounds` rounds find with probability `power`, if the ratios of one
/// round vary by `deviation` (standard deviation on the log scale); `None` with fewer than two rounds.
///
/// exp((t(1−α/2) + t(power)) · s/√n) − 1 with n − 1 degrees of freedom, both quantiles of Student's t: the usual approximation of
/// the noncentral t (Lachin 1981), slightly conservative for few rounds.
///
/// ```
/// let seen = prony_statistics::smallest_difference(0.01, 10, 0.95, 0.8).unwrap();
/// assert!((seen - 0.0101).abs() < 5e-4);
/// ```
pub fn smallest_difference(deviation: f64, rounds: u32, confidence: f64, power: f64) -> Option<f64> {
    if rounds < 2 {
        return None;
    }
    let freedom = f64::from(rounds - 1);
    let one_sided = student_two_sided((2.0 * power - 1.0).max(0.0), freedom);
    let reach = student_two_sided(confidence, freedom) + one_sided;
    Some((reach * deviation / f64::from(rounds).sqrt()).exp_m1())
}

/// The fewest rounds that find a relative difference with probability `power`; `None` beyond 10,000.
pub fn rounds_for_difference(deviation: f64, difference: f64, confidence: f64, power: f64) -> Option<u32> {
    let seen = |rounds: u32| smallest_difference(deviation, rounds, confidence, power);
    let enough = |rounds: u32| seen(rounds).is_some_and(|seen| seen <= difference);
    let (mut few, mut many) = (1, 2);
    while !enough(many) {
        few = many;
        many *= 2;
        if many > MOST_ROUNDS {
            return None;
        }
    }
    while many - few > 1 {
        let middle = u32::midpoint(few, many);
        if enough(middle) {
            many = middle;
        } else {
            few = middle;
        }
    }
    Some(many)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_and_difference_agree() {
        for difference in [0.005, 0.02, 0.05] {
            let rounds = rounds_for_difference(0.02, difference, 0.95, 0.8).expect("possible");
            assert!(smallest_difference(0.02, rounds, 0.95, 0.8).expect("two rounds") <= difference);
            let fewer = smallest_difference(0.02, rounds - 1, 0.95, 0.8);
            assert!(fewer.is_none_or(|seen| seen > difference));
        }
    }

    #[test]
    fn impossible_is_none() {
        assert_eq!(smallest_difference(0.1, 1, 0.95, 0.8), None);
        assert_eq!(rounds_for_difference(1.0, 1e-6, 0.95, 0.8), None);
    }
}
