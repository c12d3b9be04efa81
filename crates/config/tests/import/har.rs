//! HAR files of browsers, proxies and load tools, of which most members may be missing.

use super::drafts::{draft_of, draft_of_json, error_of_json, has_remark, operation, sent};
use prony_config::import::{Draft, ExpectedBody, from_har};
use serde_json::{Value, json};

fn har(entries: &[Value]) -> Value {
    json!({ "log": { "version": "1.2", "comment": "c", "entries": entries } })
}

fn drafted(entries: &[Value]) -> Draft {
    draft_of_json(from_har, &har(entries))
}

/// A POST of data to a path, with a reply of 200.
fn post(path: &str, data: Value) -> Value {
    let url = format!("http://a.example/{path}");
    let mut entry =
        json!({ "request": { "method": "POST", "url": url, "headers": [] }, "response": { "status": 200 } });
    entry["request"]["postData"] = data;
    entry
}

fn reasons(draft: &Draft) -> Vec<String> {
    draft.omitted.iter().map(ToString::to_string).collect()
}

#[test]
fn a_request_without_a_reply_is_enough() {
    let get = |path: &str| json!({ "method": "GET", "url": format!("http://a.example/{path}") });
    let draft = drafted(&[
        json!({ "request": get("missing") }),
        json!({ "request": get("blocked"), "response": { "status": 0, "_error": "net::ERR_ABORTED" } }),
        json!({ "request": get("null"), "response": null }),
        json!({ "request": get("cached"), "response": { "status": 304 } }),
        json!({ "request": get("text"), "response": { "status": "204" } }),
        json!({ "request": get("odd"), "response": { "status": 70_000 } }),
    ]);
    for (name, part) in [
        ("getMissing", "The recording has no reply: 200 is a guess"),
        ("getBlocked", "no reply (net::ERR_ABORTED): 200 is a guess"),
        ("getNull", "200 is a guess"),
        (
            "getCached",
            "304: the browser had the reply in its cache: 200 is a guess",
        ),
        ("getOdd", "200 is a guess"),
    ] {
        let made = operation(&draft, name);
        assert!(has_remark(made, part), "{made:?}");
        assert_eq!(made.expect.status, [200], "{name}");
        assert_eq!(sent(&draft, name).body, "");
    }
    assert_eq!(operation(&draft, "getText").expect.status, [204]);
    assert!(draft.omitted.is_empty());
}

#[test]
fn bodies_are_texts_fields_or_base64() {
    let form = "multipart/form-data; boundary=----WebKitX";
    let field = |name: &str, value: &str| json!({ "name": name, "value": value });
    let draft = drafted(&[
        post(
            "text",
            json!({ "mimeType": "application/json", "text": "{\"a\":[1]}" }),
        ),
        post(
            "params",
            json!({ "mimeType": "application/x-www-form-urlencoded", "params": [field("a", "b c"), field("d", "&")] }),
        ),
        post(
            "multipart",
            json!({ "mimeType": form, "params": [field("a", "1"), { "name": "f", "fileName": "x.txt", "contentType": "text/plain", "value": "hi" },
            { "name": "g", "fileName": "y.png" }] }),
        ),
        post(
            "base64",
            json!({ "mimeType": "text/plain", "encoding": "base64", "text": "w7Y=" }),
        ),
        post(
            "binary",
            json!({ "mimeType": "image/png", "encoding": "base64", "text": "iVBORw0KGgo=" }),
        ),
        post(
            "broken",
            json!({ "mimeType": "text/plain", "encoding": "base64", "text": "%" }),
        ),
        post("lost", json!({ "mimeType": "image/png", "text": "\u{fffd}PNG" })),
        post("none", json!({ "mimeType": "", "text": "", "params": [] })),
        post("null", Value::Null),
        post(
            "latin",
            json!({ "mimeType": "text/plain; charset=ISO-8859-1", "text": "ö" }),
        ),
    ]);
    let body = |name: &str| sent(&draft, name).body;
    assert_eq!(body("postText"), "{\"a\":[1]}");
    assert_eq!(
        sent(&draft, "postText").header("content-type"),
        Some("application/json")
    );
    assert_eq!(body("postParams"), "a=b+c&d=%26");
    let multipart = sent(&draft, "postMultipart");
    assert_eq!(multipart.header("content-type"), Some(form));
    assert_eq!(
        multipart.body,
        "------WebKitX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n------WebKitX\r\nContent-Disposition: form-data; name=\"f\"; \
         filename=\"x.txt\"\r\nContent-Type: text/plain\r\n\r\nhi\r\n------WebKitX--\r\n"
    );
    let made = operation(&draft, "postMultipart");
    assert!(
        made.is_partial && has_remark(made, "The file `y.png`"),
        "{made:?}"
    );
    assert_eq!(body("postBase64"), "ö");
    assert_eq!(
        (body("postNone"), body("postNull")),
        (String::new(), String::new())
    );
    assert!(has_remark(operation(&draft, "postLatin"), "iso-8859-1"));
    let reasons = reasons(&draft).join("\n");
    for part in [
        "a binary body, which a draft cannot contain",
        "its body is not Base64",
        "whose bytes are not all in the file",
    ] {
        assert!(reasons.contains(part), "no `{part}` in {reasons}");
    }
    assert_eq!(draft.counts().omitted, 3);
}

