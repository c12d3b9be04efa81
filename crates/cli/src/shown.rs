//! How values look on a terminal, wherever they are shown while something runs.

/// A duration as people read it: three digits and a unit.
pub(crate) fn duration(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "µs"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    let digits = if value < 10.0 {
        2
    } else {
        usize::from(value < 100.0)
    };
    format!("{value:.digits$} {unit}")
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

    #[test]
    fn durations_have_three_digits() {
        for (ns, text) in [
            (999, "999 ns"),
            (1_500, "1.50 µs"),
            (12_345_678, "12.3 ms"),
            (2_000_000_000, "2.00 s"),
        ] {
            assert_eq!(duration(ns), text);
        }
    }
}
