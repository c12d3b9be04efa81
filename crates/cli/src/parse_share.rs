//! Parses shares.

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

#[cfg(test)]
mod tests {
    use super::*;

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
