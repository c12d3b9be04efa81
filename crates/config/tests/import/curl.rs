//! Commands of curl as drafts, one each and in files.

use super::drafts::{has_remark, operation, sent};
use prony_config::import::{Draft, from_curl};

fn drafted(lines: &[&str]) -> Draft {
    let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    from_curl(&lines).unwrap_or_else(|error| panic!("{error}"))
}

fn error_of(lines: &[&str]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    from_curl(&lines).expect_err("no draft").to_string()
}

#[test]
fn what_people_type_is_drafted() {
    for (line, request, header, body) in [
        ("curl -sS http://h/a", "GET /a", None, ""),
        ("curl -fsSL http://h/a", "GET /a", None, ""),
        ("curl -N http://h/a", "GET /a", None, ""),
        (
            "curl -u u:p http://h/a",
            "GET /a",
            Some(("authorization", "Basic dTpw")),
            "",
        ),
        (
            "curl http://u:p@h/a",
            "GET /a",
            Some(("authorization", "Basic dTpw")),
            "",
        ),
        (
            "curl --data-urlencode 'q=a b' http://h/a",
            "POST /a",
            Some(("content-type", "application/x-www-form-urlencoded")),
            "q=a+b",
        ),
        ("curl http://h/a -H 'x-foo;'", "GET /a", Some(("x-foo", "")), ""),
        ("curl http://h/a | jq .", "GET /a", None, ""),
        ("curl.exe http://h/a", "GET /a", None, ""),
        (
            "curl -A me -e http://r/ http://h/a",
            "GET /a",
            Some(("user-agent", "me")),
            "",
        ),
    ] {
        let draft = drafted(&[line]);
        let name = &draft.operations[0].name;
        let sent = sent(&draft, name);
        assert_eq!(
            (sent.line.as_str(), sent.body.as_str()),
            (request, body),
            "{line}"
        );
        if let Some((name, value)) = header {
            assert_eq!(sent.header(name), Some(value), "{line}");
        }
        assert_eq!(draft.counts().partial, 0, "{line}: {draft:?}");
    }
    let form = drafted(&["curl -F a=1 http://h/a"]);
    let sent = sent(&form, "postA");
    let kind = sent.header("content-type").expect("a type");
    assert!(kind.starts_with("multipart/form-data; boundary="), "{kind}");
    assert!(sent.body.contains("name=\"a\"\r\n\r\n1\r\n"), "{}", sent.body);
}

#[test]
fn what_is_not_taken_over_is_a_remark() {
    for (line, part, is_partial) in [
        (
            "curl -L http://h/",
            "Redirects are not followed (`-L` of curl).",
            false,
        ),
        (
            "curl -x http://p:1 --cacert c.pem http://h/",
            "only change the connection are not taken over: `-x`, `--cacert`.",
            false,
        ),
        (
            "curl --digest -u u:p http://h/",
            "Only basic authentication is supported (`--digest` of curl)",
            true,
        ),
        ("curl -u u http://h/", "The user has no password", true),
        (
            "curl -z 2026-01-01 http://h/",
            "`-z` of curl changes the request",
            true,
        ),
        (
            "curl -H 'no colon' http://h/",
            "One of the headers has no `:`",
            true,
        ),
        (
            "curl -H \"A: $TOKEN\" http://h/",
            "`$TOKEN` is filled in by a shell",
            true,
        ),
        ("curl http://h/a?b=1&c=2", "`&` is not in quotes", true),
    ] {
        let draft = drafted(&[line]);
        let made = &draft.operations[0];
        assert!(has_remark(made, part), "{line}: {made:?}");
        assert_eq!(made.is_partial, is_partial, "{line}");
    }
    assert_eq!(
        drafted(&["curl http://h/a?b=1&c=2"]).operations[0].path,
        "/a?b=1&c=2"
    );
}

