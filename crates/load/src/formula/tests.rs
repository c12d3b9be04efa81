use super::*;

fn parse(text: &str) -> Result<Formula, FormulaError> {
    let names = Names {
        formula: &|name| match name {
            "i" => Some(Formula::Item),
            "n" => Some(Formula::Value(0)),
            "order.id" => Some(Formula::Value(1)),
            "limit" => Some(Formula::Number(100)),
            _ => None,
        },
        words: &|name| match name {
            "colour" => Some(vec!["red".to_owned(), "blue".to_owned()]),
            "none" => Some(Vec::new()),
            _ => None,
        },
    };
    Formula::parse(text, &names)
}

/// The values of the parameters 0 and 1.
fn value(index: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(["12", "x"][index].as_bytes());
}

fn rendered(text: &str, i: i64) -> String {
    let formula = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut out = b"<".to_vec();
    formula.render(&mut out, i, &mut value);
    out.push(b'>');
    String::from_utf8(out).expect("text")
}

#[test]
fn signs_bind_as_usual() {
    for (text, i, number) in [
        ("i", 7, 7),
        ("i*37%9900+100", 300, 1300 + 100 - 100),
        ("1 + 2 * 3 - 4", 0, 3),
        ("(1 + 2) * 3", 0, 9),
        ("i / 16 % 16", 1000, 14),
        ("10 - 3 - 2", 0, 5),
        ("1 / 0", 0, 0),
        ("1 % 0", 0, 0),
        ("-7 / 2", 0, -3),
        ("2 * -i", 4, -8),
        ("2--3", 0, 5),
        ("-(1 + i)", 2, -3),
        ("- - n", 0, 12),
        ("n + limit", 0, 112),
        ("9223372036854775807 + 1", 0, i64::MIN),
        ("(-9223372036854775807 - 1) / -1", 0, 0),
    ] {
        let formula = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(formula.number(i, &mut value), Some(number), "{text}");
        assert_eq!(rendered(text, i), format!("<{number}>"), "{text}");
    }
}

#[test]
fn a_word_is_chosen_by_its_index() {
    for (text, i, word) in [
        ("colour[i]", 0, "<red>"),
        ("colour [ i + 1 ]", 0, "<blue>"),
        ("colour[-1]", 0, "<blue>"),
        ("colour[n]", 0, "<red>"),
        ("colour[order.id]", 0, "<>"),
    ] {
        assert_eq!(rendered(text, i), word, "{text}");
        let formula = parse(text).expect("a formula");
        assert_eq!(formula.number(i, &mut value), None, "{text}");
    }
}

#[test]
fn a_parameter_that_is_no_number_gives_nothing() {
    let formula = parse("order.id + 1").expect("a formula");
    assert_eq!(formula.number(0, &mut value), None);
    assert_eq!(rendered("order.id + 1", 0), "<>");
}

#[test]
fn operands_are_listed() {
    for (text, constant, is_of_item, indices) in [
        ("2 * limit", Some(200), false, vec![]),
        ("i", None, true, vec![]),
        ("n + order.id * n", None, false, vec![0, 1, 0]),
        ("colour[i - n]", None, true, vec![0]),
        ("colour[1]", None, false, vec![]),
    ] {
        let formula = parse(text).expect(text);
        let mut found = Vec::new();
        formula.visit_parameters(&mut |index| found.push(index));
        assert_eq!(
            (formula.constant(), formula.mentions_item(), found),
            (constant, is_of_item, indices),
            "{text}"
        );
        let json = serde_json::to_string(&formula).expect("JSON");
        assert_eq!(
            serde_json::from_str::<Formula>(&json).expect("the same"),
            formula,
            "{json}"
        );
    }
}

#[test]
fn an_invalid_formula_is_reported_with_its_place() {
    for (text, told, place, name) in [
        ("", "the formula ends where", "", None),
        ("i + ", "the formula ends where", "", None),
        ("i + é", "`é` where an integer", "é", None),
        ("1 + jk * 2", "no value `jk`", "jk", Some("jk")),
        (
            "order.ids",
            "no value `order.ids`",
            "order.ids",
            Some("order.ids"),
        ),
        ("shape[i]", "no word list `shape`", "shape", Some("shape")),
        ("colour", "no value `colour`", "colour", Some("colour")),
        ("none[i]", "`none` has no entry", "none", None),
        ("colour[i", "a bracket is not closed", "colour[i", None),
        ("1 + (i * 2 ", "a bracket is not closed", "(i * 2", None),
        ("1 + colour[i]", "must be the whole formula", "colour", None),
        ("colour[i] + 1", "unexpected `+ 1`", "+ 1", None),
        ("i i", "unexpected `i`", "i", None),
        ("2 ) ", "unexpected `)`", ")", None),
        ("99999999999999999999", "too large", "99999999999999999999", None),
        (&"(".repeat(2_000), "at most 1000 bytes", &"(".repeat(2_000), None),
    ] {
        let error = parse(text).expect_err(text);
        assert!(error.to_string().contains(told), "{text}: {error}");
        assert_eq!(&text[error.range], place, "{text}");
        assert_eq!(error.name.as_deref(), name, "{text}");
    }
}
