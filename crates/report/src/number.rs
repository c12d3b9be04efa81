//! Numbers for people: three significant digits, with one unit per column so that they can be compared by eye.

use prony_statistics::{Estimate, Metric, NoBound, Precision, Quantity};

/// Charts cut off intervals at this multiple of the largest point: an unbounded interval must not flatten all others.
pub(crate) const FARTHEST: f64 = 1.6;

/// A unit to show numbers in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Unit {
    /// Follows a number.
    pub(crate) symbol: &'static str,
    /// Size in the metric's own unit.
    pub(crate) factor: f64,
}

const NS: [Unit; 4] = units([("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)]);
const BYTES: [Unit; 4] = units([
    ("B", 1.0),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
]);
const MS: [Unit; 3] = units([("µs", 1e-3), ("ms", 1.0), ("s", 1e3)]);

const fn units<const N: usize>(list: [(&'static str, f64); N]) -> [Unit; N] {
    let mut all = [Unit {
        symbol: "",
        factor: 1.0,
    }; N];
    let mut at = 0;
    while at < N {
        all[at] = Unit {
            symbol: list[at].0,
            factor: list[at].1,
        };
        at += 1;
    }
    all
}

impl Unit {
    /// Of ratios and shares.
    pub(crate) const NONE: Self = Self {
        symbol: "",
        factor: 1.0,
    };

    /// The unit in which most of `values` have one to three digits before the point.
    pub(crate) fn for_metric(metric: Metric, values: &[f64]) -> Self {
        let choice: &[Self] = match metric.unit() {
            "ns" => &NS,
            "bytes" => &BYTES,
            "ms" => &MS,
            "1/s" => &[Self {
                symbol: "/s",
                factor: 1.0,
            }],
            "s" => &[Self {
                symbol: "s",
                factor: 1.0,
            }],
            // 100 % is one CPU that is always busy.
            "cpus" => &[Self {
                symbol: "%",
                factor: 0.01,
            }],
            _ => &[Self {
                symbol: "",
                factor: 1.0,
            }],
        };
        let mut sorted: Vec<f64> = values.iter().copied().filter(|&value| value > 0.0).collect();
        sorted.sort_by(f64::total_cmp);
        let typical = sorted.get(sorted.len() / 2).copied().unwrap_or(1.0);
        let fitting = choice.iter().rev().find(|unit| typical >= unit.factor);
        *fitting.unwrap_or(&choice[0])
    }

    /// The unit that fits one duration, ns.
    pub(crate) fn for_ns(ns: f64) -> Self {
        *NS.iter().rev().find(|unit| ns >= unit.factor).unwrap_or(&NS[0])
    }

    /// A value of the metric in this unit, without the symbol.
    pub(crate) fn show(self, value: f64) -> String {
        digits(value / self.factor)
    }

    /// A value of the metric in this unit, with the symbol.
    pub(crate) fn show_with(self, value: f64) -> String {
        self.with_symbol(&self.show(value))
    }

    /// A number in this unit with the symbol.
    pub(crate) fn with_symbol(self, number: &str) -> String {
        let space = if self.symbol.starts_with('/') || self.symbol.is_empty() {
            ""
        } else {
            " "
        };
        format!("{number}{space}{}", self.symbol)
    }
}

/// A byte count with the unit that fits it.
pub(crate) fn bytes(count: f64) -> String {
    let unit = *BYTES
        .iter()
        .rev()
        .find(|unit| count >= unit.factor)
        .unwrap_or(&BYTES[0]);
    unit.show_with(count)
}

/// Three significant digits; thousands grouped, never in powers of ten.
pub(crate) fn digits(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    let places = match size {
        _ if size >= 99.95 => return grouped(value),
        _ if size >= 9.995 => 1,
        _ if size >= 0.9995 => 2,
        _ if size >= 0.099_95 => 3,
        _ => 4,
    };
    format!("{value:.places$}")
}

/// A whole number with groups of three digits.
pub(crate) fn grouped(value: f64) -> String {
    let plain = format!("{:.0}", value.abs());
    let mut text = String::from(if value < 0.0 && plain != "0" { "-" } else { "" });
    for (index, digit) in plain.chars().enumerate() {
        if index > 0 && (plain.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share as a percentage with up to two decimals. Only 1 and more is 100 %.
pub(crate) fn percent(share: f64) -> String {
    let value = share * 100.0;
    match value {
        // A confidence of 99.9 % is not 100 %, and a success rate of 99.999 % is not either.
        _ if value > 99.0 && value < 100.0 => {
            let places = format!("{:.2}", value.min(99.99));
            format!("{} %", places.trim_end_matches('0').trim_end_matches('.'))
        }
        _ if value >= 10.0 => format!("{value:.0} %"),
        _ if value >= 0.095 => format!("{value:.1} %"),
        _ => format!("{value:.2} %"),
    }
}

/// A ratio with two decimals, or fewer if it is large.
pub(crate) fn ratio(value: f64) -> String {
    match value {
        _ if value >= 99.95 => grouped(value),
        _ if value >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Replaces a value whose interval is too wide to be useful.
pub(crate) const UNKNOWN: &str = "unknown";

/// A value with its interval, in the form of its [`Precision`]: `72,086 ± 2.3 %`, `30,909–88,219`, `unknown`.
pub(crate) fn estimated(estimate: &Estimate, unit: Unit) -> String {
    match estimate.precision() {
        Precision::PlusMinus(half) => format!("{} ± {}", unit.show(estimate.point), percent(half)),
        Precision::Ends => ends(estimate, unit),
        Precision::Unknown => UNKNOWN.to_owned(),
    }
}

/// The same with the symbol of the unit: `72,086/s ± 2.3 %`, `30,909–88,219/s`.
pub(crate) fn estimated_with(estimate: &Estimate, unit: Unit) -> String {
    match estimate.precision() {
        Precision::PlusMinus(half) => format!("{} ± {}", unit.show_with(estimate.point), percent(half)),
        Precision::Ends => unit.with_symbol(&ends(estimate, unit)),
        Precision::Unknown => UNKNOWN.to_owned(),
    }
}

/// The value alone if its interval is narrow, otherwise its replacement: for charts, which show the interval
/// themselves.
pub(crate) fn number(estimate: &Estimate, unit: Unit) -> String {
    match estimate.precision() {
        Precision::PlusMinus(_) => unit.show(estimate.point),
        Precision::Ends => ends(estimate, unit),
        Precision::Unknown => UNKNOWN.to_owned(),
    }
}

/// Both ends of an interval: `30,909–88,219`.
pub(crate) fn ends(estimate: &Estimate, unit: Unit) -> String {
    format!("{}–{}", unit.show(estimate.low), unit.show(estimate.high))
}

/// A quantity in its unit; the value of a single trial is marked as such, because it has no interval.
pub(crate) fn with_interval(quantity: &Quantity, unit: Unit) -> Option<String> {
    if let Some(none) = quantity.no_bound() {
        return Some(no_bound(*none));
    }
    match quantity.estimate() {
        Some(estimate) => Some(estimated(estimate, unit)),
        None => quantity
            .position()
            .map(|value| format!("{} (1 trial)", unit.show(value))),
    }
}

/// `no bound`, or the number of trials that have none.
pub(crate) fn no_bound(none: NoBound) -> String {
    if none.without_bound == none.trials {
        return "no bound".to_owned();
    }
    format!("no bound (in {} of {} trials)", none.without_bound, none.trials)
}

/// `1 trial`, `5 trials`.
pub(crate) fn plural(count: usize, one: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {one}{s}", grouped(count as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page shows the same numbers: its tests read the same file.
    #[test]
    fn numbers_are_shown_as_on_the_page() {
        let numbers: serde_json::Value =
            serde_json::from_str(include_str!("../web/tests/numbers.json")).expect("JSON");
        let check = |kind: &str, show: fn(f64) -> String| {
            for pair in numbers[kind].as_array().expect("pairs") {
                let value = pair[0].as_f64().expect("a number");
                assert_eq!(show(value), pair[1], "{kind} of {value}");
            }
        };
        check("digits", digits);
        check("percent", percent);
        check("ratio", ratio);
        assert_eq!(grouped(-1234.0), "-1,234");
        assert_eq!(grouped(-0.2), "0");
    }

    type NumberFormat = fn(f64) -> String;

    /// Values of all sizes, always the same.
    fn cases() -> serde_json::Value {
        let mut state = 20_261_127_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / (1_u64 << 31) as f64
        };
        let mut table = serde_json::Map::new();
        let shows: [(&str, NumberFormat, f64, f64); 3] = [
            ("digits", digits, -4.0, 9.0),
            ("percent", percent, -5.0, 0.5),
            ("ratio", ratio, -2.0, 4.0),
        ];
        for (kind, show, low, high) in shows {
            let mut pairs = Vec::new();
            for _ in 0..300 {
                let value = 10f64.powf(low + (high - low) * next());
                // Eight digits, as the page gets them.
                let value: f64 = format!("{value:.7e}").parse().expect("a number");
                pairs.push(serde_json::json!([value, show(value)]));
            }
            if kind == "percent" {
                for nines in 1..9 {
                    let value: f64 = format!("0.{}", "9".repeat(nines)).parse().expect("a number");
                    pairs.push(serde_json::json!([value, show(value)]));
                }
            }
            table.insert(kind.to_owned(), pairs.into());
        }
        table.into()
    }

    /// The tests of the page read this file, which keeps both rules the same.
    #[test]
    fn the_page_tests_read_how_numbers_are_shown() {
        let written = cases().to_string() + "\n";
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/tests/number-cases.json");
        if std::env::var_os("PRONY_WRITE_SAMPLE").is_some() {
            std::fs::write(&file, &written).expect("writes");
        }
        let kept = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            kept == written,
            "web/tests/number-cases.json is stale: run this test with PRONY_WRITE_SAMPLE=1"
        );
    }

    fn read(text: &str) -> f64 {
        text.trim_end_matches(" %")
            .replace(',', "")
            .parse()
            .expect("a number")
    }

    proptest::proptest! {
        #[test]
        fn three_digits_are_within_half_a_percent(value in 0.05f64..1e12) {
            proptest::prop_assert!((read(&digits(value)) / value - 1.0).abs() <= 0.005_01, "{value}");
        }

        #[test]
        fn no_share_below_one_is_100_percent(distance in -12.0f64..0.0) {
            let share = 1.0 - 10f64.powf(distance);
            proptest::prop_assert!(read(&percent(share)) < 100.0, "{share}");
        }

        #[test]
        fn a_larger_share_is_never_shown_as_less(one in 0.0f64..1.2, other in 0.0f64..1.2) {
            let (low, high) = (one.min(other), one.max(other));
            proptest::prop_assert!(read(&percent(low)) <= read(&percent(high)), "{low} {high}");
        }
    }

    #[test]
    fn intervals_are_shown_by_what_they_say() {
        let unit = Unit::for_metric(Metric::GoodputPerS, &[]);
        let shown = |point, low, high| {
            let estimate = Estimate {
                point,
                low,
                high,
                confidence: 0.95,
            };
            (estimated(&estimate, unit), estimated_with(&estimate, unit))
        };
        let both = |one: &str, other: &str| (one.to_owned(), other.to_owned());
        assert_eq!(
            shown(72_086.0, 70_428.0, 73_744.0),
            both("72,086 ± 2.3 %", "72,086/s ± 2.3 %")
        );
        // Netty's capacity: ± 55 % was read as 23,500 to 81,000.
        assert_eq!(
            shown(52_219.0, 30_909.0, 88_219.0),
            both("30,909–88,219", "30,909–88,219/s")
        );
        assert_eq!(shown(8.28, 3.5, 19.7), both("unknown", "unknown"));
        assert_eq!(shown(5.0, 5.0, 5.0), both("5.00 ± 0.00 %", "5.00/s ± 0.00 %"));
    }

    #[test]
    fn the_unit_fits_the_typical_value() {
        let unit = Unit::for_metric(Metric::ResponseTimeNsP99, &[900.0, 2.5e6, 3.0e6]);
        assert_eq!((unit.symbol, unit.show(2.5e6)), ("ms", "2.50".to_owned()));
        assert_eq!(
            Unit::for_metric(Metric::StartMs, &[2000.0]).show_with(1500.0),
            "1.50 s"
        );
        assert_eq!(
            Unit::for_metric(Metric::ThroughputPerS, &[]).show_with(72_086.2),
            "72,086/s"
        );
    }
}
