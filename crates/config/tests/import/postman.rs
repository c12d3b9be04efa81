//! Collections of Postman in all their forms send what Postman sends, and say what they do not.

use super::drafts::{draft_of_json, error_of_json, has_remark, operation, sent};
use prony_config::import::{Draft, from_postman};
use serde_json::{Value, json};

const URL: &str = "http://shop.example/echo";

/// The draft of a collection with these requests, of which each has its position as its name.
fn drafted(requests: &[Value]) -> Draft {
    let items: Vec<Value> = requests
        .iter()
        .enumerate()
        .map(|(number, request)| json!({ "name": format!("r{number}"), "request": request }))
        .collect();
    draft_of_json(from_postman, &json!({ "info": { "name": "c" }, "item": items }))
}

/// The draft of a single request.
fn drafted_one(request: Value) -> Draft {
    drafted(&[request])
}

fn authorization(draft: &Draft, name: &str) -> Option<String> {
    sent(draft, name).header("authorization").map(str::to_owned)
}

#[test]
fn each_request_has_its_own_credentials_before_those_around_it() {
    let bearer = |token: &str| json!({ "type": "bearer", "bearer": [{ "key": "token", "value": token }] });
    let request = |auth: Value| json!({ "method": "GET", "url": URL, "auth": auth });
    let item = |name: &str, auth: Value| json!({ "name": name, "request": request(auth) });
    let collection = json!({ "info": {}, "auth": bearer("collection"), "item": [
        item("own", bearer("own")),
        item("none", json!({ "type": "noauth" })),
        item("inherited", Value::Null),
        item("inherited_too", json!({ "type": "inherit" })),
        { "name": "f", "auth": bearer("folder"), "item": [item("of_folder", Value::Null), { "name": "g", "item": [item("below", Value::Null)] }] },
        { "name": "free", "auth": { "type": "noauth" }, "item": [item("of_free", Value::Null)] },
        item("object", json!({ "type": "basic", "basic": { "username": "ada", "password": "pw" } })),
        item("key", json!({ "type": "apikey", "apikey": [{ "key": "key", "value": "X-Key" }, { "key": "value", "value": "K" }] })),
        item("query", json!({ "type": "apikey", "apikey": { "key": "k&y", "value": "a b", "in": "query" } })),
        item("digest", json!({ "type": "digest", "digest": [{ "key": "username", "value": "ada" }] })),
    ] });
    let draft = draft_of_json(from_postman, &collection);
    for (name, expected) in [
        ("own", Some("Bearer own")),
        ("none", None),
        ("inherited", Some("Bearer collection")),
        ("inherited_too", Some("Bearer collection")),
        ("of_folder", Some("Bearer folder")),
        ("below", Some("Bearer folder")),
        ("of_free", None),
        ("object", Some("Basic YWRhOnB3")),
        ("key", None),
        ("query", None),
        ("digest", None),
    ] {
        assert_eq!(authorization(&draft, name).as_deref(), expected, "{name}");
    }
    assert_eq!(sent(&draft, "key").header("x-key"), Some("K"));
    assert_eq!(sent(&draft, "query").line, "GET /echo?k%26y=a%20b");
    let digest = operation(&draft, "digest");
    assert!(digest.is_partial && has_remark(digest, "`digest`"), "{digest:?}");
    assert!(!operation(&draft, "own").is_partial);
}

#[test]
fn credentials_of_variables_become_placeholders() {
    let basic = json!({ "type": "basic", "basic": [{ "key": "username", "value": "ada" }, { "key": "password", "value": "{{word}}" }] });
    let draft = drafted_one(json!({ "url": URL, "auth": basic }));
    assert_eq!(operation(&draft, "r0").headers[0].1, "Basic {credentials}");
    // `ada:1`
    assert_eq!(authorization(&draft, "r0").as_deref(), Some("Basic YWRhOjE="));
    assert!(has_remark(operation(&draft, "r0"), "`ada:{{word}}`"));
    let key = json!({ "type": "apikey", "apikey": { "key": "key", "value": "{{k}}", "in": "query" } });
    let draft = drafted_one(json!({ "url": format!("{URL}?a=1"), "auth": key }));
    assert_eq!(operation(&draft, "r0").path, "/echo?a=1&key={k}");
}

