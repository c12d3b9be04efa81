//! Sums that a number behind the server must be: `before + createOrder.201 - 2 * deleteOrder.204`.

/// One term of a sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// What the quantity is multiplied by; below 0 where it is subtracted.
    pub times: i64,
    /// What is counted.
    pub of: Quantity,
}

/// What a term counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Quantity {
    /// What the same query gave before the load.
    Before,
    /// Replies of an operation with a status.
    Replies {
        /// The contract's word for the operation.
        operation: String,
        /// The status code.
        status: u16,
    },
    /// The number 1: the term is a number.
    One,
}

const WANTED: &str = "write a sum of `before`, whole numbers and `OPERATION.STATUS`, like `before + createOrder.201 - deleteOrder.204`";

/// Reads a sum. The error says what is no part of one.
pub(super) fn parse(text: &str) -> Result<Vec<Term>, String> {
    let mut terms = Vec::new();
    let mut rest = text.trim();
    let mut sign = 1;
    // A sign before the first term is free.
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
fn term(sign: i64, text: &str) -> Result<Term, String> {
    let wrong = || format!("`{text}` is no part of a sum: {WANTED}");
    let (times, of) = match text.split_once('*') {
        None => (1, text),
        Some((times, of)) => (times.trim().parse().map_err(|_| wrong())?, of.trim()),
    };
    if let Ok(number) = of.parse::<u32>() {
        return Ok(Term {
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
    Ok(Term {
        times: sign * times,
        of,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replies(times: i64, operation: &str, status: u16) -> Term {
        Term {
            times,
            of: Quantity::Replies {
                operation: operation.to_owned(),
                status,
            },
        }
    }

    #[test]
    fn sums() {
        let before = Term {
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
                Term {
                    times: -15,
                    of: Quantity::One
                },
                before
            ])
        );
    }

    #[test]
    fn what_is_no_sum() {
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
            assert!(error.contains("no part of a sum"), "{error}");
        }
    }
}
