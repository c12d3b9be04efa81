//! Holm's step-down adjustment.

/// p-values adjusted by Holm (1979): rejecting those at or below α keeps the family-wise error at α or below, whatever the
/// dependence.
pub(crate) fn adjust(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&left, &right| p_values[left].total_cmp(&p_values[right]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut highest: f64 = 0.0;
    for (step, &index) in order.iter().enumerate() {
        let factor = (p_values.len() - step) as f64;
        highest = highest.max(factor * p_values[index]).min(1.0);
        adjusted[index] = highest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::adjust;

    #[test]
    fn worked_example() {
        // 0.005 × 4, 0.01 × 3, 0.03 × 2; 0.04 × 1 is raised to the previous value.
        let adjusted = adjust(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        for (got, want) in adjusted.iter().zip(expected) {
            assert!((got - want).abs() < 1e-12, "{adjusted:?}");
        }
    }

    #[test]
    fn never_above_one() {
        assert_eq!(adjust(&[0.9, 0.8]), vec![1.0, 1.0]);
        assert!(adjust(&[]).is_empty());
    }
}
