use super::*;

fn capture(from: &str, headers: &[(&[u8], &[u8])], body: &str) -> Result<String, String> {
    capture_as(Encoding::Text, from.parse()?, headers, body)
}

fn capture_as(
    encoding: Encoding,
    from: Origin,
    headers: &[(&[u8], &[u8])],
    body: &str,
) -> Result<String, String> {
    let take = Capture {
        name: "v".to_owned(),
        slot: 1,
        from,
        encoding,
    };
    let compiled = CompiledTake::compile(&take).map_err(|error| error.to_string())?;
    let reply = Reply {
        status: 200,
        grpc_status: None,
        headers,
        body: body.as_bytes(),
    };
    let mut capture = CaptureBuffer::default();
    compiled
        .take(&reply, body.as_bytes(), &mut capture)
        .map_err(|wrong| format!("{}: {}", wrong.what, wrong.got))?;
    let mut bag = CapturedValues::default();
    capture.pass_captures(&mut bag);
    Ok(String::from_utf8_lossy(bag.get(1)).into_owned())
}

#[test]
fn a_pointer_names_a_value_of_any_kind() {
    let body =
        r#"{"a":[1,{"b/c":"x\"y","n":12345678901234567890}],"a~":true,"id":7,"o":{"k":[1, 2]},"z":null}"#;
    for (pointer, value) in [
        ("json:/a/0", "1"),
        ("json:/a/1/b~1c", "x\"y"),
        ("json:/a/1/n", "12345678901234567890"),
        ("json:/a~0", "true"),
        ("json:/id", "7"),
        ("json:/o", r#"{"k":[1,2]}"#),
        ("json:/o/k", "[1,2]"),
    ] {
        assert_eq!(capture(pointer, &[], body).as_deref(), Ok(value), "{pointer}");
    }
    for (pointer, reason) in [
        ("json:/b", "no such member"),
        ("json:/a/2", "no such member"),
        ("json:/a/x", "no such member"),
        ("json:/id/x", "no such member"),
        ("json:/z", "null"),
    ] {
        let wrong = capture(pointer, &[], body).expect_err(pointer);
        assert!(
            wrong.starts_with(&format!("captured v ({pointer}): {reason}")),
            "{wrong}"
        );
    }
    assert!(
        capture("json:/a", &[], "{\"a\":")
            .expect_err("cut")
            .contains("not JSON")
    );
}

#[test]
fn a_location_with_a_host_is_its_path() {
    for (location, path) in [
        ("http://a.example:80/items/9?x=1", "/items/9?x=1"),
        ("https://a.example", "/"),
        ("/items/9", "/items/9"),
    ] {
        let headers: [(&[u8], &[u8]); 2] = [
            (b"Location", location.as_bytes()),
            (b"Link", b"http://a.example/b"),
        ];
        assert_eq!(capture("header:location", &headers, "").as_deref(), Ok(path));
        assert_eq!(
            capture("header:link", &headers, "").as_deref(),
            Ok("http://a.example/b")
        );
    }
}

#[test]
fn headers_cookies_and_expressions_are_read() {
    let headers: [(&[u8], &[u8]); 4] = [
        (b"Location", b"/items/9"),
        (b"Set-Cookie", b"sid=abc; Path=/; HttpOnly"),
        (b"set-cookie", b"lang=en"),
        (b"Set-Cookie", b"bad value"),
    ];
    for (from, value) in [
        ("header:location", "/items/9"),
        ("cookie:sid", "abc"),
        ("cookie:lang", "en"),
        ("regex:t=([0-9]+)", "42"),
        ("regex:[0-9]+", "42"),
    ] {
        assert_eq!(capture(from, &headers, "t=42&").as_deref(), Ok(value), "{from}");
    }
    for from in ["header:x", "cookie:Sid", "regex:x+"] {
        assert!(capture(from, &headers, "t=42").is_err(), "{from}");
    }
    assert!(
        capture("header:x", &[(b"x", b"a\x01b")], "")
            .expect_err("control")
            .contains("control")
    );
    assert!(
        capture("regex:x+", &[], &"x".repeat(5000))
            .expect_err("long")
            .contains("4096")
    );
}

#[test]
fn cookies_are_kept_and_replaced_by_name() {
    let mut bag = CapturedValues::default();
    for (new, kept) in [
        ("a=1", "a=1"),
        ("a=2", "a=2"),
        ("b=1; ab=2", "a=2; b=1; ab=2"),
        ("b=3", "a=2; ab=2; b=3"),
        ("", "a=2; ab=2; b=3"),
        ("b=; c=1", "a=2; ab=2; b=; c=1"),
    ] {
        bag.set(0, new.as_bytes(), true);
        assert_eq!(String::from_utf8_lossy(bag.get(0)), kept);
    }
    bag.clear();
    assert_eq!(bag.get(0), b"");
    assert_eq!(bag.get(5), b"");
}

#[test]
fn an_invalid_origin_is_reported() {
    for (text, part) in [
        ("id", "does not say where"),
        ("json:id", "begins with `/`"),
        ("header:", "follows the colon"),
        ("xpath:/a", "json, header, cookie or regex"),
    ] {
        let wrong = text.parse::<Origin>().expect_err(text);
        assert!(wrong.contains(part), "{wrong}");
    }
    assert!(
        capture("regex:(", &[], "")
            .expect_err("not a regular expression")
            .contains("not a regular expression")
    );
}

#[test]
fn a_value_is_encoded_for_its_place() {
    let body = r#"{"t":"a \"b\"\n\u00e9/&","n":-1.5,"b":true,"z":null,"o":{"k":["x y"]},"e":""}"#;
    let headers: [(&[u8], &[u8]); 1] = [(b"x", b"say \"hi\" & go")];
    for (encoding, from, value) in [
        (Encoding::Text, "json:/o", r#"{"k":["x y"]}"#),
        (Encoding::Body, "json:/t", "a \"b\"\né/&"),
        (Encoding::Body, "json:/n", "-1.5"),
        (Encoding::Json, "json:/t", r#""a \"b\"\né/&""#),
        (Encoding::Json, "json:/n", "-1.5"),
        (Encoding::Json, "json:/b", "true"),
        (Encoding::Json, "json:/z", "null"),
        (Encoding::Json, "json:/o", r#"{"k":["x y"]}"#),
        (Encoding::Json, "json:/e", r#""""#),
        (Encoding::Json, "header:x", r#""say \"hi\" & go""#),
        (Encoding::Json, "regex:-1.5", r#""-1.5""#),
        (Encoding::JsonString, "json:/t", r#"a \"b\"\né/&"#),
        (Encoding::JsonString, "json:/n", "-1.5"),
        (Encoding::JsonString, "json:/o", r#"{\"k\":[\"x y\"]}"#),
        (Encoding::JsonString, "json:/e", ""),
        (Encoding::Path, "json:/t", "a%20%22b%22%0A%C3%A9%2F&"),
        (Encoding::Path, "json:/n", "-1.5"),
        (Encoding::Query, "json:/t", "a%20%22b%22%0A%C3%A9/%26"),
        (Encoding::Query, "header:x", "say%20%22hi%22%20%26%20go"),
    ] {
        let from: Origin = from.parse().expect("an origin");
        let told = format!("{encoding:?} of {from}");
        let captured = capture_as(encoding, from, &headers, body);
        assert_eq!(captured.as_deref(), Ok(value), "{told}");
    }
    for (encoding, pointer, reason) in [
        (Encoding::Text, "/t", "a value with a control character"),
        (Encoding::Body, "/z", "null"),
        (Encoding::JsonString, "/z", "null"),
        (Encoding::Json, "/y", "no such member"),
        (Encoding::Json, "/z/y", "no such member"),
        (Encoding::Json, "/t/y", "no such member"),
    ] {
        let wrong = capture_as(encoding, Origin::Json(pointer.to_owned()), &[], body).expect_err(pointer);
        assert!(wrong.contains(reason), "{encoding:?} of {pointer}: {wrong}");
    }
}

#[test]
fn the_length_of_a_value_is_that_before_it_is_encoded() {
    for (length, is_right) in [(LONGEST_TAKEN, true), (LONGEST_TAKEN + 1, false)] {
        let body = "/".repeat(length);
        let captured = capture_as(Encoding::Path, Origin::Regex("/+".to_owned()), &[], &body);
        assert_eq!(captured.is_ok(), is_right, "{length}");
    }
}

#[test]
fn all_cookies_are_plain_text() {
    let headers: [(&[u8], &[u8]); 1] = [(b"Set-Cookie", b"a=b/c; Path=/")];
    let captured = capture_as(Encoding::Query, Origin::Cookies, &headers, "");
    assert_eq!(captured.as_deref(), Ok("a=b/c"));
}

#[test]
fn several_values_of_a_reply_are_encoded_independently() {
    let reply = Reply {
        status: 200,
        grpc_status: None,
        headers: &[],
        body: br#"{"a":"x y","b":"\"z"}"#,
    };
    let mut buffer = CaptureBuffer::default();
    for (slot, pointer, encoding) in [
        (0, "/a", Encoding::Path),
        (1, "/b", Encoding::Json),
        (2, "/a", Encoding::Text),
    ] {
        let take = Capture {
            name: "v".to_owned(),
            slot,
            from: Origin::Json(pointer.to_owned()),
            encoding,
        };
        let compiled = CompiledTake::compile(&take).expect("valid");
        compiled.take(&reply, reply.body, &mut buffer).expect("a value");
    }
    let mut bag = CapturedValues::default();
    buffer.pass_captures(&mut bag);
    assert_eq!(
        [bag.get(0), bag.get(1), bag.get(2)],
        [&b"x%20y"[..], br#""\"z""#, b"x y"]
    );
}

#[test]
fn the_usual_encoding_is_not_written() {
    let take = Capture {
        name: "v".to_owned(),
        slot: 0,
        from: Origin::Cookies,
        encoding: Encoding::Text,
    };
    let json = serde_json::to_string(&take).expect("JSON");
    assert_eq!(json, r#"{"name":"v","slot":0,"from":"cookies"}"#);
    assert_eq!(serde_json::from_str::<Capture>(&json).expect("the same"), take);
    let json = json.replace('}', r#","encoding":"json_string"}"#);
    let read: Capture = serde_json::from_str(&json).expect("an encoding");
    assert_eq!(read.encoding, Encoding::JsonString);
}
