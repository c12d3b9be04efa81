#![expect(clippy::too_many_lines, reason = "a table of mutants")]

use crate::toy::{FaultMode, ScriptedReply};
use crate::{assert_mutants_rejected, right, wrong_mode, wrong_reply};

#[test]
fn every_wrong_hello_is_rejected() {
    assert_mutants_rejected(
        "hello",
        right::hello,
        vec![
            wrong_reply(
                "no type",
                "header content-type: expected text/plain",
                |_, answer| answer.remove("Content-Type"),
            ),
            wrong_reply("a type of HTML", "got text/html", |call, answer| {
                if call.path == "/api/test" {
                    answer.set("Content-Type", "text/html");
                }
            }),
            wrong_reply(
                "another charset",
                "got text/plain; charset=iso-8859-1",
                |call, answer| {
                    if call.path == "/api/test" {
                        answer.set("Content-Type", "text/plain; charset=iso-8859-1");
                    }
                },
            ),
            wrong_reply("a newline", "body: an extra newline at the end", |_, answer| {
                answer.body.push(b'\n');
            }),
            wrong_reply("a byte less", "ends after 12 of 13 bytes", |_, answer| {
                answer.body.truncate(12);
            }),
            wrong_reply("small letters", "upper and lower case differ", |_, answer| {
                answer.body.make_ascii_lowercase();
            }),
            wrong_reply("another comma", "body: differs at byte 5", |_, answer| {
                answer.body = answer.text().replace(',', " ").into_bytes();
            }),
            wrong_reply("no body", "body: empty", |_, answer| answer.body.clear()),
            wrong_reply("201", "status: expected 200, got 201", |_, answer| {
                if answer.status == 200 {
                    answer.status = 201;
                }
            }),
            wrong_reply(
                "200 on any path",
                "unknown path: GET /no/such/path: status: expected 404, got 200",
                |_, answer| {
                    if answer.status == 404 {
                        *answer = ScriptedReply::of(200, "text/plain", "Hello, World!");
                    }
                },
            ),
            wrong_reply(
                "200 on any method",
                "wrong method: DELETE /api/test: status: expected 404 or 405, got 200",
                |_, answer| {
                    if answer.status == 405 {
                        *answer = ScriptedReply::of(200, "text/plain", "Hello, World!");
                    }
                },
            ),
            wrong_reply("500 on an unknown path", "got 500", |_, answer| {
                if answer.status == 404 {
                    answer.status = 500;
                }
            }),
            wrong_reply(
                "404 with a query",
                "query string: GET /api/test?page",
                |call, answer| {
                    if call.target.contains('?') {
                        *answer = ScriptedReply::new(404);
                    }
                },
            ),
            wrong_reply(
                "knows no percent signs",
                "percent-encoded path: GET /ap%69/test: status",
                |call, answer| {
                    if call.target.contains('%') && !call.target.contains('?') {
                        *answer = ScriptedReply::new(404);
                    }
                },
            ),
            wrong_reply(
                "any case of letters",
                "GET /API/TEST: status: expected 404, got 200",
                |call, answer| {
                    if call.path.eq_ignore_ascii_case("/api/test") {
                        *answer = ScriptedReply::of(200, "text/plain", "Hello, World!");
                    }
                },
            ),
            wrong_reply(
                "a beginning of the path",
                "GET /api/testing: status: expected 404, got 200",
                |call, answer| {
                    if call.path.starts_with("/api/test") && call.method == "GET" {
                        *answer = ScriptedReply::of(200, "text/plain", "Hello, World!");
                    }
                },
            ),
            wrong_reply(
                "64 headers only",
                "100 headers: GET /api/test: status: expected 200, got 400",
                |call, answer| {
                    if call.headers.len() > 64 {
                        *answer = ScriptedReply::new(400);
                    }
                },
            ),
            wrong_reply(
                "a body on HEAD",
                "more bytes came than the reply may have",
                |call, answer| {
                    if call.method == "HEAD" {
                        answer.raw =
                            Some(b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nHello, World!".to_vec());
                    }
                },
            ),
            wrong_reply(
                "the second on a connection",
                "keep-alive: GET /api/test: body",
                |call, answer| {
                    if call.on_connection == 2 {
                        answer.body = b"Hello, Again!".to_vec();
                    }
                },
            ),
            wrong_reply(
                "right at first",
                "many connections: GET /api/test: status: expected 200, got 503",
                |call, answer| {
                    if call.number > 150 {
                        *answer = ScriptedReply::new(503);
                    }
                },
            ),
            wrong_reply(
                "wrong after the load",
                "GET /api/test: body: differs at byte 8",
                |call, answer| {
                    if call.number > 290 {
                        answer.body = b"Hello, Wurld!".to_vec();
                    }
                },
            ),
            wrong_reply(
                "a wrong size of a chunk",
                "a chunk is longer than its size says",
                |_, answer| {
                    let head =
                        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n";
                    answer.raw = Some(format!("{head}8\r\nHello, World!\r\n0\r\n\r\n").into_bytes());
                },
            ),
            wrong_reply(
                "a chunk that is none",
                "a chunk size is not a hexadecimal number",
                |_, answer| {
                    let head =
                        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n";
                    answer.raw = Some(format!("{head}Hello, World!\r\n0\r\n\r\n").into_bytes());
                },
            ),
            wrong_reply(
                "too long a Content-Length",
                "the body ended after 13 of its Content-Length of 20 bytes",
                |_, answer| {
                    answer.set("Content-Length", "20");
                    answer.hang_up = true;
                },
            ),
            wrong_reply(
                "too short a Content-Length",
                "more bytes came than the reply may have",
                |_, answer| {
                    if answer.status == 200 {
                        answer.set("Content-Length", "12");
                    }
                },
            ),
            wrong_reply(
                "two Content-Lengths",
                "two different values of Content-Length",
                |_, answer| {
                    answer.headers.push(("Content-Length".into(), b"13".to_vec()));
                    answer.headers.push(("Content-Length".into(), b"14".to_vec()));
                },
            ),
            wrong_reply("no HTTP", "the reply does not begin with HTTP/1.", |_, answer| {
                answer.raw = Some(b"HELO Hello, World!\r\n\r\n".to_vec());
            }),
            wrong_reply(
                "no reply",
                "closed the connection without a reply",
                |_, answer| {
                    answer.raw = Some(Vec::new());
                    answer.hang_up = true;
                },
            ),
            wrong_mode(
                "reads once",
                "single bytes: GET /api/test: status: expected 200, got 400",
                FaultMode::ReadsOnce,
            ),
            wrong_mode(
                "leaves bodies",
                "wrong method: GET /api/test",
                FaultMode::LeavesBodies,
            ),
            wrong_mode(
                "forgets the second of a packet",
                "one packet: GET /api/test: reply",
                FaultMode::ForgetsTheSecond,
            ),
        ],
    );
}
