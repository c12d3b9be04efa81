use super::super::{Expectation, Reply};
use super::*;
use crate::Part;
use std::convert::Infallible;

/// Parses a rule whose value has no placeholders.
fn read(text: &str) -> Result<JsonRule, String> {
    JsonRule::read(text, |text| Ok::<_, Infallible>(Template::literal(text)))
        .map_err(|error| error.to_string())
}

fn rule(text: &str) -> JsonRule {
    read(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn judge(rules: &[&str], content_type: &str, body: &str) -> Result<(), Mismatch> {
    let expectation = Expectation {
        json: rules.iter().map(|text| rule(text)).collect(),
        ..Expectation::default()
    };
    let reply = Reply {
        status: 200,
        grpc_status: None,
        headers: &[(b"Content-Type", content_type.as_bytes())],
        body: body.as_bytes(),
    };
    let compiled = expectation.compile().expect("good rules");
    assert!(compiled.judges_body() && compiled.checks_headers() && compiled.exact_body().is_none());
    compiled.judge(&reply, |_, out| out.extend_from_slice(b"2"))
}

fn is_met(text: &str, body: &str) -> bool {
    judge(&[text], "application/json", body).is_ok()
}

#[test]
fn each_form_of_a_rule_is_judged() {
    for (text, body, is_right) in [
        ("/a", r#"{"a":1}"#, true),
        ("/a", r#"{"a":null}"#, false),
        ("/a", r#"{"b":1}"#, false),
        ("/a", r#"{"a":{}}"#, true),
        ("!/a", r#"{"b":1}"#, true),
        ("!/a", r#"{"a":null}"#, true),
        ("!/a", r#"{"a":false}"#, false),
        ("!/error", r#"{"error":{"code":-32602}}"#, false),
        ("/a=1", r#"{"a":1.0}"#, true),
        ("/a=1", r#"{"a":10e-1}"#, true),
        ("/a=1", r#"{"a":"1"}"#, false),
        ("/a=\"1\"", r#"{"a":"1"}"#, true),
        ("/a=x y", r#"{"a":"x y"}"#, true),
        ("/a=é", r#"{"a":"\u00e9"}"#, true),
        ("/a=18446744073709551617", r#"{"a":18446744073709551617}"#, true),
        ("/a=18446744073709551617", r#"{"a":18446744073709551616}"#, false),
        ("/a=true", r#"{"a":true}"#, true),
        ("/a=true", r#"{"a":"true"}"#, false),
        ("/a=null", r#"{"a":null}"#, true),
        ("/a=null", "{}", false),
        ("/a!=true", r#"{"a":false}"#, true),
        ("/a!=true", r#"{"a":true}"#, false),
        ("/a!=true", "{}", true),
        ("/a!=true", r#"{"a":null}"#, true),
        ("/a~^hel+o$", r#"{"a":"helllo"}"#, true),
        ("/a~^hel+o$", r#"{"a":"heo"}"#, false),
        ("/a~1", r#"{"a":"1"}"#, false),
        ("/a~[1]", r#"{"a":1}"#, false),
        ("/a/1/b=2", r#"{"a":[{"b":1},{"b":2}]}"#, true),
        ("/a/1/b=2", r#"{"a":[{"b":2},{"b":1}]}"#, false),
        ("/a/01", r#"{"a":[1,2]}"#, false),
        ("/a/1=x", r#"{"a":{"1":"x"}}"#, true),
        ("/a~1b/m~0n=1", r#"{"a/b":{"m~n":1}}"#, true),
        (
            "/a={\"x\":[1,2],\"y\":\"z\"}",
            r#"{"a": {"y":"\u007a", "x":[1.0 , 2e0]}}"#,
            true,
        ),
        ("/a={\"x\":[1,2]}", r#"{"a":{"x":[2,1]}}"#, false),
        ("/a=[]", r#"{"a":[ ]}"#, true),
        ("/a=[]", r#"{"a":{}}"#, false),
        ("/=1", r#"{"":1}"#, true),
        ("=5", "5", true),
        ("=5", " 5.0\n", true),
        ("=[1]", "[1]", true),
    ] {
        assert_eq!(is_met(text, body), is_right, "{text} of {body}");
    }
}

#[test]
fn rules_go_together_and_the_first_that_fails_is_shown() {
    let rules = [
        "/id=7",
        "!/error",
        "/result/isError!=true",
        "/result/content/0/text~^4",
    ];
    let right =
        r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"402"}],"isError":false}}"#;
    assert_eq!(judge(&rules, "application/json", right), Ok(()));
    let wrong = right.replace("false", "true");
    let error = judge(&rules, "application/json; charset=utf-8", &wrong).expect_err("an error inside a 200");
    assert_eq!(
        (error.what.as_str(), error.expected.as_str(), error.got.as_str()),
        ("JSON rule `/result/isError!=true`", "anything but true", "true")
    );
    let error = judge(&rules, "application/json", "{}").expect_err("nothing");
    assert_eq!(error.got, "nothing");
    let whole = ["/a={\"b\":[1]}", "/a/b/0=1", "/a/b=[1]"];
    assert_eq!(judge(&whole, "application/json", r#"{"a":{"b":[1]}}"#), Ok(()));
}

#[test]
fn the_type_and_the_form_of_a_reply_count() {
    let right = r#"{"a":1}"#;
    for (content_type, body, what) in [
        ("text/html", right, "header content-type"),
        ("", right, "header content-type"),
        ("application/json", "", "body: empty"),
        (
            "application/json",
            r#"{"a":1"#,
            "body: not JSON (it ends too early)",
        ),
        ("application/json", r#"{"a":1}x"#, "body: not JSON (byte 7)"),
        ("application/json", r#"{"a":01}"#, "body: not JSON (byte 6)"),
        (
            "application/json",
            r#"{"a":1,"a":1}"#,
            "body: a member named by a rule occurs twice",
        ),
        ("text/event-stream", "data: {\"a\":1}", "events"),
        ("text/event-stream", ": hello\n\n", "events"),
        (
            "text/event-stream",
            "data: {\"a\":1}\n\ndata: {\"a\":1}\n\n",
            "events",
        ),
    ] {
        let error = judge(&["/a=1"], content_type, body).expect_err(body);
        assert_eq!(error.what, what, "{content_type} {body}");
    }
    let deep = format!("{{\"a\":1,\"b\":{}{}}}", "[".repeat(200), "]".repeat(200));
    let error = judge(&["/a=1"], "application/json", &deep).expect_err("deep");
    assert!(error.what.contains("128 levels"), "{error:?}");
    for (content_type, body) in [
        ("application/problem+json", right),
        ("APPLICATION/JSON", right),
        (
            "text/event-stream",
            "event: message\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\n",
        ),
        (
            "text/event-stream; charset=utf-8",
            ": ping\n\nid: 4\ndata:{\"a\":1}\n\n",
        ),
        // Other members may occur twice: no rule is about them.
        ("application/json", r#"{"b":1,"b":2,"a":1}"#),
    ] {
        assert_eq!(
            judge(&["/a=1"], content_type, body),
            Ok(()),
            "{content_type} {body}"
        );
    }
}

#[test]
fn a_value_may_depend_on_the_request() {
    let filled = |text: &str, body: &str| {
        let template = |_: &str| Ok::<_, Infallible>(Template(vec![Part::Value(0)]));
        let rule = JsonRule::read(text, template).expect("a rule");
        let compiled = Expectation {
            json: vec![rule],
            ..Expectation::default()
        };
        let compiled = compiled.compile().expect("good");
        let reply = Reply {
            status: 200,
            grpc_status: None,
            headers: &[(b"content-type", b"application/json")],
            body: body.as_bytes(),
        };
        compiled.judge(&reply, |_, out| out.extend_from_slice(b"42"))
    };
    for (body, is_right) in [
        (r#"{"id":42}"#, true),
        (r#"{"id":42.0}"#, true),
        (r#"{"id":"42"}"#, true),
        (r#"{"id":43}"#, false),
        (r#"{"id":[42]}"#, false),
        ("{}", false),
    ] {
        assert_eq!(filled("/id={id}", body).is_ok(), is_right, "{body}");
        if !is_right {
            assert_eq!(
                filled("/id={id}", body).expect_err("wrong").expected,
                "42",
                "{body}"
            );
        }
    }
}

#[test]
fn an_invalid_rule_is_reported() {
    for text in ["", "a", "!a", "!/a=1", "a=1"] {
        assert!(read(text).is_err(), "{text}");
    }
}

/// Parses a document in pieces of `length` bytes; returns the values found, or the fault.
fn walked(tree: &Tree, document: &[u8], length: usize) -> Result<Vec<(NodeId, String)>, Fault> {
    let mut walker = Walker::default();
    let mut all = Vec::new();
    let mut found = |node: NodeId, found: PathMatch<'_>| all.push((node, format!("{found:?}")));
    walker.begin(tree);
    for piece in document.chunks(length) {
        walker.push(tree, piece, &mut found)?;
    }
    walker.end(tree, &mut found)?;
    Ok(all)
}

/// Seeded random documents: valid ones, and ones with a byte changed, removed or doubled.
fn documents() -> Vec<Vec<u8>> {
    let seeds = [
        r#"{"a":[1,-0.5e+3,"x\n\u00e9\ud83d\ude00 é😀",true,false,null,{}],"b":{"a":{"b":""}},"c":[[[]]]}"#,
        r#"[0,-0,1e5,1E-5,10.25,"\"\\\/\b\f\n\r\t",[{"a":null}]]"#,
        "\"plain\"",
        " \t\r\n 17 ",
        "nul",
        "",
    ];
    let alphabet = b"{}[]:,\"\\u019.-+eEtfn \x00\x80\xc3\xa9\xed\xa0\xf4";
    let mut state = 12_345_u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    };
    let mut all: Vec<Vec<u8>> = seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect();
    for round in 0..6_000 {
        let mut document = all[round % seeds.len()].clone();
        for _ in 0..=random(2) {
            let at = random(document.len() + 1).min(document.len().saturating_sub(1));
            match random(3) {
                0 if !document.is_empty() => document[at] = alphabet[random(alphabet.len())],
                1 if !document.is_empty() => {
                    document.remove(at);
                }
                _ => document.insert(at, alphabet[random(alphabet.len())]),
            }
        }
        all.push(document);
    }
    all
}

#[test]
fn the_walker_accepts_the_same_documents_as_serde_json() {
    let mut tree = Tree::new();
    for pointer in [
        &["a"][..],
        &["a", "2"],
        &["b", "a"],
        &["b", "a", "b"],
        &["c"],
        &["6", "0", "a"],
        &[],
    ] {
        let tokens: Vec<String> = pointer.iter().map(|&token| token.to_owned()).collect();
        tree.add(&tokens, true);
    }
    let (mut right, mut wrong) = (0, 0);
    for document in documents() {
        let ours = walked(&tree, &document, usize::MAX);
        // Only prony rejects duplicate members; only serde_json rejects a number that no float can hold.
        if ours == Err(Fault::Twice) {
            continue;
        }
        let theirs = serde_json::from_slice::<serde_json::Value>(&document);
        let shown = String::from_utf8_lossy(&document);
        assert_eq!(
            ours.is_ok(),
            theirs.is_ok(),
            "{shown}: {ours:?}, serde_json {theirs:?}"
        );
        for length in [1, 2, 3, 7] {
            assert_eq!(
                walked(&tree, &document, length).is_ok(),
                ours.is_ok(),
                "{shown}, in pieces of {length}"
            );
            if ours.is_ok() {
                assert_eq!(
                    walked(&tree, &document, length),
                    ours,
                    "{shown}, in pieces of {length}"
                );
            }
        }
        *(if ours.is_ok() { &mut right } else { &mut wrong }) += 1;
    }
    assert!(right > 500 && wrong > 500, "{right} {wrong}");
}

#[test]
fn numbers_are_equal_by_value() {
    for (left, right, are_equal) in [
        ("1", "1.0", true),
        ("1", "1e0", true),
        ("100", "1E2", true),
        ("0.01", "1e-2", true),
        ("-0", "0", true),
        ("0.0e5", "0", true),
        ("-1", "1", false),
        ("12", "1.2", false),
        (
            "123456789012345678901234567890",
            "123456789012345678901234567891",
            false,
        ),
        (
            "123456789012345678901234567890",
            "1.2345678901234567890123456789e29",
            true,
        ),
        ("1e400", "10e399", true),
        ("1e400", "1e401", false),
    ] {
        assert_eq!(
            equal::numbers(left.as_bytes(), right.as_bytes()),
            are_equal,
            "{left} {right}"
        );
    }
}

/// A document that was accepted is recognized by its bytes; one that only starts like it is parsed.
#[test]
fn a_right_document_is_known_again_and_no_other_is_taken_for_it() {
    let expectation = Expectation {
        json: vec![rule("/id=7"), rule("!/error")],
        ..Expectation::default()
    };
    let compiled = expectation.compile().expect("good rules");
    let mut memory = Memory::default();
    let mut walk = JsonWalk::default();
    let mut judge = |pieces: &[&str]| {
        let headers: &[(&[u8], &[u8])] = &[(b"Content-Type", b"application/json")];
        assert!(compiled.begin_json(headers, &mut walk));
        for piece in pieces {
            compiled.push_json(&mut walk, piece.as_bytes(), &mut memory, |_, _| {});
        }
        let body = pieces.concat();
        let reply = Reply {
            status: 200,
            grpc_status: None,
            headers,
            body: body.as_bytes(),
        };
        compiled
            .end_json(&mut walk, &reply, &mut memory, |_, _| {})
            .is_ok()
    };
    let right = r#"{"id":7}"#;
    for _ in 0..3 {
        assert!(judge(&[right]));
        assert!(judge(&[right, " \n"]));
        assert!(judge(&[r#"{"id":"#, "7}"]));
        assert!(judge(&["", right]));
        assert!(!judge(&[right, "x"]));
        assert!(!judge(&[r#"{"id":8}"#]));
        assert!(!judge(&[r#"{"id":7,"error":1}"#]));
        assert!(!judge(&[]));
        assert!(!judge(&[&right[..right.len() - 1]]));
    }
}
