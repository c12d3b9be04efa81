#![expect(clippy::too_many_lines, reason = "a table of mutants")]

use crate::toy::{Call, ScriptedReply};
use crate::{answers, right, try_all};
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
    try_all(
        "snoop",
        right::snoop,
        vec![
            answers(
                "values bare",
                "body: not escaped for HTML",
                lines(|name, value| format!("HEADER: {} = {value}", name.to_lowercase())),
            ),
            answers(
                "ampersands bare",
                "body: not escaped for HTML",
                lines(|name, value| {
                    let value = value.replace('<', "&lt;").replace('>', "&gt;");
                    format!("HEADER: {} = {value}", right::escaped(&name.to_lowercase()))
                }),
            ),
            answers(
                "names bare",
                "x-a&b",
                lines(|name, value| format!("HEADER: {} = {}", name.to_lowercase(), right::escaped(value))),
            ),
            answers(
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
            answers(
                "names as they came",
                "body: no line `HEADER: accept",
                lines(|name, value| format!("HEADER: {} = {}", right::escaped(name), right::escaped(value))),
            ),
            answers(
                "a colon instead",
                "body: no line `HEADER: accept",
                page(|_, text| text.replace(" = ", ": ")),
            ),
            answers(
                "no Host",
                "a body with `HEADER: host = ` in it",
                page(|_, text| {
                    text.lines()
                        .filter(|line| !line.contains("HEADER: host"))
                        .collect::<Vec<_>>()
                        .join("\n")
                }),
            ),
            answers(
                "one of two",
                "a repeated header",
                page(|_, text| text.replace("HEADER: x-twice = one\n", "")),
            ),
            answers(
                "cookies left out",
                "body: no line `HEADER: cookie",
                page(|_, text| {
                    text.lines()
                        .filter(|line| !line.contains("HEADER: cookie"))
                        .collect::<Vec<_>>()
                        .join("\n")
                }),
            ),
            answers(
                "cut at a semicolon",
                "body: no line",
                page(|_, text| {
                    text.lines()
                        .map(|line| line.split("; theme").next().unwrap_or_default())
                        .collect::<Vec<_>>()
                        .join("\n")
                }),
            ),
            answers(
                "cut after 64 letters",
                "body: no line",
                page(|_, text| {
                    text.lines()
                        .map(|line| line.chars().take(64).collect::<String>())
                        .collect::<Vec<_>>()
                        .join("\n")
                }),
            ),
            answers(
                "percent signs decoded",
                "body: no line `HEADER: x-percent",
                page(|_, text| text.replace("%3C", "<")),
            ),
            answers(
                "no charset",
                "header content-type: expected text/html; charset=utf-8",
                |_, answer| {
                    if answer.status == 200 {
                        answer.set("Content-Type", "text/html");
                    }
                },
            ),
            answers("plain text", "got text/plain", |_, answer| {
                if answer.status == 200 {
                    answer.set("Content-Type", "text/plain; charset=utf-8");
                }
            }),
            answers(
                "no pre",
                "a body with `<pre>` in it",
                page(|_, text| text.replace("<pre>", "<p>")),
            ),
            answers("the first page for all", "body: no line", move |_, answer| {
                if answer.status == 200 {
                    let mut first = first_page.lock().expect("no panic");
                    answer.body = first.get_or_insert_with(|| answer.body.clone()).clone();
                }
            }),
            answers(
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
            answers(
                "compressed unasked",
                "header content-encoding: expected no such header",
                |_, answer| {
                    answer.set("Content-Encoding", "gzip");
                },
            ),
        ],
    );
}
