//! Whether samples have one variance.

use crate::distribution::fisher_beyond;
use crate::interval::mean::{mean, squares};
use crate::interval::median::median;

/// The p-value of "all samples have the same variance" by Brown and Forsythe (1974): an analysis of variance of the
/// distances from each sample's median. `None` where there is nothing to test.
pub(crate) fn brown_forsythe(samples: &[Vec<f64>]) -> Option<f64> {
    let distances: Vec<Vec<f64>> = samples.iter().map(|sample| from_median(sample)).collect();
    let count: usize = distances.iter().map(Vec::len).sum();
    if samples.len() < 2 || count <= samples.len() {
        return None;
    }
    let all: Vec<f64> = distances.iter().flatten().copied().collect();
    let within: f64 = distances.iter().map(|sample| squares(sample)).sum();
    let between = squares(&all) - within;
    let (between_freedom, within_freedom) = ((samples.len() - 1) as f64, (count - samples.len()) as f64);
    if within <= f64::EPSILON * squares(&all) {
        return Some(if between <= 0.0 { 1.0 } else { 0.0 });
    }
    let ratio = (between / between_freedom) / (within / within_freedom);
    Some(fisher_beyond(ratio.max(0.0), between_freedom, within_freedom))
}

fn from_median(sample: &[f64]) -> Vec<f64> {
    let centre = median(sample);
    sample.iter().map(|value| (value - centre).abs()).collect()
}

/// For each sample the p-value of "its variance is not larger than that of the others together": a one-sided F test.
pub(crate) fn larger_than_the_rest(samples: &[Vec<f64>]) -> Vec<f64> {
    let parts: Vec<(f64, f64)> = samples
        .iter()
        .map(|sample| {
            let centre = mean(sample);
            let sum = sample.iter().map(|value| (value - centre).powi(2)).sum();
            (sum, sample.len() as f64 - 1.0)
        })
        .collect();
    let (all, freedom) = parts
        .iter()
        .fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    parts
        .iter()
        .map(|&(own, own_freedom)| {
            let (rest, rest_freedom) = (all - own, freedom - own_freedom);
            if own <= 0.0 || own_freedom <= 0.0 || rest_freedom <= 0.0 {
                return 1.0;
            }
            fisher_beyond(
                (own / own_freedom) / (rest / rest_freedom),
                own_freedom,
                rest_freedom,
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_example() {
        // scipy.stats.levene(…, center="median")
        let samples = [
            vec![8.88, 9.12, 9.04, 8.98, 9.00, 9.08, 9.01, 8.85, 9.06, 8.99],
            vec![8.88, 8.95, 9.29, 9.44, 9.15, 9.58, 8.36, 9.18, 8.67, 9.05],
            vec![8.95, 9.12, 8.95, 8.85, 9.03, 8.84, 9.07, 8.98, 8.86, 8.98],
        ];
        let found = brown_forsythe(&samples).expect("three samples");
        assert!((found - 0.002_431_505_967_249_681).abs() < 1e-9, "{found}");
    }

    #[test]
    fn nothing_to_test() {
        assert_eq!(brown_forsythe(&[vec![1.0, 2.0]]), None);
        assert_eq!(brown_forsythe(&[vec![1.0, 1.0], vec![2.0, 2.0]]), Some(1.0));
    }

    #[test]
    fn the_loud_one_stands_out() {
        let quiet = vec![1.0, 2.0, 1.5, 1.2];
        let loud = vec![10.0, -10.0, 30.0, -25.0];
        let found = larger_than_the_rest(&[quiet.clone(), quiet, loud]);
        assert!(found[0] > 0.5 && found[2] < 0.001, "{found:?}");
    }
}