#[test]
fn fields_of_a_form_are_sent_whatever_the_header_says() {
    let draft = drafted(&[json!({ "request": {
        "method": "post", "url": "http://a.example/odd", "headers": [{ "name": "Content-Type", "value": "plain/text" }],
        "postData": { "mimeType": "application/x-www-form-urlencoded", "params": [{ "name": "a", "value": "1" }] } } })]);
    let sent = sent(&draft, "postOdd");
    assert_eq!((sent.line.as_str(), sent.body.as_str()), ("POST /odd", "a=1"));
    assert_eq!(sent.header("content-type"), Some("plain/text"));
}

#[test]
fn what_a_recording_has_cut_is_said() {
    let sized = |path: &str, size: i64, data: Value| {
        let mut entry = post(path, data);
        entry["request"]["bodySize"] = size.into();
        entry
    };
    let file = "--X\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\n\r\n--X--\r\n";
    let mut reply = post("reply", Value::Null);
    reply["response"]["content"] = json!({ "mimeType": "text/plain", "size": 10, "text": "12345" });
    let draft = drafted(&[
        sized("cut", 9, json!({ "mimeType": "text/plain", "text": "12345" })),
        sized("whole", 5, json!({ "mimeType": "text/plain", "text": "12345" })),
        sized(
            "unknown",
            -1,
            json!({ "mimeType": "text/plain", "text": "12345" }),
        ),
        sized("gone", 9, Value::Null),
        post(
            "file",
            json!({ "mimeType": "multipart/form-data; boundary=X", "text": file }),
        ),
        reply,
    ]);
    for (name, part) in [
        ("postCut", "The recording has 5 of the 9 bytes of the body"),
        ("postGone", "The body of 9 bytes is not in the recording"),
        ("postFile", "The content of `a.png` is not in the recording"),
    ] {
        let made = operation(&draft, name);
        assert!(made.is_partial && has_remark(made, part), "{made:?}");
    }
    for name in ["postWhole", "postUnknown", "postReply"] {
        assert!(!operation(&draft, name).is_partial, "{name}");
    }
    let reply = operation(&draft, "postReply");
    assert_eq!(reply.expect.body, None);
    assert!(has_remark(reply, "5 of the 10 bytes of the reply"), "{reply:?}");
}

