//! Drafts of any content load, mean what their source said, and are TOML 1.0 that the schema of contracts accepts.

use crate::format::schema::{Published, toml_as_json};
use prony_config::contract::Contract;
use prony_config::format::FileKind;
use prony_config::import::{Body, Draft, Expect, ExpectedBody, Operation};
use prony_load::{BodyRule, Protocol, Template};
use proptest::prelude::*;
use serde_json::{Value, json};
use toml_edit::visit::{Visit, visit_inline_table};
use toml_edit::{DocumentMut, InlineTable};

const SEED: u64 = 1;

/// The inline tables on several lines, which TOML 1.0 does not allow. A text may span lines.
#[derive(Default)]
struct SpansLines(Vec<String>);

impl<'d> Visit<'d> for SpansLines {
    fn visit_inline_table(&mut self, table: &'d InlineTable) {
        let text = table.to_string();
        let text = text.trim();
        let has_text_of_lines = ["\"\"\"", "'''"].iter().any(|quotes| text.contains(quotes));
        if text.contains('\n') && !has_text_of_lines || table.trailing_comma() {
            self.0.push(text.to_owned());
        }
        visit_inline_table(self, table);
    }
}

fn draft(body: Body, expected: ExpectedBody, header: &str) -> Draft {
    let media_type = match expected {
        ExpectedBody::Json(_) => "application/json",
        _ => "text/plain",
    };
    let mut operation = Operation {
        name: "call".to_owned(),
        from: "a test".to_owned(),
        method: "POST".to_owned(),
        path: "/a/{id}?b=c".to_owned(),
        headers: vec![
            ("X-Token".to_owned(), "Bearer {token}".to_owned()),
            ("X-Text".to_owned(), header.to_owned()),
        ],
        body: Some(body),
        expect: Expect {
            status: vec![200],
            media_type: Some(media_type.to_owned()),
            body: Some(expected),
        },
        ..Operation::default()
    };
    operation.with.insert("id".to_owned(), "a b/%".to_owned());
    operation.with.insert("token".to_owned(), "SECRET".to_owned());
    Draft {
        title: "Mine".to_owned(),
        source: "a test".to_owned(),
        operations: vec![operation],
        skip_common_cases: vec![("keep-alive".to_owned(), "it closes\nthe connection".to_owned())],
        ..Draft::default()
    }
}

/// The text of the contract, the request that it sends, and the body that it expects.
fn written(draft: &Draft) -> (String, prony_load::Request, Vec<BodyRule>) {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("mine");
    std::fs::create_dir(&folder).expect("a folder");
    let mut text = String::new();
    for (file, content) in draft.files("mine") {
        std::fs::write(folder.join(&file), &content).expect("a file");
        if file == "contract.toml" {
            text = content;
        }
    }
    let contract = Contract::load(&folder).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let call = contract
        .single("call", Protocol::Http1, &[], SEED)
        .expect("a call");
    assert!(call.expected, "{text}");
    (text, call.exchange.request, call.exchange.expect.body)
}

fn bytes(template: &Template) -> Vec<u8> {
    let mut out = Vec::new();
    template.render(&mut out, |_, _| panic!("a draft has no values that differ"));
    out
}

fn sent(request: &prony_load::Request) -> Vec<u8> {
    match &request.body {
        prony_load::Body::Bytes(template) => bytes(template),
        other => panic!("{other:?}"),
    }
}

fn header(request: &prony_load::Request, name: &str) -> String {
    let header = request
        .headers
        .iter()
        .find(|header| header.name == name)
        .expect(name);
    String::from_utf8(bytes(&header.value)).expect("UTF-8")
}

fn check(body: &Value, header_text: &str) {
    let draft = draft(
        Body::Json(body.clone()),
        ExpectedBody::Json(body.clone()),
        header_text,
    );
    let (text, request, rules) = written(&draft);
    let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).expect("JSON");
    assert_eq!(json(&sent(&request)), *body, "{text}");
    assert_eq!(header(&request, "X-Text"), header_text, "{text}");
    assert_eq!(header(&request, "X-Token"), "Bearer SECRET", "{text}");
    assert_eq!(bytes(&request.path), b"/a/a%20b%2F%25?b=c", "{text}");
    match rules.as_slice() {
        [BodyRule::Json(expected)] => assert_eq!(json(&bytes(expected)), *body, "{text}"),
        other => panic!("{other:?}\n{text}"),
    }
    let begin = "#:schema ../../schemas/1/contract.json\nformat = 1\n";
    assert!(text.starts_with(begin), "{text}");
    let mut faults = SpansLines::default();
    faults.visit_document(&text.parse::<DocumentMut>().expect("TOML"));
    assert!(faults.0.is_empty(), "{:?} in\n{text}", faults.0);
    Published::of(FileKind::Contract)
        .judge(&toml_as_json(&text))
        .unwrap_or_else(|fault| panic!("{fault}\n{text}"));
}