#[test]
fn a_command_that_cannot_be_read_costs_only_itself() {
    let draft = drafted(&[
        "curl http://h/one",
        "curl --no-such http://h/two",
        "curl http://other/three",
        "curl -H @/no/such/file http://h/four",
        "curl http://h/five -d $'\\x00\\xff'",
        "wget http://h/six",
        "curl http://h/seven",
    ]);
    let names: Vec<&str> = draft.operations.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["getOne", "getSeven"]);
    assert_eq!(draft.summary, "2 requests from curl to http://h.");
    let reasons: Vec<String> = draft.omitted.iter().map(ToString::to_string).collect();
    for (reason, part) in reasons.iter().zip([
        "--curl number 2: left out: `--no-such` is not supported: leave it out",
        "--curl number 3: left out: it goes to http://other, the first one to http://h",
        "--curl number 4: left out: `-H`: headers in a file are not read",
        "--curl number 5: left out: a binary body, which a draft cannot contain",
        "--curl number 6: left out: it does not start with `curl`",
    ]) {
        assert!(reason.starts_with(part), "no `{part}` in {reason}");
    }
    assert_eq!(reasons.len(), 5);
    assert_eq!(
        error_of(&["curl -K f http://h/"]),
        "--curl number 1: `-K` is not supported: leave it out"
    );
    let error = error_of(&["curl -h", "curl ftp://h/"]);
    assert!(
        error.starts_with("no request that a contract can send:\n  --curl number 1: ")
            && error.contains("`ftp://h/`: give an http"),
        "{error}"
    );
}

#[test]
fn a_file_has_any_number_of_commands_each_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("calls.sh");
    let script = "#!/bin/sh\n# curl http://h/comment\ncurl -s \\\n  http://h/one | jq .\nTOKEN=x curl http://h/two && curl http://h/three; echo done\n\
                  if true; then curl --bad http://h/four; fi\ncurl http://h/five \\ \n  -d @- <<EOF\n{\"a\": 1}\nEOF\ncurl http://h/six\n  -X PUT\n";
    std::fs::write(&file, script).expect("a file");
    let file = file.to_str().expect("text");
    let draft = drafted(&[&format!("@{file}")]);
    let from: Vec<&str> = draft.operations.iter().map(|one| one.from.as_str()).collect();
    let expected = [3, 5, 5, 7, 11].map(|line| format!("{file}:{line}, sent to http://h"));
    assert_eq!(from, expected);
    assert_eq!(sent(&draft, "postFive").body, "{\"a\": 1}");
    assert_eq!(operation(&draft, "putSix").path, "/six");
    assert_eq!(
        draft.omitted[0].to_string(),
        format!("{file}:6: left out: `--bad` is not supported: leave it out")
    );
    let error = error_of(&["@/no/such/file"]);
    assert!(error.starts_with("cannot read /no/such/file: "), "{error}");
    let error = error_of(&["@/dev/null"]);
    assert!(error.contains("it is not a file"), "{error}");
}

#[test]
fn a_file_that_a_draft_cannot_contain_is_empty_in_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, content: &[u8]| {
        let file = folder.path().join(name);
        std::fs::write(&file, content).expect("a file");
        file.to_str().expect("text").to_owned()
    };
    let (text, binary) = (write("a.txt", b"hello\n"), write("a.png", b"\x89PNG\0"));
    let line = format!("curl -F t=@{text} -F b=@{binary} -F n=@/no/such http://h/form");
    let draft = drafted(&[
        &line,
        &format!("curl -d @{text} http://h/text"),
        "curl -d @- http://h/pipe",
    ]);
    let body = sent(&draft, "postForm").body;
    assert!(
        body.contains("filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nhello\n\r\n"),
        "{body}"
    );
    assert!(
        body.contains("filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\n\r\n"),
        "{body}"
    );
    let form = operation(&draft, "postForm");
    assert!(
        has_remark(
            form,
            &format!("`-F` of curl sends nothing here: cannot read the file `{binary}`: a binary body")
        ),
        "{form:?}"
    );
    assert!(
        has_remark(form, "cannot read the file `/no/such`: No such file"),
        "{form:?}"
    );
    assert_eq!(sent(&draft, "postText").body, "hello");
    assert!(!operation(&draft, "postText").is_partial);
    let pipe = operation(&draft, "postPipe");
    assert!(
        pipe.is_partial && has_remark(pipe, "the standard input is not in the command"),
        "{pipe:?}"
    );
}

#[test]
fn headers_of_a_browser_are_left_out_and_named() {
    let copied = "curl 'http://h/a' -H 'accept: */*' -H 'user-agent: Mozilla' -H 'sec-fetch-mode: cors' -H 'cookie: a=1' --compressed";
    let draft = drafted(&[copied]);
    let names: Vec<&str> = draft.operations[0]
        .headers
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(names, ["accept", "cookie"]);
    assert_eq!(
        draft.remarks,
        ["Headers that a browser sends about itself are left out: sec-fetch-mode, user-agent."]
    );
}
