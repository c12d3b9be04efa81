use super::List;
use crate::expect::{BodyRule, Expectation, Memory, Mismatch, Reply};
use crate::formula::{Formula, Operator};
use crate::{Part, Template};

/// `i * right`.
fn of_item(right: Formula) -> Part {
    Part::Formula(Formula::Of(Box::new((Formula::Item, right)), Operator::Times))
}

/// `{"n":i,"t":"colour of i, i * parameter 0"}`, from the number of parameter 0 on.
fn list(at: Option<&str>, only: bool) -> List {
    let words = ["red", "blue"].map(str::to_owned).to_vec();
    List {
        first: Template(vec![Part::Value(0)]),
        count: Template::literal("3"),
        each: Template(vec![
            Part::Literal(r#"{"n":"#.into()),
            Part::Formula(Formula::Item),
            Part::Literal(r#","t":""#.into()),
            Part::Formula(Formula::Word(words, Box::new(Formula::Item))),
            Part::Literal(" ".into()),
            of_item(Formula::Value(0)),
            Part::Literal("\"}".into()),
        ]),
        at: at.map(str::to_owned),
        only,
    }
}

const ITEMS: &str = r#"[{"n":2,"t":"red 4"},{"n":3,"t":"blue 6"},{"n":4,"t":"red 8"}]"#;

/// Judges each body twice with the same memory.
fn judge(list: &List, bodies: &[&str]) -> Vec<Result<(), Mismatch>> {
    let expectation = Expectation {
        body: vec![BodyRule::List(list.clone())],
        ..Expectation::default()
    };
    let compiled = expectation.compile().expect("valid");
    let mut memory = Memory::default();
    let mut verdict = |body: &str| {
        let reply = Reply {
            status: 200,
            grpc_status: None,
            headers: &[],
            body: body.as_bytes(),
        };
        compiled.judge_with(&mut memory, &reply, |_, out| out.extend_from_slice(b"2"))
    };
    let first: Vec<_> = bodies.iter().map(|body| verdict(body)).collect();
    let second: Vec<_> = bodies.iter().map(|body| verdict(body)).collect();
    assert_eq!(first, second);
    first
}

#[test]
fn the_items_are_computed_wherever_the_list_is() {
    let reordered = ITEMS.replace(r#""n":4,"t":"red 8""#, r#""t": "red 8", "n": 4.0"#);
    for (at, only, front, back) in [
        (None, false, "", ""),
        (Some(""), false, "", ""),
        (Some(""), true, "", ""),
        (Some("/items"), true, r#"{"items":"#, "}"),
        (Some("/items"), true, r#"{"total":null,"items":"#, "}"),
        (Some("/items"), false, r#"{"items":"#, "}"),
        (Some("/items"), false, r#"{"total":100,"items":"#, r#","x":[]}"#),
        (Some("/a/b"), true, r#"{"a":{"b":"#, "}}"),
        (Some("/a/b"), false, r#"{"a":{"c":1,"b":"#, r#"},"d":2}"#),
        (Some("/1/b"), false, r#"[0,{"b":"#, "}]"),
        (Some("/0"), true, "[", "]"),
        (Some("/0"), true, r#"{"0":"#, "}"),
        (Some("/a~1\"b"), true, r#"{"a/\"b":"#, "}"),
    ] {
        let list = list(at, only);
        let right = format!("{front}{ITEMS}{back}");
        let other = format!("{front} {reordered}{back}");
        let wrong = right.replace("blue 6", "blue 7");
        let verdicts = judge(&list, &[&right, &other, &wrong]);
        assert_eq!(verdicts[..2], [Ok(()), Ok(())], "{at:?} {only}");
        let mismatch = verdicts[2].as_ref().expect_err("a wrong item");
        assert!(mismatch.what.ends_with("[1].t"), "{at:?}: {mismatch:?}");
        assert_eq!(
            (mismatch.expected.as_str(), mismatch.got.as_str()),
            ("\"blue 6\"", "\"blue 7\"")
        );
    }
}

#[test]
fn a_mismatch_names_the_place() {
    for (at, only, body, what, got) in [
        (None, false, "{}".to_owned(), "body", "{}"),
        (None, false, ITEMS.replace('3', "5"), "body at [1].n", "5"),
        (
            Some("/items"),
            false,
            ITEMS.to_owned(),
            "body at items",
            "nothing",
        ),
        (
            Some("/items"),
            false,
            r#"{"items":null}"#.to_owned(),
            "body at items",
            "null",
        ),
        (
            Some("/a/b"),
            false,
            r#"{"a":{}}"#.to_owned(),
            "body at a.b",
            "nothing",
        ),
        (
            Some("/a/b"),
            false,
            r#"{"a":7}"#.to_owned(),
            "body at a.b",
            "nothing",
        ),
        (
            Some("/a/b"),
            true,
            format!(r#"{{"a":{{"b":{ITEMS}}},"total":7}}"#),
            "body at total",
            "7",
        ),
        (
            Some("/a/b"),
            true,
            format!(r#"{{"a":{{"b":{ITEMS},"total":7}}}}"#),
            "body at a.total",
            "7",
        ),
        (Some("/0"), true, format!("[{ITEMS},8]"), "body at [1]", "8"),
        (
            Some("/items"),
            true,
            format!(r#"{{"items":{}}}"#, ITEMS.replace("red 8", "")),
            "body at items[2].t",
            "\"\"",
        ),
        (
            Some("/items"),
            false,
            format!(r#"{{"items":{}}}"#, ITEMS.replace("},{\"n\":4", "},1,{\"n\":4")),
            "body at items[2]",
            "1",
        ),
        (Some("/items"), false, String::new(), "body: empty", ""),
    ] {
        let verdicts = judge(&list(at, only), &[&body]);
        let mismatch = verdicts[0].as_ref().expect_err(what);
        assert_eq!(
            (mismatch.what.as_str(), mismatch.got.as_str()),
            (what, got),
            "{body}"
        );
    }
}

#[test]
fn an_empty_list_needs_no_item() {
    let list = List {
        first: Template::literal("1"),
        count: Template(vec![Part::Formula(Formula::Number(0))]),
        at: Some("/items".to_owned()),
        ..List::default()
    };
    assert_eq!(judge(&list, &[r#"{"items":[]}"#]), [Ok(())]);
    let unknown = List {
        count: Template::literal("many"),
        ..list
    };
    let verdicts = judge(&unknown, &["[]"]);
    assert_eq!(verdicts[0].as_ref().expect_err("no number").got, "many");
}

#[test]
fn a_pointer_begins_with_a_slash() {
    let expectation = Expectation {
        body: vec![BodyRule::List(list(Some("items"), false))],
        ..Expectation::default()
    };
    let error = expectation.compile().expect_err("no pointer").to_string();
    assert_eq!(error, "`items` is not a JSON pointer: it begins with `/`");
}
