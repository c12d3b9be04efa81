//! Integers computed from the number of an item: `i * 37 % 9900 + 100`.

/// A formula over `i`, the number of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::expect) enum Formula {
    Item,
    Number(i64),
    Of(Box<(Self, Self)>, Operator),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::expect) enum Operator {
    Plus,
    Minus,
    Times,
    /// Truncated toward zero.
    DividedBy,
    Remainder,
}

impl Operator {
    /// The operator of a sign, and its precedence.
    const fn of(sign: char) -> Option<(Self, u8)> {
        Some(match sign {
            '+' => (Self::Plus, 1),
            '-' => (Self::Minus, 1),
            '*' => (Self::Times, 2),
            '/' => (Self::DividedBy, 2),
            '%' => (Self::Remainder, 2),
            _ => return None,
        })
    }
}

impl Formula {
    /// Parses a formula. The error says what is wrong.
    pub(in crate::expect) fn parse(text: &str) -> Result<Self, String> {
        let mut rest = text.trim_start();
        let formula = sum(&mut rest, 0)?;
        if rest.is_empty() {
            Ok(formula)
        } else {
            Err(format!("unexpected `{rest}`"))
        }
    }

    /// The number for item `i`. Division by 0 results in 0, and overflow wraps at 64 bits.
    pub(in crate::expect) fn value(&self, i: i64) -> i64 {
        match self {
            Self::Item => i,
            Self::Number(number) => *number,
            Self::Of(sides, operator) => {
                let (left, right) = (sides.0.value(i), sides.1.value(i));
                match operator {
                    Operator::Plus => left.wrapping_add(right),
                    Operator::Minus => left.wrapping_sub(right),
                    Operator::Times => left.wrapping_mul(right),
                    Operator::DividedBy => left.checked_div(right).unwrap_or_default(),
                    Operator::Remainder => left.checked_rem(right).unwrap_or_default(),
                }
            }
        }
    }
}

/// The text with each `{= formula}` replaced by its number for item `i`. The error says what is wrong.
pub fn evaluate_formulas(text: &str, i: i64) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{=") {
        let (formula, after) = after
            .split_once('}')
            .ok_or_else(|| format!("`{{={after}` is not closed by `}}`"))?;
        let wrong = |reason| format!("`{}`: {reason}", formula.trim());
        let number = Formula::parse(formula).map_err(wrong)?.value(i);
        out = out + before + &number.to_string();
        rest = after;
    }
    Ok(out + rest)
}

/// Parses operands while their operators bind more tightly than `least`.
fn sum(rest: &mut &str, least: u8) -> Result<Formula, String> {
    let mut left = operand(rest)?;
    while let Some((operator, binds)) = rest.chars().next().and_then(Operator::of)
        && binds > least
    {
        *rest = rest[1..].trim_start();
        let right = sum(rest, binds)?;
        left = Formula::Of(Box::new((left, right)), operator);
    }
    Ok(left)
}

fn operand(rest: &mut &str) -> Result<Formula, String> {
    let digits = rest.len()
        - rest
            .trim_start_matches(|letter: char| letter.is_ascii_digit())
            .len();
    let (operand, length) = if digits > 0 {
        let number = rest[..digits].parse();
        let number = number.map_err(|_| format!("`{}` is too large", &rest[..digits]))?;
        (Formula::Number(number), digits)
    } else if rest.starts_with('i') {
        (Formula::Item, 1)
    } else if let Some(inner) = rest.strip_prefix('(') {
        *rest = inner.trim_start();
        let inner = sum(rest, 0)?;
        if !rest.starts_with(')') {
            return Err("a bracket is not closed".to_owned());
        }
        (inner, 1)
    } else {
        return Err(format!("`{rest}` where `i`, an integer or a bracket is expected"));
    };
    *rest = rest[length..].trim_start();
    Ok(operand)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_bind_as_usual() {
        for (text, i, value) in [
            ("i", 7, 7),
            ("i*37%9900+100", 300, 1300 + 100 - 100),
            ("1 + 2 * 3 - 4", 0, 3),
            ("(1 + 2) * 3", 0, 9),
            ("i / 16 % 16", 1000, 14),
            ("10 - 3 - 2", 0, 5),
            ("1 / 0", 0, 0),
        ] {
            let formula = Formula::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(formula.value(i), value, "{text}");
        }
    }

    #[test]
    fn formulas_of_a_text_become_numbers() {
        let worked_out = |text| evaluate_formulas(text, 7);
        assert_eq!(worked_out("a{= i }b{=i*i}"), Ok("a7b49".into()));
        assert_eq!(worked_out("{n} and {}"), Ok("{n} and {}".into()));
        assert_eq!(worked_out("{=i"), Err("`{=i` is not closed by `}`".into()));
        assert!(worked_out("{= j}").expect_err("no formula").starts_with("`j`: "));
    }

    #[test]
    fn an_invalid_formula_is_reported() {
        for (text, told) in [
            ("", "where `i`"),
            ("i +", "where `i`"),
            ("j", "`j` where `i`"),
            ("(i", "not closed"),
            ("i i", "unexpected `i`"),
            ("99999999999999999999", "too large"),
        ] {
            let error = Formula::parse(text).expect_err(text);
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
