//! Sums that a number in the backing service must equal: `before + createOrder.201 - 2 * deleteOrder.204`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// One term of a sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SumTerm {
    /// The factor; negative if the term is subtracted.
    pub(super) times: i64,
    pub(super) of: Quantity,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Quantity {
    /// The result of the same query before the load.
    Before,
    Replies {
        /// The name of the operation in the contract.
        operation: String,
        status: u16,
    },
    /// The number 1: the term is a number.
    One,
}

/// Counts of the replies to a load.
pub trait ReplyCounter {
    /// Complete replies of an operation with a status.
    fn replies(&self, operation: &str, status: u16) -> u64;

    /// Requests of an operation with an unknown outcome: the service may or may not have executed them.
    fn unknown(&self, operation: &str) -> u64;
}

/// The interval of the value of a sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SumTarget {
    /// The value if all requests of unknown outcome lower it.
    pub low: i64,
    /// The value if all of them raise it.
    pub high: i64,
    /// Requests of unknown outcome that may have changed it.
    pub uncertain: u64,
    /// The sum with numbers instead of names: `100 + 3 - 2 * 1`.
    pub numbers: String,
}

/// Computes the sum. A request of unknown outcome may count as any term of its operation, or as none.
pub(super) fn expected(terms: &[SumTerm], before: i64, counts: &dyn ReplyCounter) -> SumTarget {
    let mut sum = 0_i64;
    let mut numbers = String::new();
    let mut statuses: BTreeMap<(&str, u16), i64> = BTreeMap::new();
    for term in terms {
        let value = match &term.of {
            Quantity::Before => before,
            Quantity::One => 1,
            Quantity::Replies { operation, status } => {
                *statuses.entry((operation, *status)).or_default() += term.times;
                whole(counts.replies(operation, *status))
            }
        };
        sum = sum.saturating_add(term.times.saturating_mul(value));
        write_term(&mut numbers, term, value);
    }
    let mut effects: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for ((operation, _), times) in statuses {
        let (least, most) = effects.entry(operation).or_default();
        (*least, *most) = ((*least).min(times), (*most).max(times));
    }
    let mut expected = SumTarget {
        low: sum,
        high: sum,
        uncertain: 0,
        numbers,
    };
    for (operation, (least, most)) in effects {
        let unknown = counts.unknown(operation);
        let times = |effect: i64| effect.saturating_mul(whole(unknown));
        expected.low = expected.low.saturating_add(times(least));
        expected.high = expected.high.saturating_add(times(most));
        expected.uncertain += unknown;
    }
    expected
}

fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn write_term(numbers: &mut String, term: &SumTerm, value: i64) {
    let sign = match (numbers.is_empty(), term.times < 0) {
        (true, false) => "",
        (true, true) => "-",
        (false, false) => " + ",
        (false, true) => " - ",
    };
    let times = term.times.unsigned_abs();
    // Writing to a string does not fail.
    let _ = match (&term.of, times) {
        (Quantity::One, _) => write!(numbers, "{sign}{times}"),
        (_, 1) => write!(numbers, "{sign}{value}"),
        _ => write!(numbers, "{sign}{times} * {value}"),
    };
}

const WANTED: &str = "write a sum of `before`, whole numbers and `OPERATION.STATUS`, like `before + createOrder.201 - deleteOrder.204`";

/// Parses a sum. The error quotes the part that does not belong to a sum.
pub(super) fn parse(text: &str) -> Result<Vec<SumTerm>, String> {
    let mut terms = Vec::new();
    let mut rest = text.trim();
    let mut sign = 1;
    // The sign of the first term is optional.
    if let Some(after) = rest.strip_prefix('-') {
        (sign, rest) = (-1, after);
    }
    loop {
        let end = rest.find(['+', '-']).unwrap_or(rest.len());
        terms.push(term(sign, rest[..end].trim())?);
        match rest[end..].chars().next() {
            None => return Ok(terms),
            Some(letter) => {
                sign = if letter == '-' { -1 } else { 1 };
                rest = &rest[end + 1..];
            }
        }
    }
}

/// `before`, `3`, `createOrder.201`, or one of them times a number.
fn term(sign: i64, text: &str) -> Result<SumTerm, String> {
    let wrong = || format!("`{text}` is not part of a sum: {WANTED}");
    let (times, of) = match text.split_once('*') {
        None => (1, text),
        Some((times, of)) => (times.trim().parse().map_err(|_| wrong())?, of.trim()),
    };
    if let Ok(number) = of.parse::<u32>() {
        return Ok(SumTerm {
            times: sign * times * i64::from(number),
            of: Quantity::One,
        });
    }
    let of = if of == "before" {
        Quantity::Before
    } else {
        let (operation, status) = of.split_once('.').ok_or_else(wrong)?;
        let status = status
            .parse()
            .ok()
            .filter(|status| (100..600).contains(status))
            .ok_or_else(wrong)?;
        Quantity::Replies {
            operation: operation.to_owned(),
            status,
        }
    };
    Ok(SumTerm {
        times: sign * times,
        of,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replies(times: i64, operation: &str, status: u16) -> SumTerm {
        SumTerm {
            times,
            of: Quantity::Replies {
                operation: operation.to_owned(),
                status,
            },
        }
    }

    #[test]
    fn sums() {
        let before = SumTerm {
            times: 1,
            of: Quantity::Before,
        };
        assert_eq!(
            parse("before + createOrder.201 - 2*delete.204"),
            Ok(vec![
                before.clone(),
                replies(1, "createOrder", 201),
                replies(-2, "delete", 204)
            ])
        );
        assert_eq!(
            parse(" -3 * 5+before "),
            Ok(vec![
                SumTerm {
                    times: -15,
                    of: Quantity::One
                },
                before
            ])
        );
    }

    struct FixedCounts;

    impl ReplyCounter for FixedCounts {
        fn replies(&self, operation: &str, status: u16) -> u64 {
            match (operation, status) {
                ("create", 201) => 10,
                ("delete", 204) => 4,
                _ => 0,
            }
        }

        fn unknown(&self, operation: &str) -> u64 {
            match operation {
                "create" => 3,
                "delete" => 2,
                _ => 0,
            }
        }
    }

    #[test]
    fn what_nobody_knows_widens_the_sum_by_its_operation_alone() {
        let of = |text: &str| expected(&parse(text).expect("a sum"), 100, &FixedCounts);
        assert_eq!(
            of("before + create.201 - 2 * delete.204 + 1"),
            SumTarget {
                low: 100 + 10 - 8 + 1 - 4,
                high: 100 + 10 - 8 + 1 + 3,
                uncertain: 5,
                numbers: "100 + 10 - 2 * 4 + 1".to_owned(),
            }
        );
        assert_eq!(
            (of("before").low, of("before").high),
            (100, 100),
            "it counts nothing"
        );
        // One request has one status: it counts for at most one of the terms.
        let both = of("create.201 + 5 * create.422 - create.409");
        assert_eq!((both.low, both.high), (10 - 3, 10 + 15));
        // A term that cancels itself out counts nothing.
        let none = of("create.201 - create.201");
        assert_eq!((none.low, none.high), (0, 0));
    }

    #[test]
    fn an_invalid_sum_is_rejected() {
        for text in [
            "",
            "before +",
            "create",
            "create.2O1",
            "create.99",
            "1.5 * before",
            "(before)",
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains("not part of a sum"), "{error}");
        }
    }
}
