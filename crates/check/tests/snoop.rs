#![expect(clippy::too_many_lines, reason = "a table of mutants")]

use crate::toy::{Call, ScriptedReply};
use crate::{assert_mutants_rejected, right, wrong_reply};
use std::sync::Mutex;

/// Changes the page.
fn page(
    change: impl Fn(&Call, String) -> String + Send + Sync + 'static,
) -> impl Fn(&Call, &mut ScriptedReply) + Send + Sync {
    move |call, answer| {
        if answer.status == 200 {
            answer.body = change(call, answer.text()).into_bytes();
        }
    }
}

/// Builds the page anew with another line for each header.
fn lines(
    line: impl Fn(&str, &str) -> String + Send + Sync + 'static,
) -> impl Fn(&Call, &mut ScriptedReply) + Send + Sync {
    page(move |call, _| {
        let lines: Vec<String> = call
            .headers
            .iter()
            .map(|(name, value)| line(name, &String::from_utf8_lossy(value)))
            .collect();
        format!("<pre>\n{}\n</pre>", lines.join("\n"))
    })
}

#[test]
fn every_wrong_snoop_is_rejected() {
    let first_page: Mutex<Option<Vec<u8>>> = Mutex::new(None);
    assert_mutants_rejected(
        "snoop",
        right::snoop,
        vec![
            wrong_reply(
                "values bare",
                "body: not escaped for HTML",
                lines(|name, value| format!("HEADER: {} = {value}", name.to_lowercase())),
            ),
            wrong_reply(
                "ampersands bare",
                "body: not escaped for HTML",
                lines(|name, value| {
                    let value = value.replace('<', "&lt;").replace('>', "&gt;");
                    format!("HEADER: {} = {value}", right::escaped(&name.to_lowercase()))
                }),
            ),
            wrong_reply(
                "names bare",
                "x-a&b",
                lines(|name, value| format!("HEADER: {} = {}", name.to_lowercase(), right::escaped(value))),
            ),
            wrong_reply(
                "escaped twice",
                "values are escaped: GET /: body: no line",
                lines(|name, value| {
                    format!(
                        "HEADER: {} = {}",
                        name.to_lowercase(),
                        right::escaped(&right::escaped(value))
                    )
                }),
            ),
            wrong_reply(
                "names as they came",
                "body: no line `HEADER: accept",
                lines(|name, value| format!("HEADER: {} = {}", right::escaped(name), right::escaped(value))),
            ),
            wrong_reply(
                "a colon instead",
                "body: no line `HEADER: accept",
                page(|_, text| text.replace(" = ", ": ")),
            ),
            wrong_reply(
                "no Host",
                "a body with `HEADER: host = ` in it",
                page(|_, text| {
                    text.lines()
                        .filter(|line| !line.contains("HEADER: host"))
                        .collect::<Vec<_>>()
                        .join("\n")
                }),
            ),
            wrong_reply(
                "one of two",
                "a repeated header",
                page(|_, text| text.replace("HEADER: x-twice = one\n", "")),
            ),
            wrong_reply(
                "cookies left out",
                "body: no line `HEADER: cookie",
                page(|_, text| {
                    text.lines()
                        .filter(|line| !line.contains("HEADER: cookie"))
                        .collect::<Vec<_>>()
                        .join("\n")
                }),
            ),
            wrong_reply(
                "cut at a semicolon",
                "body: no line",
                page(|_, text| {
                    text.lines()
                        .map(|line| line.split("; theme").next().unwrap_or_default())
                        .collect::<Vec<_>>()
                        .join("\n")
                }),
            ),
            wrong_reply(
                "cut after 64 letters",
                "body: no line",
                page(|_, text| {
                    text.lines()
                        .map(|line| line.chars().take(64).collect::<String>())
                        .collect::<Vec<_>>()
                        .join("\n")
                }),
            ),
            wrong_reply(
                "percent signs decoded",
                "body: no line `HEADER: x-percent",
                page(|_, text| text.replace("%3C", "<")),
            ),
            wrong_reply(
                "no charset",
                "header content-type: expected text/html; charset=utf-8",
                |_, answer| {
                    if answer.status == 200 {
                        answer.set("Content-Type", "text/html");
                    }
                },
            ),
            wrong_reply("plain text", "got text/plain", |_, answer| {
                if answer.status == 200 {
                    answer.set("Content-Type", "text/plain; charset=utf-8");
                }
            }),
            wrong_reply(
                "no pre",
                "a body with `<pre>` in it",
                page(|_, text| text.replace("<pre>", "<p>")),
            ),
            wrong_reply("the first page for all", "body: no line", move |_, answer| {
                if answer.status == 200 {
                    let mut first = first_page.lock().expect("no panic");
                    answer.body = first.get_or_insert_with(|| answer.body.clone()).clone();
                }
            }),
            wrong_reply(
                "the page on any path",
                "other paths: GET /index.html: status: expected 404, got 200",
                |call, answer| {
                    if answer.status == 404 {
                        let root = Call {
                            path: "/".into(),
                            ..call.clone()
                        };
                        *answer = right::snoop(&root);
                    }
                },
            ),
            wrong_reply(
                "compressed unasked",
                "header content-encoding: expected no such header",
                |_, answer| {
                    answer.set("Content-Encoding", "gzip");
                },
            ),
        ],
    );
}
