use super::*;
use crate::formula::Operator;
use std::fmt::Write as _;

#[test]
fn a_deadline_has_at_most_eight_digits() {
    for (ns, text) in [
        (1, "1n"),
        (99_999_999, "99999999n"),
        (100_000_000, "100000u"),
        (10_000_000_000, "10000000u"),
        (3_600_000_000_000, "3600000m"),
    ] {
        let header = Header::deadline(ns);
        assert_eq!(header.value, Template::literal(text));
        assert_eq!(header.deadline_ns(), Some(ns));
    }
}

fn value(index: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(["12", "x y"][index].as_bytes());
}

/// `i * parameter 0`.
fn product() -> Formula {
    Formula::Of(Box::new((Formula::Item, Formula::Value(0))), Operator::Times)
}

#[test]
fn formulas_are_filled_with_the_item_and_the_parameters() {
    let template = Template(vec![
        Part::Literal("a=".into()),
        Part::Formula(product()),
        Part::Literal("&b=".into()),
        Part::Value(1),
    ]);
    assert!(template.mentions_item() && !template.is_constant());
    let mut out = Vec::new();
    template.render(&mut out, value);
    out.push(b' ');
    template.render_item(&mut out, 3, value);
    assert_eq!(String::from_utf8_lossy(&out), "a=0&b=x y a=36&b=x y");
    let mut indices = Vec::new();
    template.visit_parameters(&mut |index| indices.push(index));
    assert_eq!(indices, [0, 1]);
    let constant = Template(vec![Part::Formula(Formula::Number(1))]);
    assert!(!constant.mentions_item() && !constant.is_constant());
    // Not a whole number.
    let text = Template(vec![Part::Formula(Formula::Value(1))]);
    let mut out = Vec::new();
    text.render(&mut out, value);
    assert_eq!(out, b"");
}

#[test]
fn length_and_digest_are_those_of_the_rendered_body() {
    let generated = |bytes: u64| {
        Body::Generated(GeneratedBody {
            bytes,
            chunk: None,
            end: Template(vec![
                Part::Literal("1".into());
                usize::from(GeneratedBody::end_length(bytes))
            ]),
        })
    };
    let messages = Messages {
        each: vec!["ab".into(), "".into()],
        unanswered: None,
    };
    for body in [
        Body::None,
        Body::Bytes(Template(vec![Part::Literal("é".into()), Part::Value(1)])),
        generated(3),
        generated(1_000),
        generated(1_001),
        generated(1_000),
        Body::Messages(messages),
    ] {
        let template = Template(vec![
            Part::BodyBytes(Box::new(body.clone())),
            Part::Literal(" ".into()),
            Part::BodySha256(Box::new(body.clone())),
        ]);
        let mut out = Vec::new();
        template.render(&mut out, value);
        let bytes = body.render(value).unwrap_or_default();
        let digest = Sha256::digest(&bytes)
            .iter()
            .fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            });
        assert_eq!(String::from_utf8_lossy(&out), format!("{} {digest}", bytes.len()));
        let json = serde_json::to_string(&template).expect("JSON");
        assert_eq!(
            serde_json::from_str::<Template>(&json).expect("the same"),
            template
        );
    }
}
