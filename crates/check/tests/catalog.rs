#![expect(clippy::too_many_lines, reason = "a table of mutants")]

use crate::toy::{Call, ScriptedReply};
use crate::{assert_mutants_rejected, right, wrong_reply};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write as _;
use std::sync::Mutex;

/// Changes the items before they are coded.
fn body(
    change: impl Fn(&Call, Value) -> Value + Send + Sync + 'static,
) -> impl Fn(&Call, &mut ScriptedReply) + Send + Sync + 'static {
    move |call, answer| {
        if let Some((from, count)) = right::asked(call).filter(|_| answer.status == 200) {
            let value = change(call, right::items(from, count));
            *answer = right::coded(
                call,
                ScriptedReply::of(200, "application/json", value.to_string()),
            );
        }
    }
}

/// Changes each item.
fn item(
    change: impl Fn(u64, &mut Value) + Send + Sync + 'static,
) -> impl Fn(&Call, &mut ScriptedReply) + Send + Sync + 'static {
    body(move |_, mut value| {
        for item in value["items"].as_array_mut().expect("items") {
            let i = item["id"].as_u64().expect("a number");
            change(i, item);
        }
        value
    })
}

/// Answers with these items where the request is refused.
fn instead(
    asked: impl Fn(&Call) -> Option<(u64, u64)> + Send + Sync + 'static,
) -> impl Fn(&Call, &mut ScriptedReply) + Send + Sync + 'static {
    move |call, answer| {
        if let Some((from, count)) = asked(call).filter(|_| answer.status == 400) {
            let value = right::items(from, count).to_string();
            *answer = right::coded(call, ScriptedReply::of(200, "application/json", value));
        }
    }
}

fn is_coded(answer: &ScriptedReply) -> bool {
    answer.headers.iter().any(|(name, _)| name == "Content-Encoding")
}

