//! Options for the expected replies.

use std::ops::RangeInclusive;

/// HTTP statuses: `200,404,500-599`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statuses(pub(crate) Vec<u16>);

impl std::str::FromStr for Statuses {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is not a list of statuses from 100 to 599: write it as 200,404 or 200-299");
        let mut all = Vec::new();
        for part in text.split(',') {
            all.extend(range(part.trim()).ok_or_else(wrong)?);
        }
        all.sort_unstable();
        all.dedup();
        Ok(Self(all))
    }
}

fn range(part: &str) -> Option<RangeInclusive<u16>> {
    let (low, high) = part.split_once('-').unwrap_or((part, part));
    let (low, high) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
    (100 <= low && low <= high && high <= 599).then_some(low..=high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_numbers_and_ranges() {
        assert_eq!("404, 200-202,200".parse(), Ok(Statuses(vec![200, 201, 202, 404])));
        for text in ["", "200,", "99", "600", "300-200", "2xx"] {
            assert!(text.parse::<Statuses>().is_err(), "{text}");
        }
    }
}
