//! The median.

/// The median; NaN of an empty list.
pub(crate) fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    let at = |place: usize| numbers.get(place).copied().unwrap_or(f64::NAN);
    f64::midpoint(at(numbers.len().saturating_sub(1) / 2), at(numbers.len() / 2))
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_in_the_middle() {
        let of = |numbers: &[f64]| median(numbers.iter().copied());
        assert!((of(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((of(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-9);
        assert!(of(&[]).is_nan());
    }
}
