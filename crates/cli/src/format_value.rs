//! Formats values for terminals.

use prony_records::Quantile;
pub(crate) use prony_runner::duration;

/// A percentile over all requests. One that falls on a request without a valid reply has no bound.
pub(crate) fn quantile(found: Quantile) -> String {
    match found {
        Quantile::Exact(ns) => duration(ns),
        Quantile::AtLeast(ns) => format!("≥ {}", duration(ns)),
        Quantile::Unbounded => "no bound".to_owned(),
    }
}

/// The values as bars of eight heights, from 0 to the largest.
pub(crate) fn sparkline(values: &[f64]) -> String {
    let largest = values.iter().copied().fold(0.0, f64::max);
    let bars: Vec<char> = "▁▂▃▄▅▆▇█".chars().collect();
    let bar = |value: &f64| {
        let height = if largest > 0.0 { value / largest * 7.0 } else { 0.0 };
        bars[(height.round() as usize).min(7)]
    };
    values.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_rise_with_their_values() {
        assert_eq!(sparkline(&[0.0, 50.0, 100.0]), "▁▅█");
        assert_eq!(sparkline(&[0.0]), "▁");
    }
}
