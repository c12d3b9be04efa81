//! Parses the values of options: shares, times and rates.

use prony_load::{DurationError, DurationText, Rate};

/// Reads `2%` or `0.02`; 0 is allowed, 1 is not.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let read = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse(),
    };
    let inside = read.ok().filter(|share| (0.0..1.0).contains(share));
    inside.ok_or_else(|| "use a share from 0 up to 1, such as `2%` or `0.02`".to_owned())
}

/// Like `share`, but 0 is not allowed.
pub(crate) fn share_above_zero(text: &str) -> Result<f64, String> {
    let inside = share(text).ok().filter(|share| *share > 0.0);
    inside.ok_or_else(|| "use a share between 0 and 1, such as `2%` or `0.02`".to_owned())
}

/// Reads a time. A number alone is a number of seconds.
pub(crate) fn time(text: &str) -> Result<DurationText, String> {
    let read = match text.parse::<DurationText>() {
        Err(DurationError::Unit { text }) => format!("{text}s").parse(),
        other => other,
    };
    read.map_err(|error| error.to_string())
}

/// Reads a rate per second: `500` or `500/s`.
pub(crate) fn rate(text: &str) -> Result<Rate, String> {
    Rate::per_second(per_second(text)?).map_err(|error| error.to_string())
}

pub(crate) fn per_second(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches("/s");
    number
        .parse()
        .map_err(|_| format!("invalid rate `{text}` → Example: 500, or 500/s."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_alone_is_a_time_in_seconds() {
        for (text, wanted) in [
            ("10", Some("10s")),
            ("1.5", Some("1500ms")),
            ("250ms", Some("250ms")),
            ("x", None),
        ] {
            let wanted = wanted.map(|text| text.parse::<DurationText>().expect("a duration"));
            assert_eq!(time(text).ok(), wanted, "{text}");
        }
    }

    #[test]
    fn a_rate_may_have_its_unit() {
        assert!(rate("500/s").is_ok_and(|rate| (rate.as_per_second() - 500.0).abs() < 1e-9));
        assert!(rate("0").is_err() && rate("many").is_err());
    }

    #[test]
    fn shares_are_read_in_one_way() {
        for (text, wanted) in [
            ("2%", Some(0.02)),
            ("0.02", Some(0.02)),
            ("0", Some(0.0)),
            ("100%", None),
            ("x", None),
        ] {
            assert_eq!(share(text).ok(), wanted, "{text}");
        }
        assert_eq!(share_above_zero("0").ok(), None);
        assert_eq!(share_above_zero("0.5 %").ok(), Some(0.005));
    }
}
