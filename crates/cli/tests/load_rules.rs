//! Rules for replies: `--expect-json`, `--expect-body` and `--expect-status`.

use crate::common::{assert_refused, json_of, prony, serve, stderr_of};
use serde_json::Value;

/// A JSON reply.
fn json(status: u16, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// A server of tools (JSON-RPC) that knows only `echo`. As the protocol requires, it reports errors in replies of status 200.
fn tools() -> String {
    serve(|request| {
        let call: Value = serde_json::from_str(&request.body).ok()?;
        let (id, tool) = (&call["id"], &call["params"]["name"]);
        let (text, is_error) = match tool.as_str() {
            Some("echo") => ("hello", false),
            _ => ("unknown tool", true),
        };
        Some(json(
            200,
            &format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}],"isError":{is_error}}}}}"#
            ),
        ))
    })
}

const RULES: [&str; 6] = [
    "--expect-json",
    "/id={id}",
    "--expect-json",
    "!/error",
    "--expect-json",
    "/result/isError!=true",
];

fn called(tool: &str, rules: &[&str]) -> (Value, String) {
    let url = tools();
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":{{id:counter(1)}},"method":"tools/call","params":{{"name":"{tool}","arguments":{{}}}}}}"#
    );
    let fixed = [
        "load", &url, "-X", "POST", "--body", &body, "-n", "200", "-c", "4", "--json",
    ];
    let output = prony(&[fixed.as_slice(), rules].concat());
    (json_of(&output), stderr_of(&output))
}

#[test]
fn an_error_inside_a_200_is_an_error_by_rule() {
    let (blind, _) = called("none", &[]);
    assert_eq!(blind["outcomes"]["valid"], 200, "{blind}");
    let (found, said) = called("none", &RULES);
    assert_eq!(
        (&found["outcomes"]["valid"], &found["outcomes"]["unexpected"]),
        (&0.into(), &200.into()),
        "{found}"
    );
    let shown = found.to_string() + &said;
    assert!(shown.contains("JSON rule `/result/isError!=true`"), "{shown}");
    let (right, said) = called("echo", &RULES);
    assert_eq!(right["outcomes"]["valid"], 200, "{right} {said}");
}

#[test]
fn bodies_and_statuses_have_rules_of_their_own() {
    let url = serve(|request| {
        let status = if request.head.contains("/missing") {
            404
        } else {
            200
        };
        Some(json(status, r#"{"n": 12}"#))
    });
    let valid = |path: &str, rules: &[&str]| {
        let url = format!("{url}{path}");
        let fixed = ["load", &url, "-n", "20", "-c", "2", "--json"];
        let output = prony(&[fixed.as_slice(), rules].concat());
        json_of(&output)["outcomes"]["valid"].as_u64().expect("a count")
    };
    for (path, rules, count) in [
        ("/", &["--expect-body", r#""n": 1\d"#][..], 20),
        ("/", &["--expect-body", "^n"], 0),
        ("/missing", &[], 0),
        ("/missing", &["--expect-status", "404"], 20),
        (
            "/missing",
            &["--expect-status", "200-299,400-404", "--expect-json", "/n=12.0"],
            20,
        ),
        ("/", &["--expect-status", "404"], 0),
    ] {
        assert_eq!(valid(path, rules), count, "{path} {rules:?}");
    }
}

/// Each step of the sequence is valid by itself; the rule makes the second one invalid.
#[test]
fn the_rules_of_the_load_apply_to_each_step_of_a_sequence() {
    const STEPS: &str = r#"
[[step]]
http = "POST /echo"
json = { id = 1, params = { name = "echo" } }

[[step]]
http = "POST /other"
json = { id = 2, params = { name = "other" } }
"#;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tools.toml");
    std::fs::write(&path, STEPS).expect("a sequence");
    let path = path.to_str().expect("text");
    let url = tools();
    let load = |rules: &[&str]| {
        let fixed = ["load", &url, "--sequence", path, "-n", "20", "-c", "2", "--json"];
        prony(&[fixed.as_slice(), rules].concat())
    };
    for (rules, valid) in [
        (&[][..], 20),
        (&["--expect-json", "/result/isError!=true"], 10),
        (&["--expect-body", "hello|unknown"], 20),
        (&["--expect-body", "hello"], 10),
        (&["--expect-status", "200,404"], 20),
        (&["--expect-status", "404"], 0),
    ] {
        let output = load(rules);
        let recording = json_of(&output);
        assert_eq!(recording["outcomes"]["valid"], valid, "{rules:?}: {recording}");
    }
    let refused = load(&["--expect-json", "/id={id:counter(1)}"]);
    assert_refused(&refused, "the same for each step");
}

#[test]
fn rules_that_cannot_be_used_are_refused_with_what_to_use() {
    for (arguments, part) in [
        (
            &["http://127.0.0.1:1/", "--expect-json", "id=1"][..],
            "must begin with a JSON pointer",
        ),
        (
            &["http://127.0.0.1:1/", "--expect-json", "/a~("],
            "not a regular expression",
        ),
        (
            &["http://127.0.0.1:1/", "--expect-body", "("],
            "not a regular expression",
        ),
        (
            &["http://127.0.0.1:1/", "--expect-status", "2xx"],
            "not a list of statuses",
        ),
        (
            &["http://127.0.0.1:1/", "--events", "3", "--expect-json", "/a"],
            "--expect-event RULE",
        ),
        (
            &["ws://127.0.0.1:1/", "--message", "x", "--expect-body", "x"],
            "must come back equal",
        ),
        (
            &["http://127.0.0.1:1", "--llm", "--expect-status", "200"],
            "--objective",
        ),
        (
            &[
                "http://127.0.0.1:1",
                "--grpc",
                "-X",
                "a.B/c",
                "--expect-json",
                "/a",
            ],
            "--expect with the message as JSON",
        ),
    ] {
        let output = prony(&[&["load"], arguments].concat());
        assert_refused(&output, part);
    }
}
