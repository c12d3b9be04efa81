use super::*;
use crate::Part;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

fn judge(rule: BodyRule, body: impl AsRef<[u8]>) -> Result<(), Mismatch> {
    let expectation = Expectation {
        body: vec![rule],
        ..Expectation::default()
    };
    let reply = Reply {
        status: 200,
        grpc_status: None,
        headers: &[],
        body: body.as_ref(),
    };
    expectation
        .compile()
        .expect("a valid expectation")
        .judge(&reply, |_, out| out.extend_from_slice(b"2"))
}

fn judge_header(value: HeaderValue, got: &str) -> Result<(), Mismatch> {
    let rule = HeaderRule {
        name: "Content-Type".into(),
        value,
    };
    let expectation = Expectation {
        headers: vec![rule],
        ..Expectation::default()
    }
    .compile()
    .expect("valid");
    let headers: [(&[u8], &[u8]); 1] = [(b"content-type", got.as_bytes())];
    let reply = Reply {
        status: 200,
        grpc_status: None,
        headers: &headers,
        body: b"",
    };
    expectation.judge(&reply, |_, _| {})
}

#[test]
fn json_is_compared_as_json() {
    let rule = || BodyRule::Json(Template::literal(r#"{"a": 1, "b": [1, {"c": "x"}]}"#));
    assert_eq!(judge(rule(), r#"{"b":[1.0,{"c":"x"}],"a":1,"d":null}"#), Ok(()));
    for (body, what) in [
        (r#"{"b":[{"c":"x"},1],"a":1}"#, "body at b[0]"),
        (r#"{"b":[1,{"c":"y"}],"a":1}"#, "body at b[1].c"),
        (r#"{"b":[1,{}],"a":1}"#, "body at b[1].c"),
        (r#"{"b":[1,{"c":"x"}],"a":"1"}"#, "body at a"),
        (r#"{"b":[1,{"c":"x"}],"a":1,"e":2}"#, "body at e"),
        ("", "body: empty"),
    ] {
        assert_eq!(judge(rule(), body).expect_err(body).what, what, "{body}");
    }
}

#[test]
fn a_json_schema_allows_shapes() {
    let schema = serde_json::json!({
        "type": "object",
        "required": ["id", "at"],
        "properties": { "id": { "$ref": "#/$defs/id" }, "at": { "type": "string", "format": "date-time" } },
        "additionalProperties": false,
        "$defs": { "id": { "type": "integer", "minimum": 1 } },
    });
    let rule = || BodyRule::JsonSchema(SchemaPart::whole(schema.clone()));
    assert_eq!(judge(rule(), r#"{"at":"2026-01-02T03:04:05Z","id":7}"#), Ok(()));
    for (body, what, expected) in [
        (
            r#"{"at":"2026-01-02T03:04:05Z","id":0}"#,
            "body at /id",
            "minimum",
        ),
        (r#"{"at":"soon","id":7}"#, "body at /at", "date-time"),
        (r#"{"id":7}"#, "body", "required"),
        (
            r#"{"at":"2026-01-02T03:04:05Z","id":7,"x":1}"#,
            "body",
            "unexpected",
        ),
        ("", "body: empty", "the schema allows"),
        (
            "{",
            "body: not JSON (EOF while parsing an object at line 1 column 1)",
            "the schema allows",
        ),
    ] {
        let error = judge(rule(), body).expect_err(body);
        assert_eq!(error.what, what, "{body}");
        assert!(error.expected.contains(expected), "{error:?}");
    }
    let broken = Expectation {
        body: vec![BodyRule::JsonSchema(SchemaPart::whole(
            serde_json::json!({ "type": "objekt" }),
        ))],
        ..Expectation::default()
    };
    let error = broken.compile().expect_err("no schema").to_string();
    assert!(error.starts_with("not a JSON Schema: /type: "), "{error}");
}

/// A load sees the same bytes again and again: they are judged once, and others are not confused with them.
#[test]
fn a_body_that_a_schema_allowed_is_known_again() {
    let expectation = Expectation {
        body: vec![
            BodyRule::JsonSchema(SchemaPart::whole(
                serde_json::json!({ "type": "object", "required": ["a"] }),
            )),
            BodyRule::JsonSchema(SchemaPart::whole(
                serde_json::json!({ "type": "object", "required": ["b"] }),
            )),
        ],
        ..Expectation::default()
    }
    .compile()
    .expect("schemas");
    let mut memory = Memory::default();
    let mut judge = |body: &str| {
        let reply = Reply {
            status: 200,
            grpc_status: None,
            headers: &[],
            body: body.as_bytes(),
        };
        expectation.judge_with(&mut memory, &reply, |_, _| {}).is_ok()
    };
    for _ in 0..3 {
        assert!(judge(r#"{"a":1,"b":2}"#));
        assert!(!judge(r#"{"a":1}"#) && !judge(r#"{"b":1}"#) && !judge(""));
    }
}

#[test]
fn a_table_gives_the_body_of_the_value() {
    let rule = || BodyRule::Table {
        parameter: 0,
        low: 1,
        bodies: vec!["1".into(), "1 2".into()],
    };
    assert_eq!(judge(rule(), "1 2"), Ok(()));
    assert_eq!(judge(rule(), "1").expect_err("wrong").expected, "1 2");
}

#[test]
fn a_header_rule_covers_the_whole_value() {
    let rule = HeaderValue::Matches("text/plain(; *charset=utf-8)?".into());
    assert_eq!(judge_header(rule.clone(), "text/plain; charset=utf-8"), Ok(()));
    assert_eq!(
        judge_header(rule, "text/html").expect_err("wrong").what,
        "header content-type"
    );
}

#[test]
fn a_media_type_may_name_utf8_and_nothing_else() {
    for (wanted, got, right) in [
        ("text/plain", "text/plain", true),
        ("text/plain", "Text/Plain;charset=UTF-8", true),
        ("text/plain", "text/plain; charset=\"utf-8\"", true),
        ("text/plain", "text/plain; charset=iso-8859-1", false),
        ("text/plain", "text/plain; boundary=x", false),
        ("text/plain", "text/html", false),
        ("text/html; charset=utf-8", "text/html", false),
        ("text/html; charset=utf-8", "text/html;charset=utf-8", true),
    ] {
        let judged = judge_header(HeaderValue::MediaType(wanted.into()), got);
        assert_eq!(judged.is_ok(), right, "{wanted} and {got}: {judged:?}");
    }
}

#[test]
fn a_digest_is_that_of_the_rendered_text() {
    let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(
        judge_header(HeaderValue::Sha256(Template::literal("abc")), digest),
        Ok(())
    );
    assert!(judge_header(HeaderValue::Sha256(Template::literal("abd")), digest).is_err());
}

#[test]
fn a_fault_of_text_has_a_name() {
    let rule = || BodyRule::Exact(Template::literal("graubünden, Hello"));
    for (body, fault) in [
        (
            "graubünden, Hello\n".as_bytes(),
            "body: an extra newline at the end",
        ),
        (b"", "body: empty"),
        ("graubünden".as_bytes(), "body: ends after 11 of 18 bytes"),
        (
            "graubünden, Hello you".as_bytes(),
            "body: continues for 4 bytes after the expected end",
        ),
        (b"graub\xfcnden, Hello", "body: Latin-1 instead of UTF-8"),
        (
            "graubünden, hello".as_bytes(),
            "body: upper and lower case differ",
        ),
        ("graubunden, Hello".as_bytes(), "body: differs at byte 5"),
    ] {
        assert_eq!(judge(rule(), body).expect_err("wrong").what, fault);
    }
    let mismatch = judge(
        BodyRule::Exact(Template::literal("Hello, World!")),
        "Hello, World",
    )
    .expect_err("short");
    assert_eq!(
        (mismatch.expected.as_str(), mismatch.got.as_str()),
        ("Hello, World!", "Hello, World")
    );
}

#[test]
fn series_are_exact_beyond_64_bits() {
    let of = |series: Series, n| series.text(n).expect("within the limit");
    assert_eq!(of(Series::Integers, 0), "");
    assert_eq!(
        (of(Series::Integers, 35).len(), of(Series::Integers, 500).len()),
        (95, 1891)
    );
    assert_eq!(
        (
            of(Series::Fibonacci, 0).as_str(),
            of(Series::Fibonacci, 1).as_str()
        ),
        ("0", "0 1")
    );
    assert_eq!(
        (
            of(Series::Fibonacci, 100).len(),
            of(Series::Fibonacci, 4000).len()
        ),
        (1172, 1_676_923)
    );
    let digest = "c3f12e00cb9081a624cc64d6b8bda7ea423adc479705e0ec3ce6205fe548a5f0";
    let big = of(Series::Fibonacci, 4000);
    let rule = HeaderValue::Sha256(Template::literal(big.as_str()));
    assert_eq!(judge_header(rule, digest), Ok(()));
    assert_eq!(Series::Fibonacci.text(20_001), None);
}

#[test]
fn a_fault_of_a_series_names_the_number() {
    let rule = |n: &str| BodyRule::Series {
        series: Series::Fibonacci,
        n: Template::literal(n),
    };
    assert_eq!(judge(rule("5"), "0 1 1 2 3 5"), Ok(()));
    let right = Series::Fibonacci.text(93).expect("within the limit");
    let wrapped = right.replace("12200160415121876738", "-6246583658587674878");
    let mismatch = judge(rule("93"), wrapped).expect_err("wrapped");
    assert_eq!(
        mismatch.what,
        "body, number 94 of the Fibonacci numbers: not exact beyond 64 bits"
    );
    assert_eq!(
        judge(rule("5"), "0 1 1 2 3").expect_err("short").what,
        "body: too few numbers"
    );
    let newline = judge(rule("5"), "0 1 1 2 3 5\n").expect_err("newline");
    assert_eq!(newline.what, "body: an extra newline at the end");
}

#[test]
fn a_line_of_html_is_read_as_a_browser_reads_it() {
    let rule = || BodyRule::HtmlLine(Template::literal(r#"HEADER: x = a<b>&"c'"#));
    for right in [
        "HEADER: x = a&lt;b&gt;&amp;&quot;c&#39;",
        "HEADER: x = a&#60;b&#x3e;&amp;\"c'",
    ] {
        assert_eq!(judge(rule(), format!("<pre>\n{right}\n</pre>")), Ok(()));
        assert_eq!(judge(rule(), format!("<pre>{right}\r\n</pre>")), Ok(()));
    }
    let bare = judge(rule(), "<pre>\nHEADER: x = a<b>&\"c'\n</pre>").expect_err("bare");
    assert_eq!(bare.what, "body: not escaped for HTML");
    assert!(judge(rule(), "HEADER: X = a&lt;b&gt;&amp;&quot;c&#39;").is_err());
}

/// A schema with `message M { string a = 1; int32 b = 2; }`, hand-encoded as a `FileDescriptorSet`.
pub(super) fn schema() -> Bytes {
    let field = |name: &str, number: u8, kind: u8| {
        let mut field = vec![0x0a, 1];
        field.extend_from_slice(name.as_bytes());
        field.extend_from_slice(&[0x18, number, 0x20, 1, 0x28, kind]);
        field
    };
    let wrap = |tag: u8, inner: &[u8]| [&[tag, inner.len() as u8], inner].concat();
    let message = [
        wrap(0x0a, b"M"),
        wrap(0x12, &field("a", 1, 9)),
        wrap(0x12, &field("b", 2, 5)),
    ]
    .concat();
    let file = [
        wrap(0x0a, b"m.proto"),
        wrap(0x22, &message),
        wrap(0x62, b"proto3"),
    ]
    .concat();
    Bytes(wrap(0x0a, &file))
}

#[test]
fn messages_are_compared_decoded() {
    let rule = || BodyRule::Protobuf {
        schema: schema(),
        message: "M".into(),
        equals: Template::literal(Bytes(b"\x0a\x01x\x10\x07".to_vec())),
    };
    assert_eq!(judge(rule(), b"\x0a\x01x\x10\x07"), Ok(()));
    assert_eq!(judge(rule(), b"\x10\x07\x0a\x01x"), Ok(()));
    assert_eq!(
        judge(rule(), b"\x0a\x01y\x10\x07").expect_err("other").what,
        "body at a"
    );
    assert_eq!(judge(rule(), b"\x0a\x01x").expect_err("lost").what, "body at b");
    assert!(
        judge(rule(), b"\x0a\x01x\x10\x07\x18\x01")
            .expect_err("more")
            .what
            .contains("field 3")
    );
    assert!(
        judge(rule(), b"\x0a\x09x")
            .expect_err("cut")
            .what
            .contains("not a `M` message")
    );
    let unknown = BodyRule::Protobuf {
        schema: schema(),
        message: "N".into(),
        equals: Template::default(),
    };
    let expectation = Expectation {
        body: vec![unknown],
        ..Expectation::default()
    };
    assert!(
        expectation
            .compile()
            .expect_err("no N")
            .to_string()
            .contains("no message type `N`")
    );
}

#[test]
fn an_expectation_travels_as_json() {
    let expectation = Expectation {
        status: vec![200],
        grpc_status: Some(5),
        single_event: true,
        any: vec![Expectation::default()],
        headers: vec![HeaderRule {
            name: "x".into(),
            value: HeaderValue::Absent,
        }],
        json: vec![JsonRule {
            text: "/a=1".into(),
            pointer: vec!["a".into()],
            test: JsonTest::Equals(Template::literal("1")),
        }],
        body: vec![
            BodyRule::Series {
                series: Series::Integers,
                n: Template::literal("3"),
            },
            BodyRule::HtmlLine(Template::literal("x")),
            BodyRule::Protobuf {
                schema: schema(),
                message: "M".into(),
                equals: Template::default(),
            },
        ],
        events: None,
        take: vec![Capture {
            name: "id".into(),
            slot: 0,
            from: Origin::Json("/id".into()),
            encoding: Encoding::Json,
        }],
        decode: true,
    };
    let json = serde_json::to_string(&expectation).expect("JSON");
    assert_eq!(
        serde_json::from_str::<Expectation>(&json).expect("the same"),
        expectation
    );
}

#[test]
fn a_call_gives_one_message_unless_it_streams() {
    let judge = |events: Option<events::Events>, count| {
        let expectation = Expectation {
            events,
            ..Expectation::default()
        };
        let compiled = expectation.compile().expect("valid");
        compiled.judge_messages(count).map_err(|mismatch| mismatch.got)
    };
    assert_eq!(judge(None, 1), Ok(()));
    assert_eq!(judge(None, 0), Err("0".into()));
    assert_eq!(judge(None, 2), Err("2".into()));
    assert_eq!(judge(Some(events::Events::default()), 0), Ok(()));
    assert_eq!(judge(Some(events::Events::default()), 2), Ok(()));
}

#[test]
fn a_body_with_values_is_matched_by_its_begin_and_end() {
    let template = Template(vec![
        Part::Literal("n: ".into()),
        Part::Value(0),
        Part::Literal(".".into()),
    ]);
    let expectation = Expectation {
        body: vec![BodyRule::Exact(template)],
        ..Expectation::default()
    };
    let expectation = expectation.compile().expect("valid");
    let exact = expectation.exact_body().expect("one body is right");
    assert!(!exact.is_constant() && exact.begin() == b"n: ");
    let value = |_, out: &mut Vec<u8>| out.extend_from_slice(b"12");
    for (end, is_right) in [
        ("12.", true),
        ("12", false),
        ("12..", false),
        ("13.", false),
        ("", false),
    ] {
        assert_eq!(
            exact.ends_with(end.as_bytes(), &mut Memory::default(), value),
            is_right,
            "{end}"
        );
        let body = format!("n: {end}");
        let reply = Reply {
            status: 200,
            grpc_status: None,
            headers: &[],
            body: body.as_bytes(),
        };
        assert_eq!(expectation.judge(&reply, value).is_ok(), is_right, "{end}");
    }
}

/// A reply gets the same verdict with the memory of other replies as with fresh memory.
#[test]
fn memory_changes_no_verdict() {
    let rules = [
        BodyRule::Json(Template(vec![
            Part::Literal(r#"{"a": "#.into()),
            Part::Value(0),
            Part::Literal(r#", "b": [1]}"#.into()),
        ])),
        BodyRule::Exact(Template(vec![Part::Value(0), Part::Value(0)])),
        BodyRule::Series {
            series: Series::Fibonacci,
            n: Template(vec![Part::Value(0)]),
        },
        BodyRule::HtmlLine(Template(vec![Part::Literal("<".into()), Part::Value(0)])),
        BodyRule::Table {
            parameter: 0,
            low: 1,
            bodies: vec!["one".into(), "two".into()],
        },
    ];
    let bodies = [
        r#"{"b":[1],"a":1}"#,
        r#"{"b":[1],"a":2}"#,
        r#"{"a":2,"b":[1.0]}"#,
        "11",
        "22",
        "0 1",
        "0 1 1",
        "x\n&lt;1\ny",
        "&#60;2",
        "<2",
        "one",
        "two",
        "",
    ];
    for rule in rules {
        let expectation = Expectation {
            body: vec![rule],
            ..Expectation::default()
        }
        .compile()
        .expect("valid");
        let mut memory = Memory::default();
        // More pairs than are remembered, each of them twice and in a different order.
        for step in 0..1_000_usize {
            let number = (step * 7 % 23).to_string();
            let reply = Reply {
                status: 200,
                grpc_status: None,
                headers: &[],
                body: bodies[step * 5 % bodies.len()].as_bytes(),
            };
            let value = |_, out: &mut Vec<u8>| out.extend_from_slice(number.as_bytes());
            assert_eq!(
                expectation.judge_with(&mut memory, &reply, value),
                expectation.judge(&reply, value)
            );
        }
    }
}

#[test]
fn a_part_of_json_leaves_further_members_free() {
    let rule = || BodyRule::JsonPart(Template::literal(r#"{"a":1,"b":[{"c":"x"}],"n":null}"#));
    assert_eq!(judge(rule(), r#"{"b":[{"c":"x","d":2}],"e":[],"a":1}"#), Ok(()));
    for (body, what) in [
        (r#"{"b":[{"c":"x"}]}"#, "body at a"),
        (r#"{"a":1,"b":[{"c":"x"},{"c":"x"}]}"#, "body at b[1]"),
        (r#"{"a":1,"b":[{"c":"x"}],"n":0}"#, "body at n"),
    ] {
        assert_eq!(judge(rule(), body).expect_err(body).what, what, "{body}");
    }
}

#[test]
fn an_upload_is_answered_with_its_length_and_digest() {
    use crate::{Body, GeneratedBody};
    // The placeholder in the end is always filled with `2`.
    let generated = |bytes| GeneratedBody {
        bytes,
        chunk: None,
        end: Template(vec![
            Part::Value(0);
            usize::from(GeneratedBody::end_length(bytes))
        ]),
    };
    for bytes in [0, 1, 16, 17, 1000] {
        let body = Body::Generated(generated(bytes));
        let sent = body.render(|_, out| out.extend_from_slice(b"2")).expect("a body");
        assert_eq!(sent.len() as u64, bytes);
        let digest = Sha256::digest(&sent);
        let digest: String = digest.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        let reply = format!(r#"{{"sha256":"{digest}","bytes":{bytes}}}"#);
        assert_eq!(judge(BodyRule::Uploaded(body.clone()), &reply), Ok(()), "{bytes}");
        let wrong = reply.replace(&digest, &"0".repeat(64));
        assert_eq!(
            judge(BodyRule::Uploaded(body), wrong).expect_err("wrong").what,
            "body at sha256"
        );
    }
    assert!(generated(100).filler() != generated(101).filler()[..84]);
}

#[test]
fn a_table_of_html_reads_as_its_rows() {
    let texts = |row: [&str; 2]| row.map(str::to_owned).to_vec();
    let rule = || {
        BodyRule::HtmlTable(HtmlTable {
            title: Some("Fortunes".into()),
            header: texts(["id", "message"]),
            rows: vec![
                texts(["1", "b < \"c\" & 'd'"]),
                texts(["2", "<script>alert(1)</script>"]),
                texts(["3", "\u{ff5e} before the other"]),
                texts(["4", "\u{1f600}"]),
            ],
            more: vec![vec![
                Template::literal("0"),
                Template(vec![Part::Literal("a".into()), Part::Value(0)]),
            ]],
            sort: Some(1),
        })
    };
    let page = |rows: &[[&str; 2]]| {
        let rows: Vec<String> = rows
            .iter()
            .map(|[id, text]| format!("<tr>\n <td>{id}</td><td class=x> {text}\n</td></tr>"))
            .collect();
        format!(
            "<!doctype html><html><head><title>Fortunes</title></head><body><table><thead><tr><th>id</th><th>message</th></tr></thead>{}</table></body></html>",
            rows.concat()
        )
    };
    let right = [
        ["2", "&lt;script&gt;alert(1)&lt;/script&gt;"],
        ["0", "a2"],
        ["1", "b &lt; &#34;c&quot; &amp; &#x27;d'"],
        ["3", "\u{ff5e} before the other"],
        ["4", "&#128512;"],
    ];
    assert_eq!(judge(rule(), page(&right)), Ok(()));
    let mut swapped = right;
    swapped.swap(3, 4);
    let mut bare = right;
    bare[0][1] = "<script>alert(1)</script>";
    let mut bold = right;
    bold[1][1] = "a2<b></b>";
    let mut twice = right;
    twice[2][1] = "b &amp;lt; &#34;c&quot; &amp; &#x27;d'";
    for (body, what) in [
        (page(&swapped), "body: row 4"),
        (page(&bare), "body: row 1"),
        (page(&bold), "body: not escaped for HTML"),
        (page(&twice), "body: row 3"),
        (page(&right[..4]), "body: row 5"),
        (page(&[&right[..], &right[..1]].concat()), "body: rows"),
        (
            page(&right).replace("<title>Fortunes", "<title>Fortune"),
            "body: the title",
        ),
        (
            page(&right).replace("<th>message", "<th>text"),
            "body: header row",
        ),
        (page(&right).replace("th>", "td>"), "body: header row"),
        (page(&right).replace("<td>0<", "<td>00<"), "body: row 2"),
        (format!("{}<table></table>", page(&right)), "body: tables"),
        ("[]".to_owned(), "body: the title"),
    ] {
        let error = judge(rule(), &body).expect_err(what);
        assert_eq!(error.what, what, "{error:?}");
    }
}

/// Judges a reply with a status and a type.
fn judge_whole(expectation: &Expectation, status: u16, kind: &str, body: &str) -> Result<(), Mismatch> {
    let headers: [(&[u8], &[u8]); 1] = [(b"content-type", kind.as_bytes())];
    let reply = Reply {
        status,
        grpc_status: None,
        headers: &headers,
        body: body.as_bytes(),
    };
    let compiled = expectation.compile().expect("valid");
    let mut memory = Memory::default();
    let verdict = compiled.judge_with(&mut memory, &reply, |_, _| {});
    let again = compiled.judge_with(&mut memory, &reply, |_, _| {});
    assert_eq!(verdict, again);
    verdict
}

#[test]
fn a_string_that_is_json_is_compared_as_json() {
    let rule = || {
        BodyRule::JsonText(JsonText {
            at: "/a/0/b~1c".into(),
            json: Template::literal(r#"{"n": 1, "t": ["x"]}"#),
        })
    };
    assert_eq!(
        judge(rule(), r#"{"a":[{"b/c":"{\"t\":[\"\\u0078\"],\"n\":1.0}"}]}"#),
        Ok(())
    );
    for (body, what) in [
        (
            r#"{"a":[{"b/c":"{\"n\":2,\"t\":[\"x\"]}"}]}"#,
            "body at /a/0/b/c: body at n",
        ),
        (
            r#"{"a":[{"b/c":"x"}]}"#,
            "body at /a/0/b/c: body: not JSON (expected value at line 1 column 1)",
        ),
        (r#"{"a":[{"b/c":{"n":1,"t":["x"]}}]}"#, "body at /a/0/b/c"),
        (r#"{"a":[]}"#, "body at /a/0/b/c"),
        ("", "body: empty"),
    ] {
        assert_eq!(judge(rule(), body).expect_err(body).what, what, "{body}");
    }
}

#[test]
fn a_reply_may_be_one_event() {
    let expectation = Expectation {
        single_event: true,
        body: vec![BodyRule::JsonPart(Template::literal(r#"{"id":1}"#))],
        ..Expectation::default()
    };
    let judge =
        |kind: &str, body: &str| judge_whole(&expectation, 200, kind, body).map_err(|wrong| wrong.what);
    assert_eq!(judge("application/json", r#"{"id":1,"a":2}"#), Ok(()));
    for events in [
        "data: {\"id\":\ndata:1}\n\n",
        ": a comment\nid: 0\ndata:\n\nevent: message\r\nretry: 5\r\ndata: {\"id\":1}\r\n\r\nid: 2\ndata\n\n",
    ] {
        assert_eq!(
            judge("text/event-stream; charset=utf-8", events),
            Ok(()),
            "{events}"
        );
    }
    for (kind, body, what) in [
        ("text/event-stream", "data: {\"id\":2}\n\n", "body at id"),
        ("text/event-stream", "data: {\"id\":1}\n", "events"),
        (
            "text/event-stream",
            "data: {\"id\":1}\n\ndata: {\"id\":1}\n\n",
            "events",
        ),
        ("text/event-stream", "event: note\ndata: {\"id\":1}\n\n", "events"),
        ("text/event-stream", ": nothing\n\n", "events"),
        ("text/event-stream", "{\"id\":1}", "events"),
        ("text/plain", "{\"id\":1}", "header content-type"),
    ] {
        assert_eq!(judge(kind, body), Err(what.to_owned()), "{body}");
    }
}

#[test]
fn one_of_several_expectations_holds() {
    let one = |status: &[u16], json: &str| Expectation {
        status: status.to_vec(),
        body: vec![BodyRule::JsonPart(Template::literal(json))],
        ..Expectation::default()
    };
    let expectation = Expectation {
        status: vec![200, 400, 404],
        any: vec![
            one(&[400, 200], r#"{"error":-32602}"#),
            one(&[200], r#"{"isError":true}"#),
            Expectation {
                status: vec![404],
                ..Expectation::default()
            },
        ],
        body: Vec::new(),
        ..Expectation::default()
    };
    let judge = |status, body: &str| {
        judge_whole(&expectation, status, "application/json", body)
            .map_err(|wrong| (wrong.what, wrong.expected))
    };
    for (status, body) in [
        (200, r#"{"error":-32602}"#),
        (400, r#"{"error":-32602}"#),
        (200, r#"{"isError":true}"#),
        (404, "no JSON"),
    ] {
        assert_eq!(judge(status, body), Ok(()), "{status} {body}");
    }
    // The mismatch is that of the first one whose status fits.
    let at = |what: &str, expected: &str| Err((what.to_owned(), expected.to_owned()));
    assert_eq!(judge(400, r#"{"isError":true}"#), at("body at error", "-32602"));
    assert_eq!(judge(200, r#"{"error":0}"#), at("body at error", "-32602"));
    assert_eq!(judge(500, "{}"), at("status", "200 or 400 or 404"));
    let compiled = expectation.compile().expect("valid");
    assert!(compiled.judges_every_reply() && compiled.judges_body() && !compiled.judges_json_alone());
}

#[test]
fn a_schema_judges_what_it_speaks_of_in_every_reply() {
    let schema = serde_json::json!({
        "required": ["result"],
        "properties": { "result": {
            "type": "object",
            "required": ["ttl", "list"],
            "properties": { "ttl": { "type": "integer", "minimum": 0 }, "name": { "maxLength": 3 } },
        } },
    });
    let expectation = Expectation {
        body: vec![BodyRule::JsonSchema(SchemaPart::whole(schema))],
        ..Expectation::default()
    };
    let compiled = expectation.compile().expect("valid");
    let mut memory = Memory::default();
    // One memory for all: what was valid before must not make another body valid.
    for _ in 0..2 {
        for (body, is_valid) in [
            (r#"{"id":1,"result":{"ttl":5,"list":[1]}}"#, true),
            (r#"{"id":2,"result":{"ttl":5,"list":[2]}}"#, true),
            (r#"{"id":3,"result":{"ttl":-5,"list":[2]}}"#, false),
            (r#"{"id":4,"result":{"ttl":5}}"#, false),
            (r#"{"id":5,"result":{"ttl":5,"list":7,"name":"abc"}}"#, true),
            (r#"{"id":6,"result":{"ttl":5,"list":7,"name":"abcd"}}"#, false),
            (r#"{"id":7,"result":[5]}"#, false),
            (r#"{"id":8}"#, false),
            (r#"{"id":9,"result":{"ttl":5,"list":[1]},"id":9}"#, true),
            ("no JSON", false),
        ] {
            let reply = Reply {
                status: 200,
                grpc_status: None,
                headers: &[],
                body: body.as_bytes(),
            };
            let verdict = compiled.judge_with(&mut memory, &reply, |_, _| {});
            assert_eq!(verdict.is_ok(), is_valid, "{body}: {verdict:?}");
        }
    }
}