#[test]
fn cookies_queries_and_headers_come_from_wherever_they_are() {
    let draft = drafted(&[
        json!({ "request": { "method": "GET", "url": "https://u:p%40@a.example/one", "httpVersion": "h2", "headers": [
            { "name": ":method", "value": "GET" }, { "name": ":authority", "value": "a.example" }, { "name": "X", "value": 1 }, { "name": "Y" }, { "name": "Accept;q=1", "value": "a" }, { "name": "Z", "value": "a\nb" },
            { "name": "user-agent", "value": "b" }, { "name": "sec-fetch-mode", "value": "cors" } ],
            "queryString": [{ "name": "a", "value": "b c", "comment": "" }], "cookies": [{ "name": "c", "value": "1" }, { "name": "d", "value": "2" }] } }),
        json!({ "request": { "method": "GET", "url": "https://a.example/two?x=1#top", "queryString": [{ "name": "x", "value": "1" }],
            "headers": [{ "name": "cookie", "value": "e=3" }], "cookies": [{ "name": "c", "value": "1" }] } }),
    ]);
    let one = sent(&draft, "getOne");
    assert_eq!(one.line, "GET /one?a=b+c");
    let headers: Vec<(&str, &str)> = one
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!(
        headers,
        [
            ("Authorization", "Basic dTpwQA=="),
            ("Cookie", "c=1; d=2"),
            ("X", "1"),
            ("Y", "")
        ]
    );
    let two = sent(&draft, "getTwo");
    assert_eq!(
        (two.line.as_str(), two.header("cookie")),
        ("GET /two?x=1", Some("e=3"))
    );
    let made = operation(&draft, "getOne");
    assert!(
        has_remark(made, "The header `Accept;q=1` is not one of HTTP"),
        "{made:?}"
    );
    assert!(has_remark(made, "The header `Z` is not one of HTTP"), "{made:?}");
    let remark = "Headers that a browser sends about itself are left out: sec-fetch-mode, user-agent.";
    assert!(draft.remarks.contains(&remark.to_owned()), "{:?}", draft.remarks);
}

#[test]
fn what_is_no_request_to_a_server_is_left_out_with_its_reason() {
    let get =
        |url: &str| json!({ "request": { "method": "GET", "url": url }, "response": { "status": 200 } });
    let mut socket = get("https://a.example/live");
    socket["_webSocketMessages"] = json!([{ "type": "send", "data": "x" }]);
    let mut upgraded = get("https://a.example/up");
    upgraded["response"]["status"] = 101.into();
    let preflight = json!({ "request": { "method": "OPTIONS", "url": "https://a.example/x", "headers": [{ "name": "Access-Control-Request-Method", "value": "PUT" }] } });
    let options = json!({ "request": { "method": "OPTIONS", "url": "https://a.example/options" } });
    let long = format!("data:image/png;base64,{}", "A".repeat(40_000));
    let draft = drafted(&[
        get("data:text/plain,x"),
        get(&long),
        get("blob:https://a.example/1-2"),
        get("chrome-extension://abc/x.js"),
        get("moz-extension://abc/x.js"),
        get("wss://a.example/ws"),
        socket,
        upgraded,
        preflight,
        json!({ "request": { "method": "CONNECT", "url": "https://a.example:443" } }),
        json!({ "request": { "method": "GET" } }),
        json!({}),
        json!("x"),
        options,
        get("https://a.example/good"),
        get("https://cdn.example/1.js"),
        get("https://cdn.example/2.js"),
    ]);
    let names: Vec<&str> = draft.operations.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["optionsOptions", "getGood"]);
    let reasons = reasons(&draft);
    for (reason, part) in reasons.iter().zip([
        "a data: URL",
        "a data: URL",
        "a blob: URL",
        "a chrome-extension: URL, which is a part of the browser",
        "a moz-extension: URL",
        "a WebSocket",
        "`https://a.example/live` is a WebSocket",
        "`https://a.example/up` is a WebSocket",
        "OPTIONS is a request of the browser itself",
        "CONNECT is a request of the browser itself",
        "it has no text `request.url`",
        "it has no text `request.url`",
        "it has no text `request.url`",
        "2 request(s) to https://cdn.example: a contract has one server, here https://a.example",
    ]) {
        assert!(
            reason.contains("source:1: left out: ") && reason.contains(part),
            "no `{part}` in {reason}"
        );
    }
    assert_eq!((reasons.len(), draft.counts().omitted), (14, 15));
}