/// Texts of parts that have a meaning in a contract.
fn texts() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "{", "}", "{{", "}}", "=", "{=", "i", "id", "token", "{token}", "{id}", "brace", "Name", ":", "text",
        ".", "$", "#", "\"", "'", "\\", " ", "é", "_", "1", "+",
    ]);
    prop::collection::vec(parts, 0..8).prop_map(|parts| parts.concat())
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        texts().prop_map(Value::from),
        "\\PC{0,60}\n?".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(texts(), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    // Each draft is written, read and tried out.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_draft_means_what_its_source_said(body in values(), text in texts()) {
        // Placeholders in headers are those of the operation.
        let has_places = ["{id}", "{token}"].iter().any(|place| text.contains(place));
        let header = if has_places { String::new() } else { text.trim().to_owned() };
        check(&body, &header);
    }

    #[test]
    fn a_text_is_sent_and_expected_as_it_is(text in texts()) {
        let draft = draft(Body::Text(text.clone()), ExpectedBody::Text(text.clone()), "");
        let (file, request, rules) = written(&draft);
        prop_assert_eq!(sent(&request), text.as_bytes(), "{}", file);
        match rules.as_slice() {
            [BodyRule::Exact(expected)] => prop_assert_eq!(bytes(expected), text.as_bytes(), "{}", file),
            other => panic!("{other:?}\n{file}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_template_has_its_placeholders_and_everything_else_is_text(texts in prop::collection::vec(texts(), 3)) {
        let is_free = |text: &String| !["{id}", "{token}"].iter().any(|place| text.contains(place));
        let [first, second, third] = texts.as_slice() else { unreachable!() };
        let template = format!("{first}{{id}}{second}{{token}}{third}");
        // Neither part nor joint may look like a placeholder of the operation.
        let places = template.matches("{id}").count() + template.matches("{token}").count();
        prop_assume!(texts.iter().all(is_free) && places == 2);
        let draft = draft(Body::Template(template), ExpectedBody::Text(String::new()), "");
        let (file, request, _) = written(&draft);
        let expected = format!("{first}a b/%{second}SECRET{third}");
        prop_assert_eq!(sent(&request), expected.as_bytes(), "{}", file);
    }
}

#[test]
fn what_is_longer_than_a_line_becomes_a_section() {
    let long = "x".repeat(50);
    check(
        &json!({
            "name": long, "more": { "a": long, "b": long, "list": [{ "a": long, "b": long }, { "a": long }] },
            "{id}": "{= i", "mixed": [1, { "a": long, "b": "two\nlines" }, [long, long]], "none": null
        }),
        "{= i} of {{x}}",
    );
}

#[test]
fn a_small_draft_is_small() {
    let (text, ..) = written(&draft(
        Body::Text("a {b}".to_owned()),
        ExpectedBody::Json(json!({"a": "{b}"})),
        "x",
    ));
    assert_eq!(
        text,
        r#"#:schema ../../schemas/1/contract.json
format = 1
# A draft, made from a test. Correct what is wrong, and delete this line.
# Check a running server with `prony check --url URL mine`.
title = "Mine"
# Common cases that are not required, with the reasons. Delete a line to require its case.
skip_common_cases = [
    "keep-alive", # it closes the connection
]

# a test
[operation.call]
http = "POST /a/{id}?b=c"
with = { id = "a b/%", token = "SECRET" }
headers = { X-Token = "Bearer {token}", X-Text = "x" }
text = "a {{b}}"
expect = { status = 200, json = { a = "{{b}}" } }

[workload.all]
summary = "All requests, one after the other."
sequence = [{ operation = "call" }]
load = { kind = "closed", connections = 16 }
"#
    );
}