#[test]
fn variables_are_filled_or_become_placeholders_wherever_they_are() {
    let raw = r#"{"name":"{{who}}","n":{{count}},"deep":{"a":{{count}}},"own":"{who}","id":"{{$guid}}","at":{{$timestamp}},"r":{{$randomInt}},"known":"{{known}}"}"#;
    let collection = json!({
        "variable": [{ "key": "known", "value": "{{inner}}!" }, { "key": "inner", "value": 7 }, { "key": "who", "value": "x", "disabled": true }],
        "item": [
            { "name": "raw", "request": { "method": "POST", "url": URL, "header": [{ "key": "X-Who", "value": "{{who}}" }],
                "body": { "mode": "raw", "raw": raw, "options": { "raw": { "language": "json" } } } } },
            { "name": "form", "request": { "method": "POST", "url": URL, "body": { "mode": "urlencoded",
                "urlencoded": [{ "key": "a b", "value": "{{who}}&" }, { "key": "no", "value": "1", "disabled": true }] } } },
            { "name": "f", "variable": [{ "key": "inner", "value": "folder" }], "item": [
                { "name": "in_folder", "request": { "url": "http://{{host}}.example/{{known}}/{{who}}?q={{who}}" } }] },
            { "name": "page", "request": { "method": "POST", "url": URL, "body": { "mode": "raw", "raw": "{{#each a}}{{{b}}}{{/each}}" } } },
        ]
    });
    let draft = draft_of_json(from_postman, &collection);
    let body: Value = serde_json::from_str(&sent(&draft, "raw").body).expect("JSON");
    let expected = json!({ "name": "1", "n": 1, "deep": { "a": 1 }, "own": "{who}", "id": "00000000-0000-4000-8000-000000000001",
        "at": 1_767_225_600, "r": 1, "known": "7!" });
    assert_eq!(body, expected);
    let raw = operation(&draft, "raw");
    for part in [
        "`{{who}}` has no value",
        "`{{count}}` has no value",
        "`{{$guid}}`",
    ] {
        assert_eq!(
            raw.remarks.iter().filter(|remark| remark.contains(part)).count(),
            1,
            "{raw:?}"
        );
    }
    assert_eq!(raw.with["who_2"], "1", "`{{who}}` of the body is text: {raw:?}");
    assert_eq!(sent(&draft, "form").body, "a+b=1%26");
    let folder = sent(&draft, "in_folder");
    assert_eq!(folder.line, "GET /folder!/1?q=1");
    assert_eq!(operation(&draft, "in_folder").with.len(), 1);
    assert_eq!(sent(&draft, "page").body, "{{#each a}}{1}{{/each}}");
}