#[test]
fn requests_are_in_the_order_of_their_times_and_written_once() {
    let at = |time: &str, path: &str, status: u16| json!({ "startedDateTime": time, "request": { "method": "GET", "url": format!("http://a.example/{path}") }, "response": { "status": status } });
    let entries = [
        at("2026-01-02T10:00:02.5Z", "third", 200),
        at("2026-01-02T11:00:01+01:00", "first", 200),
        at("2026-01-02T10:00:02Z", "second", 200),
        at("2026-01-02T10:00:09Z", "first", 404),
        at("2026-01-02T10:00:10Z", "first", 200),
    ];
    let draft = drafted(&entries);
    let names: Vec<&str> = draft.operations.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["getFirst", "getSecond", "getThird"]);
    let first = operation(&draft, "getFirst");
    assert!(
        has_remark(first, "2 more time(s) in the recording, also with status 404"),
        "{first:?}"
    );
    // Without times, the order of the file is kept.
    let mut entries = entries;
    entries[1]["startedDateTime"] = Value::Null;
    let names: Vec<String> = drafted(&entries)
        .operations
        .into_iter()
        .map(|one| one.name)
        .collect();
    assert_eq!(names, ["getThird", "getFirst", "getSecond"]);
    // Requests with other credentials are others.
    let with = |token: &str| {
        let mut entry = at("", "me", 200);
        entry["request"]["headers"] = json!([{ "name": "Authorization", "value": token }]);
        entry
    };
    assert_eq!(
        drafted(&[with("Bearer a"), with("Bearer b"), with("Bearer a")])
            .operations
            .len(),
        2
    );
}

#[test]
fn a_reply_is_expected_by_its_headers_and_its_text() {
    let reply = |path: &str, response: Value| json!({ "request": { "method": "GET", "url": format!("http://a.example/{path}") }, "response": response });
    let draft = drafted(&[
        reply(
            "plain",
            json!({ "status": 200, "headers": [{ "name": "Content-Type", "value": "text/plain; charset=utf-8" }],
            "content": { "size": 2, "mimeType": "x-unknown", "text": "aGk=", "encoding": "base64" } }),
        ),
        reply(
            "empty",
            json!({ "status": 204, "headers": [{ "name": "x", "value": "y" }], "content": { "size": 0, "mimeType": "text/plain", "text": "" } }),
        ),
        reply(
            "long",
            json!({ "status": 200, "content": { "mimeType": "application/json", "text": "{\"id\":12345678901234567890123}" } }),
        ),
        reply(
            "broken",
            json!({ "status": 200, "content": { "mimeType": "application/json", "text": "{\"id\":" } }),
        ),
        reply(
            "image",
            json!({ "status": 200, "content": { "mimeType": "image/png", "text": "iVBORw0KGgo=", "encoding": "base64" } }),
        ),
    ]);
    let expect = |name: &str| operation(&draft, name).expect.clone();
    assert_eq!(expect("getPlain").body, Some(ExpectedBody::Text("hi".to_owned())));
    assert_eq!(expect("getEmpty").media_type, None);
    for (name, part) in [
        ("getLong", "a number that a contract does not keep exactly"),
        ("getBroken", "is not JSON, as its type says"),
        ("getImage", "is not text"),
    ] {
        assert_eq!(expect(name).body, None, "{name}");
        assert!(has_remark(operation(&draft, name), part), "{name}");
    }
}

#[test]
fn a_file_that_is_no_recording_is_named() {
    for (file, part) in [
        (json!({}), "not a HAR file: it has no list `log.entries`"),
        (
            json!({ "info": { "schema": "s" }, "item": [] }),
            "give it with --postman",
        ),
        (json!({ "openapi": "3.1.0" }), "give it with --openapi"),
        (har(&[]), "it has no requests"),
        (
            har(&[json!({ "request": { "method": "GET", "url": "data:,x" } })]),
            "source:1: a data: URL",
        ),
    ] {
        let error = error_of_json(from_har, &file);
        assert!(error.contains("source") && error.contains(part), "{error}");
    }
    let text = har(&[json!({ "request": { "method": "GET", "url": "http://a.example/" } })]).to_string();
    let draft = draft_of(from_har, &format!("\u{feff}{text}")).expect("a draft");
    assert_eq!(draft.operations.len(), 1);
}
