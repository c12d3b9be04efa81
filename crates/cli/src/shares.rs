//! Shares as people write them.

/// Reads `2%` or `0.02`; 0 is allowed, 1 is not.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let read = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse(),
    };
    let inside = read.ok().filter(|share| (0.0..1.0).contains(share));
    inside.ok_or_else(|| "give a share from 0 to 1, as `2%` or `0.02`".to_owned())
}