#[test]
fn a_url_is_read_as_a_text_or_in_parts() {
    let parts = |more: Value| {
        let mut url =
            json!({ "protocol": "http", "host": ["shop", "example"], "path": ["u", ":id", ":idx", ":none"] });
        url.as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        json!({ "url": url })
    };
    let values = json!([{ "key": "id", "value": "5" }, { "id": "idx", "value": "a/b?c" }]);
    let draft = drafted(&[
        parts(json!({ "variable": values })),
        parts(
            json!({ "port": "8080", "query": [{ "key": "a", "value": "1" }, { "key": "b", "value": "2", "disabled": true },
            { "key": "c", "value": null }, { "key": "d", "value": "x y#z" }], "raw": "http://shop.example/other?b=2" }),
        ),
        parts(json!({ "raw": "http://shop.example/u?x=1#top", "path": "u/v", "query": null })),
        json!({ "url": { "raw": "{{base}}/items/:id?x=:id", "variable": [{ "key": "id", "value": "7" }], "query": [] } }),
        json!({ "url": { "raw": "shop.example/a/:id.json/:id", "variable": [{ "key": "id", "value": null }] } }),
        json!({ "url": { "host": ["{{base}}"], "path": ["a", { "type": "string", "value": "b" }, ""] } }),
        json!({ "url": { "host": "shop.example", "path": [] } }),
        json!("http://shop.example/text"),
    ]);
    for (name, line) in [
        ("r0", "GET /u/5/a/b%3Fc/:none"),
        ("r1", "GET /u/:id/:idx/:none?a=1&c&d=x%20y%23z"),
        ("r2", "GET /u/v?x=1"),
        ("r3", "GET /items/7"),
        ("r4", "GET /a/:id.json/1"),
        ("r5", "GET /a/b/"),
        ("r6", "GET /"),
        ("r7", "GET /text"),
    ] {
        assert_eq!(sent(&draft, name).line, line, "{name}");
    }
    assert!(has_remark(
        operation(&draft, "r4"),
        "`:id` of the path has no value"
    ));
    assert!(
        draft
            .remarks
            .iter()
            .any(|remark| remark.contains("go to 3 servers")
                && remark.contains("{{base}} (2)")
                && remark.contains("shop.example:8080 (1)")),
        "{:?}",
        draft.remarks
    );
}

#[test]
fn bodies_of_every_mode_are_sent_or_named() {
    let body = |body: Value| json!({ "method": "POST", "url": URL, "body": body });
    let field = |key: &str, value: &str| json!({ "key": key, "value": value, "type": "text" });
    let draft = drafted(&[
        body(json!({ "mode": "formdata", "formdata": [] })),
        body(
            json!({ "mode": "formdata", "formdata": [field("a", "1"), { "key": "off", "value": "1", "disabled": true }, field("b\"", "x\ny")] }),
        ),
        body(
            json!({ "mode": "formdata", "formdata": [field("a", "1"), { "key": "f", "type": "file", "src": "/a.png" }] }),
        ),
        body(json!({ "mode": "file", "file": {} })),
        body(json!({ "mode": "file", "file": { "src": "/tmp/a.bin" } })),
        body(json!({ "mode": "raw", "raw": "<a/>", "options": { "raw": { "language": "xml" } } })),
        body(json!({ "mode": "raw", "raw": "" })),
        body(json!({ "mode": "raw", "raw": "x", "disabled": true })),
        body(json!({ "mode": "smoke", "smoke": "x" })),
        body(Value::Null),
        body(json!({ "mode": "urlencoded", "urlencoded": "a=1&b=2" })),
    ]);
    for (name, kind) in [
        ("r0", None),
        ("r3", None),
        ("r6", None),
        ("r7", None),
        ("r9", None),
    ] {
        let sent = sent(&draft, name);
        assert_eq!(
            (sent.body.as_str(), sent.header("content-type")),
            ("", kind),
            "{name}"
        );
        assert!(!operation(&draft, name).is_partial, "{name}");
    }
    let form = sent(&draft, "r1");
    let kind = form.header("content-type").expect("a type");
    let boundary = kind
        .strip_prefix("multipart/form-data; boundary=")
        .expect("a form");
    let expected = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--{boundary}\r\nContent-Disposition: form-data; \
         name=\"b%22\"\r\n\r\nx\ny\r\n--{boundary}--\r\n"
    );
    assert_eq!(form.body, expected);
    let file = operation(&draft, "r2");
    assert!(
        file.is_partial && has_remark(file, "The file of the field `f`"),
        "{file:?}"
    );
    assert!(sent(&draft, "r2").body.contains("name=\"a\""));
    assert_eq!(sent(&draft, "r5").header("content-type"), Some("application/xml"));
    assert_eq!(sent(&draft, "r10").body, "a=1&b=2");
    let reasons: Vec<String> = draft.omitted.iter().map(ToString::to_string).collect();
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert!(reasons[0].contains("source:1: left out: `r4`: its body is the file `/tmp/a.bin`"));
    assert!(reasons[1].contains("`r8`: its body is of mode `smoke`"));
    let counts = draft.counts();
    assert_eq!((counts.drafted, counts.partial, counts.omitted), (9, 1, 2));
}