#[test]
fn every_wrong_catalog_is_rejected() {
    let kept: Mutex<HashMap<u64, Vec<u8>>> = Mutex::default();
    let kept_coded: Mutex<Option<Vec<u8>>> = Mutex::default();
    assert_mutants_rejected(
        "catalog",
        right::catalog,
        vec![
            wrong_reply(
                "one item too few",
                "body at items[0]: expected",
                body(|_, mut value| {
                    value["items"].as_array_mut().expect("items").pop();
                    value
                }),
            ),
            wrong_reply(
                "begins one later",
                "GET /catalog?from=1&count=1: body at items[0].description",
                body(|call, _| {
                    let (from, count) = right::asked(call).expect("asked");
                    right::items(from + 1, count)
                }),
            ),
            wrong_reply(
                "a list without an object",
                "body: expected {\"items\":",
                body(|_, mut value| value["items"].take()),
            ),
            wrong_reply(
                "price as a fraction",
                "items[0].price",
                item(|_, item| item["price"] = json!(item["price"].as_f64().unwrap_or_default() / 100.0)),
            ),
            wrong_reply(
                "price as a text",
                "items[0].price",
                item(|_, item| item["price"] = json!(item["price"].to_string())),
            ),
            wrong_reply(
                "tags in order",
                ".tags[",
                item(|_, item| {
                    let mut tags: Vec<String> = serde_json::from_value(item["tags"].take()).expect("tags");
                    tags.sort();
                    item["tags"] = json!(tags);
                }),
            ),
            wrong_reply(
                "two tags",
                "items[0].tags[2]",
                item(|_, item| {
                    item["tags"].as_array_mut().expect("tags").pop();
                }),
            ),
            wrong_reply(
                "text escaped for HTML",
                ".description",
                item(|_, item| {
                    let text = item["description"].as_str().expect("a text");
                    item["description"] = json!(right::escaped(text));
                }),
            ),
            wrong_reply(
                "letters without their marks",
                ".description",
                item(|_, item| {
                    let text = item["description"].as_str().expect("a text");
                    item["description"] = json!(text.replace(|letter: char| !letter.is_ascii(), "?"));
                }),
            ),
            wrong_reply(
                "numbers of 16 bits",
                "items[0].price",
                item(|i, item| item["price"] = json!(u64::from(i as u16) * 37 % 9900 + 100)),
            ),
            wrong_reply(
                "rounds instead of cutting off",
                "GET /catalog?from=15&count=1: body at items[0].name",
                item(|i, item| {
                    let near = right::item((i + 8) / 16 * 16);
                    let noun = near["name"].as_str().and_then(|name| name.split(' ').nth(1));
                    let name = item["name"].as_str().expect("a name");
                    let words: Vec<&str> = name.split(' ').collect();
                    item["name"] = json!(format!("{} {} {i}", words[0], noun.expect("a noun")));
                }),
            ),
            wrong_reply(
                "answers from memory, by count",
                "items[0].",
                move |call, answer| {
                    if let Some((_, count)) = right::asked(call).filter(|_| !is_coded(answer)) {
                        let mut kept = kept.lock().expect("no panic");
                        answer.body = kept.entry(count).or_insert_with(|| answer.body.clone()).clone();
                    }
                },
            ),
            wrong_reply("compressed bytes from memory", "items[0].", move |_, answer| {
                if is_coded(answer) {
                    let mut kept = kept_coded.lock().expect("no panic");
                    answer.body = kept.get_or_insert_with(|| answer.body.clone()).clone();
                }
            }),
            wrong_reply("gzip of other bytes", "body: not JSON", |_, answer| {
                if is_coded(answer) {
                    answer.body = right::gzipped(b"something else");
                }
            }),
            wrong_reply("gzip that ends early", "does not decode", |_, answer| {
                if is_coded(answer) {
                    answer.body.truncate(answer.body.len() / 2);
                }
            }),
            wrong_reply("plain bytes called gzip", "does not decode", |call, answer| {
                if let Some((from, count)) = right::asked(call).filter(|_| is_coded(answer)) {
                    answer.body = right::items(from, count).to_string().into_bytes();
                }
            }),
            wrong_reply("zlib called gzip", "does not decode", |call, answer| {
                if let Some((from, count)) = right::asked(call).filter(|_| is_coded(answer)) {
                    let body = right::items(from, count).to_string();
                    let fast = flate2::Compression::fast();
                    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), fast);
                    encoder.write_all(body.as_bytes()).expect("memory");
                    answer.body = encoder.finish().expect("memory");
                }
            }),
            wrong_reply(
                "never compressed",
                "header content-encoding: expected (?i:gzip), got no such header",
                |call, answer| {
                    if let Some((from, count)) = right::asked(call) {
                        answer.body = right::items(from, count).to_string().into_bytes();
                        answer.remove("Content-Encoding");
                    }
                },
            ),
            wrong_reply(
                "always compressed",
                "header content-encoding: expected no such header, or (?i:identity), got gzip",
                |_, answer| {
                    if answer.status == 200 && !is_coded(answer) {
                        answer.body = right::gzipped(&answer.body);
                        answer.set("Content-Encoding", "gzip");
                    }
                },
            ),
            wrong_reply("no Vary", "header vary", |_, answer| answer.remove("Vary")),
            wrong_reply("Vary of something else", "header vary", |_, answer| {
                answer.set("Vary", "Origin, Accept");
            }),
            wrong_reply(
                "gzip for br",
                "br or identity if only br is accepted",
                |call, answer| {
                    let br = call.header("accept-encoding") == Some(&b"br"[..]);
                    if answer.status == 200 && br {
                        answer.body = right::gzipped(&answer.body);
                        answer.set("Content-Encoding", "gzip");
                    }
                },
            ),
            wrong_reply(
                "from is brought into range",
                "from is not a number from 1 to 1000000: GET /catalog?from=0&count=3: status",
                instead(|call| {
                    let from: i64 = right::parameter(call, "from")?.parse().ok()?;
                    let count = right::within(&right::parameter(call, "count")?, 1, 500)?;
                    Some((from.clamp(1, 1_000_000) as u64, count))
                }),
            ),
            wrong_reply(
                "count is brought into range",
                "GET /catalog?from=3&count=501: status",
                instead(|call| {
                    let from = right::within(&right::parameter(call, "from")?, 1, 1_000_000)?;
                    let count: i64 = right::parameter(call, "count")?.parse().ok()?;
                    Some((from, count.clamp(1, 500) as u64))
                }),
            ),
            wrong_reply(
                "reads as much of a number as it can",
                "from=1.5&count=3: status",
                instead(|call| {
                    let text = right::parameter(call, "from")?;
                    let digits = text.split(|letter: char| !letter.is_ascii_digit()).next()?;
                    Some((digits.parse().ok().filter(|from| *from > 0)?, 3))
                }),
            ),
            wrong_reply(
                "a default count of 20",
                "no from, no count: GET /catalog?from=3: status",
                instead(|call| {
                    let none = right::parameter(call, "count").is_none();
                    let from = right::within(&right::parameter(call, "from")?, 1, 1_000_000)?;
                    none.then_some((from, 20))
                }),
            ),
            wrong_reply("500 for a bad number", "got 500", |_, answer| {
                if answer.status == 400 {
                    answer.status = 500;
                }
            }),
            wrong_reply(
                "parameters by their place",
                "the order of parameters, and an unknown one",
                |call, answer| {
                    let first = call
                        .target
                        .split_once('?')
                        .map(|(_, query)| query.starts_with("from="));
                    if first == Some(false) {
                        *answer = ScriptedReply::of(400, "text/plain", "from comes first");
                    }
                },
            ),
            wrong_reply("the catalogue on other paths", "other paths", |call, answer| {
                if answer.status == 404 && call.path.starts_with("/catalog") {
                    *answer = ScriptedReply::of(200, "application/json", right::items(1, 1).to_string());
                }
            }),
        ],
    );
}