#[test]
fn a_query_of_graphql_keeps_the_text_of_its_variables() {
    let request = |graphql: &Value| json!({ "method": "POST", "url": URL, "body": { "mode": "graphql", "graphql": graphql } });
    let draft = drafted(&[
        request(&json!({ "query": "{ a(b: \"{{x}}\") }", "variables": "{\"n\": {{n}}}" })),
        request(&json!({ "query": "{a}", "variables": "", "operationName": "o" })),
        request(&json!({ "query": "{a}", "variables": { "n": 1 } })),
    ]);
    for (name, body) in [
        ("r0", r#"{"query":"{ a(b: \"1\") }","variables":{"n": 1}}"#),
        ("r1", r#"{"operationName":"o","query":"{a}","variables":{}}"#),
        ("r2", r#"{"query":"{a}","variables":{"n":1}}"#),
    ] {
        assert_eq!(sent(&draft, name).body, body, "{name}");
    }
    assert!(has_remark(operation(&draft, "r0"), "`{{n}}` has no value"));
}

#[test]
fn headers_are_a_list_or_lines() {
    let draft = drafted(&[
        json!({ "url": URL, "header": [{ "key": "A", "value": "1" }, { "key": "B", "value": "2", "disabled": true }, { "key": "C", "value": null },
            { "key": "", "value": "3" }, { "key": "{{d}}", "value": "4" }, { "key": "User-Agent", "value": "mine" }] }),
        json!({ "url": URL, "header": "A: 1\r\nB: x:y\n" }),
        json!({ "url": URL, "header": null, "method": "post" }),
    ]);
    let headers = |name: &str| -> Vec<String> {
        sent(&draft, name)
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect()
    };
    assert_eq!(headers("r0"), ["A: 1", "C: ", "User-Agent: mine"]);
    assert!(has_remark(
        operation(&draft, "r0"),
        "The header `{{d}}` is not sent"
    ));
    assert_eq!(headers("r1"), ["A: 1", "B: x:y"]);
    assert!(headers("r2").is_empty());
    assert_eq!(sent(&draft, "r2").line, "POST /echo");
}

#[test]
fn scripts_are_named_where_they_are() {
    let event = |listen: &str, exec: Value| json!({ "listen": listen, "script": { "exec": exec } });
    let collection = json!({
        "event": [event("prerequest", json!(["", " "])), event("test", json!("pm.test()"))],
        "item": [{ "name": "f", "event": [event("prerequest", json!(["a()"]))], "item": [
            { "name": "one", "event": [event("prerequest", json!(["a()"])), event("test", json!(["b()"]))], "request": URL },
            { "name": "two", "event": [event("test", json!([]))], "request": URL, "protocolProfileBehavior": { "disableBodyPruning": true } },
        ] }]
    });
    let draft = draft_of_json(from_postman, &collection);
    let one = operation(&draft, "one");
    assert!(has_remark(
        one,
        "The pre-request script of this request is not run"
    ));
    assert!(has_remark(one, "The test script of this request is not run"));
    assert!(!operation(&draft, "two").is_partial);
    let remarks = draft.remarks.join("\n");
    assert!(remarks.contains("the test script of the collection"), "{remarks}");
    assert!(
        remarks.contains("the pre-request script of the folder `f`"),
        "{remarks}"
    );
    assert_eq!(draft.remarks.len(), 2);
}

#[test]
fn an_item_that_cannot_be_read_costs_only_itself() {
    let items = json!([
        {}, null, { "name": "empty", "item": [] }, { "name": "no_url", "request": {} }, { "name": "null", "request": null },
        { "name": "blank", "request": { "url": { "raw": "" } } }, { "name": "ftp", "request": "ftp://a/" },
        { "name": "port", "request": "http://a:99999/" }, { "name": "socket", "request": "wss://a/chat" },
        { "name": "method", "request": { "method": "{{m}}", "url": URL } }, { "name": "good", "request": URL }
    ]);
    let draft = draft_of_json(from_postman, &json!({ "item": items }));
    assert_eq!(draft.operations.len(), 1);
    let reasons: Vec<&str> = draft.omitted.iter().map(|one| one.reason.as_str()).collect();
    for (reason, part) in reasons.iter().zip([
        "neither a folder",
        "neither a folder",
        "`no_url`: it has no `url`",
        "neither a folder",
        "`blank`: it has no `url`",
        "`ftp`: `ftp://a/`: give an http",
        "`port`: `http://a:99999/` is not a URL",
        "`socket`: a WebSocket",
        "`method`: its method is a variable",
    ]) {
        assert!(reason.contains(part), "no `{part}` in {reason}");
    }
    assert_eq!(reasons.len(), 9);
    let error = error_of_json(
        from_postman,
        &json!({ "item": [{}, { "name": "a", "request": "ftp://a/" }] }),
    );
    assert!(
        error.contains("no request that a contract can send:") && error.contains("source:1: `a`: `ftp://a/`"),
        "{error}"
    );
    let error = error_of_json(from_postman, &json!({ "item": [] }));
    assert!(
        error.ends_with("source:1: the collection has no request"),
        "{error}"
    );
}

#[test]
fn what_the_api_returns_is_a_collection_and_other_files_are_named() {
    let collection = json!({ "info": { "name": "mine" }, "item": [{ "name": "a", "request": URL }] });
    let draft = draft_of_json(from_postman, &json!({ "collection": collection }));
    assert_eq!((draft.title.as_str(), draft.operations.len()), ("mine", 1));
    for (file, part) in [
        (
            json!({ "id": "1", "name": "a", "order": [], "requests": [] }),
            "version 1",
        ),
        (json!({ "name": "local", "values": [] }), "an environment"),
        (json!({ "version": 1, "collections": [] }), "a dump"),
        (json!({ "log": { "entries": [] } }), "give it with --har"),
        (json!({ "openapi": "3.1.0" }), "give it with --openapi"),
        (json!([]), "not a Postman collection"),
    ] {
        let error = error_of_json(from_postman, &file);
        assert!(error.contains("source:1: ") && error.contains(part), "{error}");
    }
}

#[test]
fn a_saved_reply_is_expected_and_one_to_another_request_is_named() {
    let reply = |code: Value, original: Value| json!({ "code": code, "originalRequest": original, "body": "{\"a\":1}", "header": [{ "key": "content-type", "value": "application/json" }] });
    let request =
        json!({ "method": "GET", "url": { "raw": URL, "host": ["shop", "example"], "path": ["echo"] } });
    let item = |name: &str, replies: Value| json!({ "name": name, "request": request, "response": replies });
    let draft = draft_of_json(
        from_postman,
        &json!({ "item": [
            item("same", json!([reply(json!(404), Value::Null), reply(json!(200), request.clone())])),
            item("other", json!([reply(json!(200), json!({ "method": "GET", "url": { "raw": "http://shop.example/x", "host": [] } }))])),
            item("none", json!([{ "name": "broken" }, reply(json!(0), Value::Null)])),
            item("null", Value::Null),
        ] }),
    );
    let same = operation(&draft, "same");
    assert_eq!(same.expect.status, [200]);
    assert!(same.remarks.is_empty(), "{same:?}");
    assert!(has_remark(operation(&draft, "other"), "one to another request"));
    for name in ["none", "null"] {
        assert!(has_remark(operation(&draft, name), "200 is a guess"), "{name}");
    }
}
